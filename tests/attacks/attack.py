"""The form of an attack: a module of this folder with the function `attack`.

Its docstring says what the attacker does. `SETTINGS` are those of the node (not needed: the defaults),
`DESCRIPTORS` how many files each of its processes may have open (not needed: as many as those of the tests),
and `STARTED = False` that it starts the node itself.
"""

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import psutil

from mirror.core.processes import process_table
from tests.node import LiveNode

#: The address that attackers come from; ordinary clients come from 127.0.0.1.
ATTACKER = "127.0.0.66"


class Outcome(NamedTuple):
    """What an attack achieved: `succeeded` as the suite fails by it, `effect` in the words of the table."""

    succeeded: bool
    effect: str


@dataclass
class Target:
    """A node under attack, for `seconds`: a few in the suite, more where its effect is measured."""

    node: LiveNode
    grpc_port: int
    seconds: float

    def connect(self, source: str = ATTACKER, receive_buffer: int = 0) -> socket.socket:
        """Return a connection to the web server from an address of the loopback network."""
        client = socket.socket()
        if receive_buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.bind((source, 0))
        client.settimeout(10)
        client.connect(("127.0.0.1", self.node.port))
        return client

    def grpc_server(self) -> int:
        """Return the process of the gRPC server."""
        return next(pid for pid in self.node.processes() if "gRPC" in process_table.command(pid))

    def web_memory(self) -> int:
        """Return the resident bytes of all web workers."""
        return sum(psutil.Process(pid).memory_info().rss for pid in self.node.web_workers())


Attack = Callable[[Target], Outcome]


@contextmanager
def closing(clients: Sequence[socket.socket] = ()) -> Iterator[ExitStack]:
    """Close these sockets, and what else is entered, at the end."""
    with ExitStack() as stack:
        for client in clients:
            stack.enter_context(client)
        yield stack
