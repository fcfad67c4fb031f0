"""The requests per second that each client may make, counted by all processes of a server together.

`ClientLimits("rest", rate, burst, buckets).take(client(request.META)).wait_seconds` is 0, or the seconds
until the next request is admitted.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from mirror.core import config
from mirror.core.rest.limits import clients
from mirror.core.rest.limits.buckets import SharedBuckets, local_buckets
from mirror.core.rest.limits.clients import Client

RATE, BURST = "rest.rateLimit.requestsPerSecond", "rest.rateLimit.burst"


class Verdict(NamedTuple):
    """Whether a request is admitted (`wait_seconds` is 0), and what the client may do next."""

    wait_seconds: int
    #: How many more requests are admitted at once.
    remaining: int
    #: When the limit is whole again.
    whole_seconds: int


class ClientLimits:
    """`burst` requests at once, 0 for those of a second, and `rate` per second; `name` sets limits apart."""

    def __init__(self, name: str, rate: int, burst: int, buckets: SharedBuckets) -> None:
        self._name, self._rate, self._burst, self._buckets = name, rate, burst or rate, buckets
        #: The header that tells clients of the limit (draft-ietf-httpapi-ratelimit-headers).
        self.policy = f'"client";q={self._burst};w={math.ceil(self._burst / rate)}'

    def take(self, client: Client, cost: int = 1) -> Verdict:
        """Count a request, unless it is refused."""
        left = self._buckets.take_from_client(self._name, client, self._rate, self._burst, cost)
        if left < 0:
            return Verdict(
                max(math.ceil(-left / self._rate), 1), 0, math.ceil((self._burst - left - cost) / self._rate)
            )
        # A request is not lost to rounding.
        return Verdict(0, int(left + 1e-6), math.ceil((self._burst - left) / self._rate))

    def headers(self, verdict: Verdict) -> list[tuple[str, str]]:
        value = f'"client";r={verdict.remaining};t={verdict.whole_seconds}'
        return [("ratelimit-policy", self.policy), ("ratelimit", value)]

    def verdict(self, environment: Mapping[str, Any]) -> Verdict | None:
        """Count a request (Django's META); None for a client without limits."""
        client = clients.client(environment)
        return None if client.is_exempt else self.take(client)


def configured() -> ClientLimits | None:
    """Return the limits of the settings, made in the process that starts the others; None without a limit."""
    rate: int = config.value(RATE)
    return ClientLimits("rest", rate, config.value(BURST), local_buckets()) if rate else None
