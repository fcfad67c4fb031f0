"""How this node reaches the Redis that it may share with others: as Django's default cache.

What it holds can be had again from the database, so nobody waits for it.
"""

from typing import Any

from mirror import config
from mirror.config.setting import InvalidSetting

_SCHEMES = ("redis://", "rediss://", "unix://")


def caches() -> dict[str, Any]:
    """Django's CACHES: the Redis of REDIS_URL by django-redis, else the memory of each process.

    Errors: InvalidSetting for an address that is none.
    """
    address = config.value("rest.redis.uri")
    if address is None:
        return {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    if not address.startswith(_SCHEMES):
        raise InvalidSetting("REDIS_URL is not the address of a Redis such as redis://host:6379/0.")
    from redis.backoff import NoBackoff
    from redis.exceptions import ConnectionError
    from redis.retry import Retry

    return {
        "default": {
            "BACKEND": "django_redis.cache.RedisCache",
            "LOCATION": address,
            "OPTIONS": {
                "SOCKET_CONNECT_TIMEOUT": config.value("rest.redis.connectTimeout"),
                "SOCKET_TIMEOUT": config.value("rest.redis.commandTimeout"),
                "CONNECTION_POOL_KWARGS": {
                    # A connection that the server closed while it rested gets a second try at once.
                    "retry": Retry(NoBackoff(), 1, supported_errors=(ConnectionError,)),
                    "protocol": 2,
                    "driver_info": None,
                },
            },
        }
    }
