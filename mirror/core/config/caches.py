"""Django's caches: a Redis that several nodes may share, or the memory of each process.

The database can give again everything that Redis holds, so nothing waits long for it.
"""

import re
from typing import Any

from mirror.core import config
from mirror.core.config.setting import InvalidSetting

# With a user, a host, which may be an address of IPv6, and a port.
_URL = re.compile(r"unix://|rediss?://([^@/]*@)?(\[[^]]*\]|[^:/?]*)(:\d{1,5})?([/?]|$)")


def redis_url(name: str) -> str | None:
    """Return the address of a setting; None without one. Errors: InvalidSetting if it is not Redis's."""
    address: str | None = config.value(name)
    if address is not None and not _URL.match(address):
        variable = config.lookup(name).variable
        raise InvalidSetting(f"{variable} is not the address of a Redis such as redis://host:6379/0.")
    return address


def caches() -> dict[str, Any]:
    """Return Django's CACHES: in the Redis of REDIS_URL, else in memory.

    `responses` holds answers (mirror.core.rest.cache.responses); `default` is the way to Redis for everything
    else. Errors: InvalidSetting for an address that is not Redis's.
    """
    address = redis_url("rest.redis.uri")
    if address is None:
        return {
            "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
            "responses": {
                "BACKEND": "mirror.core.rest.cache.memory.MemoryCache",
                "OPTIONS": {"MAX_BYTES": config.value("rest.cache.response.maxSize") << 20},
            },
        }
    from redis.backoff import NoBackoff
    from redis.exceptions import ConnectionError
    from redis.retry import Retry

    retry = Retry(NoBackoff(), 1, supported_errors=(ConnectionError,))
    options = {
        "SOCKET_CONNECT_TIMEOUT": config.value("rest.redis.connectTimeout"),
        "SOCKET_TIMEOUT": config.value("rest.redis.commandTimeout"),
        # An idle connection that the server has closed gets a second try at once.
        "CONNECTION_POOL_KWARGS": {"retry": retry, "protocol": 2, "driver_info": None},
    }
    return {
        "default": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": address, "OPTIONS": options},
        "responses": {
            "BACKEND": "mirror.core.rest.cache.redis.RedisCache",
            "LOCATION": address,
            "OPTIONS": options | {"SERIALIZER": "mirror.core.rest.cache.redis.AnswerSerializer"},
        },
    }
