"""Send headers byte by byte on many connections, beside one of HTTP/2 that sends requests."""

import socket
import time
from contextlib import suppress

from tests.attacks.attack import Outcome, Target, closing
from tests.attacks.http2_zero_window import send_requests

SETTINGS = {"SVC_MIRROR_WEB_BODYTIMEOUT": "1s"}

_CONNECTIONS = 200
#: How long a connection may last: its second, and what checks and a busy machine take.
_BOUND_SECONDS = 15.0


def _send_more(clients: list[socket.socket]) -> list[socket.socket]:
    """Send another byte by each connection; return those that are open."""
    still_open = []
    for client in clients:
        with suppress(OSError):
            client.sendall(b"x")
            still_open.append(client)
    return still_open


def attack(target: Target) -> Outcome:
    beside = target.connect()
    with suppress(OSError):
        send_requests(beside, 1)
    clients = [target.connect() for _ in range(_CONNECTIONS)]
    with closing([beside, *clients]):
        for client in clients:
            client.sendall(b"GET / HTTP/1.1\r\nHost: node\r\nX-Slow: ")
        began = time.monotonic()
        while clients and time.monotonic() < began + _BOUND_SECONDS:
            clients = _send_more(clients)
            time.sleep(0.1)
        lasted = time.monotonic() - began
    return Outcome(
        bool(clients), f"of {_CONNECTIONS} connections {len(clients)} were left after {lasted:.1f} s"
    )
