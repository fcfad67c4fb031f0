"""Send a burst of requests, so that the node starts all its threads, then a few bodies that never end."""

import socket
import time

from tests.attacks.attack import Outcome, Target, closing

_GET = b"GET /health/liveness HTTP/1.1\r\nHost: node\r\n\r\n"
_SLOW = (
    b"POST /api/v1/contracts/call HTTP/1.1\r\nHost: node\r\nContent-Type: application/json\r\n"
    b"Content-Length: 99\r\n\r\n{"
)
_BURST, _SLOW_BODIES = 400, 40
#: How long one request of an ordinary client may take meanwhile.
_BOUND_SECONDS = 5.0


def _slowest_request(target: Target) -> float:
    """Return how long the slowest of some requests takes that come by connections of their own."""
    slowest = 0.0
    for _ in range(8):
        began = time.monotonic()
        with target.connect("127.0.0.1") as client:
            client.settimeout(60)
            client.sendall(_GET)
            assert client.recv(64)
        slowest = max(slowest, time.monotonic() - began)
    return slowest


def attack(target: Target) -> Outcome:
    slowest = 0.0
    until = time.monotonic() + target.seconds
    while slowest <= _BOUND_SECONDS and time.monotonic() < until:
        slow: list[socket.socket] = []
        with closing() as stack:
            burst = [stack.enter_context(target.connect()) for _ in range(_BURST)]
            for client in burst:
                client.sendall(_GET)
            for client in burst:
                client.recv(64)
            for _ in range(_SLOW_BODIES):
                slow.append(stack.enter_context(target.connect()))
                slow[-1].sendall(_SLOW)
            slowest = max(slowest, _slowest_request(target))
    return Outcome(slowest > _BOUND_SECONDS, f"an ordinary request took up to {slowest:.1f} s")
