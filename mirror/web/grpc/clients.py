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
from mirror.core.processes import operating_system
from mirror.core.processes.operating_system import raise_descriptor_limit
from mirror.core.rest.limits.buckets import SharedBuckets
from mirror.core.rest.limits.client_limits import ClientLimits
from mirror.core.rest.limits.clients import Client
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


class Limits:
    """The limits of each client: its calls a second, and its calls at a time."""

    def __init__(self) -> None:
        self._rate: int = config.value(RATE)
        self._rates = (
            ClientLimits("grpc", self._rate, config.value(BURST), SharedBuckets(None)) if self._rate else None
        )
        self._most = config.value(CALLS) or _share(config.value(SUBSCRIPTIONS))
        self._exempt: tuple[str, ...] = config.value(EXEMPT)
        self._calls = Counter[str]()

    def count(self, client: str) -> None:
        """Count a call of this second. Errors: CallError."""
        if self._rates is None or reverse_proxies.is_within(client, self._exempt):
            return
        if self._rates.take(Client.of(client)).wait_seconds:
            text = f"Too many requests: a client may make {self._rate} calls a second. Please retry later"
            raise CallError(StatusCode.RESOURCE_EXHAUSTED, text)

    @contextmanager
    def share(self, client: str) -> Iterator[None]:
        """Count a call until its end, so that no client takes all places of the server. Errors: CallError."""
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
    descriptors = sorted(operating_system.open_descriptors())
    if len(descriptors) <= most:
        return
    exempt = (*config.value(EXEMPT), *config.value(reverse_proxies.SETTING))
    counts = Counter[str]()
    for descriptor in descriptors:
        with suppress(OSError), operating_system.duplicate(descriptor) as connection:
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
