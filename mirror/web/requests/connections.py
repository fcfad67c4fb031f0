"""The connections of clients: those that stall are closed, the work for those that are closed is ended.

Granian names the socket of no request. But the kernel knows the sockets of this process, and when each of
them last sent and received something; so each request is matched with those that it may have come by.
"""

import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from mirror.core import config, logs
from mirror.core.config import reverse_proxies
from mirror.core.db.scheduling.connection_lease import Work
from mirror.core.db.scheduling.request_scheduler import RequestScheduler
from mirror.core.processes import operating_system, sockets

log = logs.logger("mirror.web")

# Of tcp_info: the state, the milliseconds since data was sent and since data was received, the bytes that
# are not sent yet, and how many segments with data were received and sent, 0 by a kernel that does not count.
_INFO = struct.Struct("=B43xI4xI88xI4xII")
_CLOSE_WAIT = 8
_CHECK_SECONDS, _LONG_SECONDS, _CHECKS = 0.1, 0.15, 4
# Kernel and process note the time one after the other; requests are taken over one by one, and a busy process
# takes a while.
_TOLERANCE_SECONDS, _LATE_SECONDS = 0.1, 0.25
_LIMITS_SECONDS = 0.5
# Beyond this part of the connections of a process, idle ones are closed until that part is left.
_NEARLY_ALL, _LEFT = 7 / 8, 3 / 4
# A look at all connections is followed by a pause of so many times what it took: a check takes at most a
# twentieth of a processor, however many connections there are.
_PAUSES = 20


class Connection(NamedTuple):
    """A connection of a client, and when something was last sent and received by it; first it was opened."""

    client: str
    port: int
    descriptor: int
    sent: float
    received: float
    state: int = 0
    unsent_bytes: int = 0
    segments_received: int = 0
    segments_sent: int = 0

    @property
    def is_idle(self) -> bool:
        """Whether all that has come by it is answered, or nothing has come yet."""
        is_answered = self.segments_sent > 0 and self.received <= self.sent and not self.unsent_bytes
        return is_answered or not self.segments_received

    def close(self) -> int:
        """Close it, unless its descriptor has been reused; return how many are closed."""
        with suppress(OSError), sockets.duplicate(self.descriptor) as each:
            if _peer(each) == (self.client, self.port):
                each.shutdown(socket.SHUT_RDWR)
                return 1
        return 0


def connections() -> list[Connection]:
    """Return the connections of clients that the kernel shows."""
    port = config.value("web.port")
    found = []
    for descriptor in sockets.open_descriptors():
        with suppress(OSError):
            each = socket.socket(fileno=descriptor)
            # The socket may listen, or be no longer connected.
            try:
                is_tcp = each.family in (socket.AF_INET, socket.AF_INET6) and each.type == socket.SOCK_STREAM
                if is_tcp and each.getsockname()[1] == port and (connection := _connection(each)):
                    found.append(connection)
            finally:
                each.detach()
    return found


def _connection(each: socket.socket) -> Connection | None:
    client, port = _peer(each)
    if (info := operating_system.tcp_info(each, _INFO.size)) is None:
        return None
    now = time.monotonic()
    state, since_sent, since_received, *counts = _INFO.unpack(info.ljust(_INFO.size, b"\0"))
    sent, received = now - since_sent / 1000, now - since_received / 1000
    return Connection(client, port, each.fileno(), sent, received, state, *counts)


def _peer(each: socket.socket) -> tuple[str, int]:
    client, port = each.getpeername()[:2]
    return client.partition("%")[0], port


def pause(least: float, began: float) -> float:
    """Return the seconds until a check is due again that began at this processor time of its thread."""
    return max(least, _PAUSES * (time.thread_time() - began))


def close_stalled(clients: Container[str], seconds: float) -> Counter[str]:
    """Close the connections of clients on which nothing was sent for so long; return how many of each.

    One of them is the one that stalls. The others rest between two requests, or wait for an answer that
    takes as long.
    """
    closed = Counter[str]()
    for each in connections():
        if each.client in clients and each.sent <= time.monotonic() - seconds:
            closed[each.client] += each.close()
    return closed


