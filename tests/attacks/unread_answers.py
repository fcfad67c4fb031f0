"""Request long answers by HTTP/1.1 on many connections, many on each, and read nothing of them."""

import socket
import time
from contextlib import suppress

from tests.attacks.attack import Outcome, Target, closing

_PATH = "/api/v1/contracts/results?limit=100"
_REQUEST = f"GET {_PATH} HTTP/1.1\r\nHost: node\r\n\r\n".encode()
_CONNECTIONS, _PIPELINED = 800, 60
#: As few bytes as Linux allows: the rest waits at the node.
_RECEIVE_BUFFER = 2048
#: What the workers may grow by: twice `web.maxUnreadBytes`, and what ordinary requests need.
_BOUND_BYTES = 300 << 20


def attack(target: Target) -> Outcome:
    before = most = target.web_memory()
    clients: list[socket.socket] = []
    # An answer from the cache takes the node least.
    target.node.get(_PATH)
    with closing() as stack:
        until = time.monotonic() + target.seconds
        while time.monotonic() < until:
            if len(clients) < _CONNECTIONS:
                clients.append(stack.enter_context(target.connect(receive_buffer=_RECEIVE_BUFFER)))
                # Those that the node has closed are left alone.
                with suppress(OSError):
                    clients[-1].sendall(_REQUEST * _PIPELINED)
            else:
                time.sleep(0.1)
            if len(clients) % 50 == 0:
                most = max(most, target.web_memory())
    grown = most - before
    return Outcome(grown > _BOUND_BYTES, f"{len(clients)} connections, workers grew by {grown >> 20} MB")
