"""Clients that go away: the work for one that closes its connection during a long request is ended.

Granian does not tell. But a request has a connection of its own while it is answered, and the kernel knows
when it last received and sent something by it. So each long request is matched with the connections that it
may have come by; when none of them is left, its client has disconnected.
"""

import socket
import struct
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from mirror.core import config
from mirror.core.db.scheduling.connection_lease import ConnectionLease, Work
from mirror.core.db.scheduling.request_scheduler import RequestScheduler
from mirror.web.sockets import own_sockets

_LOOK_SECONDS, _LONG_SECONDS = 0.1, 0.15
# Kernel and process note the time one after the other; requests are taken over one by one, and a busy process
# takes a while.
_TOLERANCE_SECONDS, _LATE_SECONDS = 0.1, 0.25
# The state, and the milliseconds since something was sent and since something was received, in tcp_info.
_INFO = struct.Struct("=B43xI4xI")
_CLOSE_WAIT = 8


class Connection(NamedTuple):
    """A connection of a client, and when something was last sent and received by it; first it was opened."""

    client: str
    port: int
    sent: float
    received: float


class Watch:
    """Watches the clients of long requests. The work of `scheduler` is of `mirror.web.requests.gateway`."""

    def __init__(self, scheduler: RequestScheduler) -> None:
        self._turns = scheduler
        # Work -> the ports of its client by one of which it came.
        self._ports: dict[Work, set[int]] = {}

    def watch(self) -> None:
        """Look again and again, for ever."""
        while True:
            time.sleep(_LOOK_SECONDS)
            self._look(self._turns.used_for(_LONG_SECONDS))

    def _look(self, long: list[tuple[ConnectionLease, Work]]) -> None:
        connections = list(_connections()) if long else []
        ports: dict[Work, set[int]] = {}
        for lease, work in long:
            exchange: Any = work
            if not _is_alone(exchange.environment):
                continue
            client = exchange.environment["REMOTE_ADDR"]
            left = [each for each in connections if each.client == client]
            if (before := self._ports.get(work)) is None:
                # Without any, it is unknown.
                ports[work] = may_be(left, exchange.arrived)
            else:
                ports[work] = before & {each.port for each in left}
                if before and not ports[work]:
                    self._turns.abandon(lease, work)
        self._ports = ports


def _is_alone(environment: Mapping[str, str]) -> bool:
    """Return whether nothing else comes by the connection of a request, neither a body nor other requests."""
    return environment["REQUEST_METHOD"] in ("GET", "HEAD") and environment["SERVER_PROTOCOL"] != "HTTP/2"


def may_be(connections: list[Connection], arrived: float) -> set[int]:
    """Return the ports of the connections by which a request may have come at that time.

    Nothing has been sent by its own one since then. Either it was received just before, or it had come
    during the request before it, whose answer was sent then.
    """
    return {
        each.port
        for each in connections
        if max(each.sent, each.received) > arrived - _LATE_SECONDS
        and each.sent < arrived + _TOLERANCE_SECONDS
    }


def _connections() -> Iterator[Connection]:
    """Yield the connections of clients that have not closed them."""
    port = config.value("web.port")
    for each in own_sockets():
        try:
            if each.getsockname()[1] != port:
                continue
            client, client_port = each.getpeername()[:2]
            client, _, _ = client.partition("%")
            info = each.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size)
        except OSError:
            # The socket listens, or is no longer connected.
            continue
        now = time.monotonic()
        state, since_sent, since_received = _INFO.unpack(info)
        if state != _CLOSE_WAIT:
            yield Connection(client, client_port, now - since_sent / 1000, now - since_received / 1000)