class Headers:
    """Connections by which the beginning of a request has come: closed unless the rest comes in `seconds`.

    So are those by which nothing has come since they were opened. Granian waits for the rest as long as for a
    request on an idle connection. `arrived` returns when the last request of a client that is not answered
    yet arrived. It may have come by any of the client's connections, so none of those that began to send
    before then is closed.
    """

    def __init__(self, seconds: float, arrived: Callable[[str], float | None]) -> None:
        self._seconds, self._arrived = seconds, arrived
        # Connection -> when it was first seen with data that no answer has followed.
        self._since: dict[tuple[str, int], float] = {}
        # Whether the kernel has been seen to count segments.
        self._are_counted = False

    def check(self) -> float:
        """Close those that are late; a repeated check."""
        began = time.thread_time()
        now, before, closed = time.monotonic(), self._since, Counter[str]()
        self._since, opened = {}, connections()
        self._are_counted = self._are_counted or any(each.segments_received for each in opened)
        for each in opened:
            if each.segments_sent and each.received <= each.sent:
                continue
            if not each.segments_received:
                if self._are_counted and now - each.received >= self._seconds:
                    closed[each.client] += each.close()
                continue
            key = each.client, each.port
            since = self._since[key] = before.get(key, now)
            arrived = self._arrived(each.client)
            if now - since >= self._seconds and (arrived is None or arrived < since - self._seconds):
                closed[each.client] += each.close()
        for client, number in closed.items():
            log.warning("headers_took_too_long", client=client, connections_closed=number)
        return pause(self._seconds / _CHECKS, began)


class ConnectionLimits:
    """The limits of a process that takes up to `most` connections: beyond them, idle ones are closed.

    A client has at most half of them. Those of a trusted proxy are of many clients.
    """

    def __init__(self, most: int) -> None:
        self._most, self._left = int(most * _NEARLY_ALL), int(most * _LEFT)
        self._of_client = min(config.value("web.maxConnectionsPerClient"), most // 2)
        self._proxies: tuple[str, ...] = config.value(reverse_proxies.SETTING)

    def check(self) -> float:
        """Close those beyond the limits: first idle ones, the longest idle first; a repeated check."""
        began = time.thread_time()
        opened = sorted(connections(), key=lambda each: (not each.is_idle, max(each.sent, each.received)))
        networks = {client: reverse_proxies.network(client) for client in {each.client for each in opened}}
        least = self._left if len(opened) > self._most else len(opened)
        remaining, of_client = len(opened), Counter(networks[each.client] for each in opened)
        closed = Counter[str]()
        for each in opened:
            client = networks[each.client]
            is_too_many = of_client[client] > self._of_client and not self._is_proxy(each.client)
            if is_too_many or (remaining > least and each.is_idle):
                closed[each.client] += each.close()
                of_client[client] -= 1
                remaining -= 1
        for name, number in closed.items():
            log.warning("too_many_connections", client=name, connections_closed=number)
        # Others may wait in the backlog for the room that this has made.
        return pause(_CHECK_SECONDS if closed else _LIMITS_SECONDS, began)

    def _is_proxy(self, client: str) -> bool:
        return bool(self._proxies) and reverse_proxies.is_within(client, self._proxies)


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
        began, long = time.thread_time(), self._scheduler.leases_in_use_for(_LONG_SECONDS)
        opened = [each for each in connections() if each.state != _CLOSE_WAIT] if long else []
        ports: dict[Work, set[int]] = {}
        for lease, work in long:
            exchange: Any = work
            if not _has_no_body(exchange.environment):
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
        return pause(_CHECK_SECONDS, began)


def _has_no_body(environment: Mapping[str, str]) -> bool:
    """Return whether nothing else comes by the connection of a request until it is answered."""
    return environment["REQUEST_METHOD"] in ("GET", "HEAD")


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
