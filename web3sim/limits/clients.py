"""The clients of calls, among which processes and limits are shared."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from mirror.core import config
from mirror.core.config import reverse_proxies

# The floats of shared memory hold as many bits exactly.
_KEY_BYTES = 6


class Client(NamedTuple):
    """A client by its address, or its /64 network of IPv6; one that is exempt has no share."""

    key: int
    is_exempt: bool = False


#: One for calls that no request has made.
UNKNOWN = Client(0)


def client(environment: Mapping[str, Any]) -> Client:
    """Return the client that sent a request (Django's META); exempt by `rest.rateLimit.exempt`."""
    address = reverse_proxies.client(environment)
    exempt: tuple[str, ...] = config.value("rest.rateLimit.exempt")
    digest = blake2b(reverse_proxies.network(address).encode(), digest_size=_KEY_BYTES).digest()
    return Client(
        int.from_bytes(digest, "little"), bool(exempt) and reverse_proxies.is_within(address, exempt)
    )
