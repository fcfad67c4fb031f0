"""The gRPC server where requests read from replicas."""

from collections.abc import Iterator

import pytest
import pytest_django
from django.db import connections

from mirror.core.db.partitions import months
from mirror.core.db.replicas import ReplicaReader
from tests.grpc_client import TOPIC, Client
from tests.mirror.web.grpc.serving import served
from tests.replicated import Replicated
from tests.waiting import wait_until

_MESSAGE = """
    insert into topic_message (topic_id, sequence_number, consensus_timestamp, message, running_hash)
    values (%s, %s, %s, '', '')"""


@pytest.fixture
def reader(
    transactional_db: None, replicated: Replicated, django_db_blocker: pytest_django.DjangoDbBlocker
) -> Iterator[ReplicaReader]:
    replicated.add_block(replicated.last_block(replicated.primary) + 1)
    replicated.on(
        replicated.primary,
        "insert into entity (id, num, realm, shard, type, timestamp_range) "
        "values (%s, %s, 0, 0, 'TOPIC', '[0,)') on conflict do nothing",
        (TOPIC, TOPIC),
    )
    with django_db_blocker.unblock(), replicated.reading() as reader:
        yield reader
    replicated.on(replicated.primary, "delete from topic_message where topic_id = %s", (TOPIC,))
    replicated.catch_up()


def add(replicated: Replicated, number: int) -> None:
    replicated.on(replicated.primary, _MESSAGE, (TOPIC, number, number))


@pytest.mark.parametrize("is_primary_away", [False, True])
def test_messages_come_once_the_replica_has_them(
    monkeypatch: pytest.MonkeyPatch, replicated: Replicated, reader: ReplicaReader, is_primary_away: bool
) -> None:
    with monkeypatch.context() as patch:
        if is_primary_away:
            # For this process: who writes still reaches it.
            patch.setitem(connections.settings["default"], "HOST", "/nonexistent")
            months.forget()
        add(replicated, 1)
        replicated.catch_up()
        with served() as server:
            client = Client(server.port)
            stream = client.subscribe(limit=3)
            stream.has(1)
            wait_until(lambda: server.is_following)
            replicated.hold()
            for number in (2, 3):
                add(replicated, number)
            assert stream.numbers == [1]
            replicated.catch_up()
            assert stream.ended() == ("OK", "")
            assert stream.numbers == [1, 2, 3]
            client.channel.close()
