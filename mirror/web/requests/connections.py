"""The connections of clients: those that stall are closed, the work for those that are closed is ended.

Granian names the socket of no request. But the kernel knows the sockets of this process, and when each of
them last sent and received something; so each request is matched with those that it may have come by.
"""

import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from mirror.core import config, logs
from mirror.core.db.scheduling.connection_lease import Work
from mirror.core.db.scheduling.request_scheduler import RequestScheduler
from mirror.core.processes import operating_system

log = logs.logger("mirror.web")

# Of tcp_info: the state, the milliseconds since data was sent and since data was received, and how many
# segments were received and sent, 0 by a kernel that does not count.
_INFO = struct.Struct("=B43xI4xI96xII")
_CLOSE_WAIT = 8
_CHECK_SECONDS, _LONG_SECONDS, _CHECKS = 0.1, 0.15, 4
# Kernel and process note the time one after the other; requests are taken over one by one, and a busy process
# takes a while.
_TOLERANCE_SECONDS, _LATE_SECONDS = 0.1, 0.25


class Connection(NamedTuple):
    """A connection of a client, and when something was last sent and received by it; first it was opened."""

    client: str
    port: int
    sent: float
    received: float
    state: int = 0
    segments_received: int = 0
    segments_sent: int = 0


def connections() -> Iterator[tuple[socket.socket, Connection]]:
    """Yield the connections that the kernel shows, each with its socket, valid until the next one."""
    port = config.value("web.port")
    for descriptor in list(Path("/dev/fd").iterdir()):
        try:
            each = socket.socket(fileno=int(descriptor.name))
        except OSError:
            continue
        try:
            is_tcp = each.family in (socket.AF_INET, socket.AF_INET6) and each.type == socket.SOCK_STREAM
            if is_tcp and each.getsockname()[1] == port and (connection := _connection(each)):
                yield each, connection
        except OSError:
            # The socket listens, or is no longer connected.
            continue
        finally:
            each.detach()


def _connection(each: socket.socket) -> Connection | None:
    client, port = each.getpeername()[:2]
    if (info := operating_system.tcp_info(each, _INFO.size)) is None:
        return None
    now = time.monotonic()
    state, since_sent, since_received, *segments = _INFO.unpack(info.ljust(_INFO.size, b"\0"))
    name = client.partition("%")[0]
    return Connection(name, port, now - since_sent / 1000, now - since_received / 1000, state, *segments)


def close_stalled(client: str, seconds: float) -> int:
    """Close the connections of a client on which nothing was sent for so long; return their number.

    One of them is the one that stalls. The others rest between two requests, or wait for an answer that
    takes as long.
    """
    closed = 0
    for each, connection in connections():
        if connection.client == client and connection.sent <= time.monotonic() - seconds:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
                closed += 1
    return closed


class Headers:
    """Connections by which the beginning of a request has come: closed unless the rest comes in `seconds`.

    Granian waits for the rest as long as for a request on an idle connection. `arrived` returns when the last
    request of a client that is not answered yet arrived. It may have come by any of the client's connections,
    so none of those that began to send before then is closed.
    """

    def __init__(self, seconds: float, arrived: Callable[[str], float | None]) -> None:
        self._seconds, self._arrived = seconds, arrived
        # Connection -> when it was first seen with data that no answer has followed.
        self._since: dict[tuple[str, int], float] = {}
        # Their clients send without a request, too.
        self.of_http2: set[str] = set()

    def check(self) -> float:
        """Close those that are late; a repeated check."""
        now, before, closed = time.monotonic(), self._since, Counter[str]()
        self._since = {}
        for each, connection in connections():
            client, has_sent = connection.client, connection.segments_sent > 0
            is_answered = has_sent and connection.received <= connection.sent
            if client in self.of_http2 or not connection.segments_received or is_answered:
                continue
            key = client, connection.port
            since = self._since[key] = before.get(key, now)
            arrived = self._arrived(client)
            if now - since >= self._seconds and (arrived is None or arrived < since - self._seconds):
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                    closed[client] += 1
        for client, number in closed.items():
            log.warning("headers_took_too_long", client=client, connections_closed=number)
        return self._seconds / _CHECKS


class Disconnections:
    """Clients that close their connections during long requests: the work for them is ended.

    A request has a connection of its own while it is answered. Once none is left of those that it may have
    come by, its client has disconnected. The work of `scheduler` is of `mirror.web.requests.gateway`.
    """

    def __init__(self, scheduler: RequestScheduler) -> None:
        self._scheduler = scheduler
        # Work -> the ports of its client by one of which it came.
        self._ports: dict[Work, set[int]] = {}

    def check(self) -> float:
        """End the work for clients that have disconnected; a repeated check."""
        long = self._scheduler.leases_in_use_for(_LONG_SECONDS)
        opened = [each for _, each in connections() if each.state != _CLOSE_WAIT] if long else []
        ports: dict[Work, set[int]] = {}
        for lease, work in long:
            exchange: Any = work
            if not _is_only_request(exchange.environment):
                continue
            candidates = [each for each in opened if each.client == exchange.client]
            if (before := self._ports.get(work)) is None:
                # Without any, it is unknown.
                ports[work] = candidate_ports(candidates, exchange.arrived)
            else:
                ports[work] = before & {each.port for each in candidates}
                if before and not ports[work]:
                    self._scheduler.abandon(lease, work)
        self._ports = ports
        return _CHECK_SECONDS


def _is_only_request(environment: Mapping[str, str]) -> bool:
    """Return whether nothing else comes by the connection of a request, neither a body nor other requests."""
    return environment["REQUEST_METHOD"] in ("GET", "HEAD") and environment["SERVER_PROTOCOL"] != "HTTP/2"


def candidate_ports(opened: list[Connection], arrived: float) -> set[int]:
    """Return the ports of the connections by which a request may have come at that time.

    Nothing has been sent by its own one since then. Either it was received just before, or it had come
    during the request before it, whose answer was sent then.
    """
    return {
        each.port
        for each in opened
        if max(each.sent, each.received) > arrived - _LATE_SECONDS
        and each.sent < arrived + _TOLERANCE_SECONDS
    }
