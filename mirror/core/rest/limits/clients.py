"""The clients of the API, among which the limits and the processes of calls are shared."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, NamedTuple, Self

from mirror.core import config
from mirror.core.config import reverse_proxies

EXEMPT = "rest.rateLimit.exempt"
# The floats of shared memory hold as many bits exactly.
_KEY_BYTES = 6


class Client(NamedTuple):
    """A client by its address, or its /64 network of IPv6; one that is exempt has no limits and no share."""

    key: int
    is_exempt: bool = False

    @classmethod
    def of(cls, address: str, *, is_exempt: bool = False) -> Self:
        digest = blake2b(reverse_proxies.network(address).encode(), digest_size=_KEY_BYTES).digest()
        return cls(int.from_bytes(digest, "little"), is_exempt)


#: The client of calls that no request has made.
UNKNOWN = Client(0)


def client(environment: Mapping[str, Any]) -> Client:
    """Return the client that sent a request (Django's META); exempt by `rest.rateLimit.exempt`."""
    address = reverse_proxies.client(environment)
    exempt: tuple[str, ...] = config.value(EXEMPT)
    return Client.of(address, is_exempt=bool(exempt) and reverse_proxies.is_within(address, exempt))
