"""The clients of the gRPC API: their addresses, and the limit of calls of each of them."""

from typing import Any
from urllib.parse import unquote

from grpc import StatusCode

from mirror.core import config
from mirror.core.config import reverse_proxies
from mirror.core.processes.operating_system import memory_file
from mirror.web.grpc.requests import CallError
from mirror.web.requests import rate_limits

RATE, BURST, EXEMPT = (f"grpc.rateLimit.{name}" for name in ("requestsPerSecond", "burst", "exempt"))


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
