"""New messages of topics on Redis, in the form of the original's loader: its gRPC server has them from there.

A value of the channel `topic.<id>` is a MessagePack map of the columns of topic_message. What is loaded while
Redis does not answer is not published: that server reads it from the database with the topic's next message.
"""

import re
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from django.db import transaction
from django.db.backends.utils import CursorWrapper

from ledger.models import TopicMessage
from mirror.core import config
from mirror.core.db.writing.copy import column_names
from mirror.core.rest.cache.circuit_breaker import Circuit

REDIS = "importer.parser.record.entity.redis.uri"

# The loader waits no longer for Redis, and sends it so many messages at a time.
_TIMEOUT_SECONDS, _MAX_MESSAGES = 1.0, 1000


def publication(row: Sequence[Any]) -> tuple[str, bytes]:
    """Return the channel and the value by which a row of topic_message is published."""
    # Imported here, as only loaders that publish need it.
    import msgpack

    columns = dict(zip(_keys(), row, strict=True))
    value = msgpack.packb({"@type": "TopicMessage"} | columns)
    return f"topic.{columns['topicId']}", value


def publish(cursor: CursorWrapper, publications: Sequence[tuple[str, bytes]]) -> None:
    """Publish messages once the transaction of the cursor is committed."""
    publisher = _publisher(config.value(REDIS))
    transaction.on_commit(partial(publisher.publish, publications), using=cursor.db.alias)


class _Publisher:
    def __init__(self, address: str) -> None:
        # Imported here, as only loaders that publish need it.
        import redis

        seconds = _TIMEOUT_SECONDS
        self._client = redis.Redis.from_url(address, socket_timeout=seconds, socket_connect_timeout=seconds)
        self._circuit = Circuit("redis")

    def publish(self, publications: Sequence[tuple[str, bytes]]) -> None:
        try:
            for first in range(0, len(publications), _MAX_MESSAGES):
                if not self._circuit.closed():
                    return
                with self._client.pipeline(transaction=False) as pipeline:
                    for channel, value in publications[first : first + _MAX_MESSAGES]:
                        pipeline.publish(channel, value)
                    pipeline.execute()
                self._circuit.record_success()
        # As in the response cache: a broken server makes its client raise anything.
        except Exception as error:
            self._circuit.record_failure(error)


@cache
def _publisher(address: str) -> _Publisher:
    return _Publisher(address)


@cache
def _keys() -> tuple[str, ...]:
    return tuple(re.sub("_(.)", lambda match: match[1].upper(), name) for name in column_names(TopicMessage))
