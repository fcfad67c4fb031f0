"""The clients of the gRPC API: their addresses, and the limits of each of them."""

import select
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import unquote

from grpc import StatusCode

from mirror.core import config
from mirror.core.config import reverse_proxies
from mirror.core.processes import rate_limits, sockets
from mirror.core.processes.operating_system import memory_file, raise_descriptor_limit
from mirror.web.grpc.requests import CallError

RATE, BURST, EXEMPT = (f"grpc.rateLimit.{name}" for name in ("requestsPerSecond", "burst", "exempt"))
SUBSCRIPTIONS, CALLS, CONNECTIONS = (
    f"grpc.{name}" for name in ("maxSubscriptions", "maxCallsPerClient", "maxConnections")
)

# One client may have a fifth of all subscriptions, as calls of any kind, and a fifth of all connections.
_SHARE, _MIN_SHARE = 5, 10
# Files and sockets that the process has besides, such as connections to the database.
_OTHER_DESCRIPTORS = 200


def address(context: Any) -> str:
    """Return the address of the client of a call, by X-Forwarded-For if a trusted proxy sends it."""
    # Such as ipv4:127.0.0.1:53224 or ipv6:%5B::1%5D:53224.
    peer = unquote(context.peer()).partition(":")[2].rpartition(":")[0].strip("[]")
    environment = {"REMOTE_ADDR": peer}
    forwarded = [text for name, text in context.invocation_metadata() or () if name == "x-forwarded-for"]
    if forwarded:
        environment[reverse_proxies.FORWARDED_FOR] = ",".join(forwarded)
    return reverse_proxies.client(environment)


class Limiter:
    """Rejects the calls of clients that make too many."""

    def __init__(self, rate: int) -> None:
        file = memory_file("rate-limits", rate_limits.SIZE)
        self._rate, self._limits = rate, rate_limits.RateLimits(rate, config.value(BURST), file)
        self._exempt: tuple[str, ...] = config.value(EXEMPT)

    def check(self, client: str) -> None:
        """Count a call. Errors: CallError."""
        if self._exempt and reverse_proxies.is_within(client, self._exempt):
            return
        if not self._limits.take(client).admitted:
            text = f"Too many requests: a client may make {self._rate} calls a second. Please retry later"
            raise CallError(StatusCode.RESOURCE_EXHAUSTED, text)


def limiter() -> Limiter | None:
    """Return the limiter of the settings; None without a limit."""
    rate = config.value(RATE)
    return Limiter(rate) if rate else None


class Shares:
    """The calls at a time of each client: no client takes all places of the server."""

    def __init__(self) -> None:
        self._most = config.value(CALLS) or _share(config.value(SUBSCRIPTIONS))
        self._exempt: tuple[str, ...] = config.value(EXEMPT)
        self._calls = Counter[str]()

    @contextmanager
    def call(self, client: str) -> Iterator[None]:
        """Count a call until its end. Errors: CallError."""
        if reverse_proxies.is_within(client, self._exempt):
            yield
            return
        network = reverse_proxies.network(client)
        if self._calls[network] >= self._most:
            text = f"A client may have {self._most} calls at a time. Please retry later"
            raise CallError(StatusCode.RESOURCE_EXHAUSTED, text)
        self._calls[network] += 1
        try:
            yield
        finally:
            self._calls[network] -= 1
            if not self._calls[network]:
                del self._calls[network]


def most_connections() -> int:
    """Return the most connections at a time: the setting, or fewer if the limit of open files is lower."""
    most: int = config.value(CONNECTIONS)
    allowed = raise_descriptor_limit()
    return min(most, max(allowed - _OTHER_DESCRIPTORS, allowed // 2))


def close_excess(port: int, connections: int) -> None:
    """Close the connections to a port that are beyond the share of their client.

    The library of gRPC has a limit for all connections, but none for those of an address. It meets a
    connection that is shut down here as one that its client has closed.
    """
    most = _share(connections)
    descriptors = sorted(sockets.open_descriptors())
    if len(descriptors) <= most:
        return
    exempt = (*config.value(EXEMPT), *config.value(reverse_proxies.SETTING))
    counts = Counter[str]()
    for descriptor in descriptors:
        with suppress(OSError), sockets.duplicate(descriptor) as connection:
            if connection.family not in (socket.AF_INET, socket.AF_INET6):
                continue
            if connection.getsockname()[1] != port or _is_shut_down(connection):
                continue
            client = reverse_proxies.client({"REMOTE_ADDR": connection.getpeername()[0]})
            if reverse_proxies.is_within(client, exempt):
                continue
            network = reverse_proxies.network(client)
            counts[network] += 1
            if counts[network] > most:
                connection.shutdown(socket.SHUT_RDWR)


def _is_shut_down(connection: socket.socket) -> bool:
    poll = select.poll()
    poll.register(connection, 0)
    return bool(poll.poll(0))


def _share(number: int) -> int:
    return max(number // _SHARE, _MIN_SHARE)
