"""The throttle of the API: the requests per second that the setting rest.rateLimit allows a client."""

from functools import lru_cache
from typing import TYPE_CHECKING

from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from mirror.core import config
from mirror.core.config import reverse_proxies
from mirror.core.processes.rate_limits import RateLimits, Verdict

RATE, BURST, EXEMPT = (f"rest.rateLimit.{name}" for name in ("requestsPerSecond", "burst", "exempt"))

if TYPE_CHECKING:
    from rest_framework.views import APIView

#: The attribute of a request with the headers that say what its client has left.
LIMIT_HEADERS = "limit_headers"

# Shared memory of the web server's processes; None without a limit.
_file: int | None = None


def use(file: int | None) -> None:
    """Count in the memory of `rate_limits.create_memory`; None is no limit."""
    global _file
    _file = file


class ClientThrottle(BaseThrottle):
    """Admits the requests of a client up to its limit. Clients of rest.rateLimit.exempt have none."""

    _verdict: Verdict | None = None

    def allow_request(self, request: Request, view: "APIView") -> bool:
        if _file is None:
            return True
        client = reverse_proxies.client(request.META)
        exempt: tuple[str, ...] = config.value(EXEMPT)
        if exempt and reverse_proxies.is_within(client, exempt):
            return True
        limits = _limits(config.value(RATE), config.value(BURST), _file)
        verdict = self._verdict = limits.take(client)
        setattr(request, LIMIT_HEADERS, dict(limits.headers(verdict)))
        return verdict.admitted

    def wait(self) -> float | None:
        return None if self._verdict is None else self._verdict.retry_seconds


@lru_cache(maxsize=1)
def _limits(rate: int, burst: int, file: int) -> RateLimits:
    return RateLimits(rate, burst, file)
