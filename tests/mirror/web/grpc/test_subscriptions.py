"""Subscriptions of topics: stored messages, new ones, and no gap between them."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from mirror.core.db import notifications
from mirror.core.values.hapi import messages as hapi
from mirror.web.grpc import subscription
from tests.build import SECOND, START, Build
from tests.grpc_client import TOPIC, Client
from tests.mirror.web.grpc.serving import Served, add, topic
from tests.waiting import wait_until

OK = ("OK", "")
MISSING = ("UNAVAILABLE", "Topic messages are missing. Please retry later")
SHUTDOWN = ("UNAVAILABLE", "The server is shutting down. Please retry later")


def notify() -> None:
    with connection.cursor() as cursor:
        notifications.notify(cursor)


def timestamp(nanoseconds: int) -> Any:
    seconds, nanos = divmod(nanoseconds, SECOND)
    return hapi.Timestamp(seconds=seconds, nanos=nanos)


def transaction_id(account: int, start: int, **fields: Any) -> Any:
    return hapi.TransactionID(
        accountID=hapi.AccountID(accountNum=account), transactionValidStart=timestamp(start), **fields
    )


# STORED


def test_a_message_has_all_its_fields(client: Client) -> None:
    first = transaction_id(1001, 11, nonce=7, scheduled=True)
    topic()
    add(1, message=b"one", running_hash=b"\1" * 48, running_hash_version=None)
    add(2, chunk_num=1, chunk_total=3, initial_transaction_id=first.SerializeToString())
    add(3, chunk_num=2, chunk_total=3, payer_account_id=1 << 38 | 5, valid_start_timestamp=22)
    add(4, chunk_num=3, chunk_total=3, initial_transaction_id=b"\x0a\xff")

    stream = client.subscribe(limit=4)

    assert stream.ended() == OK
    common = {"message": b"message", "runningHash": b"hash", "runningHashVersion": 3}
    at = {number: timestamp(START + number * SECOND) for number in range(1, 5)}
    payer = hapi.TransactionID(
        accountID=hapi.AccountID(realmNum=1, accountNum=5), transactionValidStart=timestamp(22)
    )
    chunk = type(stream.messages[1].chunkInfo)
    response = hapi.ConsensusTopicResponse
    assert stream.messages == [
        response(
            **common | {"message": b"one", "runningHash": b"\1" * 48},
            consensusTimestamp=at[1],
            sequenceNumber=1,
        ),
        response(
            **common,
            consensusTimestamp=at[2],
            sequenceNumber=2,
            chunkInfo=chunk(initialTransactionID=first, total=3, number=1),
        ),
        response(
            **common,
            consensusTimestamp=at[3],
            sequenceNumber=3,
            chunkInfo=chunk(initialTransactionID=payer, total=3, number=2),
        ),
        # Neither the bytes nor the valid start say which transaction was the first.
        response(**common, consensusTimestamp=at[4], sequenceNumber=4, chunkInfo=chunk(total=3, number=3)),
    ]


@pytest.mark.parametrize(
    ("fields", "numbers"),
    [
        ({"limit": 2}, [1, 2]),
        ({"start": START + 2 * SECOND, "limit": 1}, [2]),
        ({"start": START + 2 * SECOND + 1, "limit": 1}, [3]),
        ({"end": START + 3 * SECOND}, [1, 2]),
        ({"end": START + 3 * SECOND + 1}, [1, 2, 3]),
        ({"end": START}, []),
        ({"end": START + 100 * SECOND}, [1, 2, 3]),
    ],
)
def test_a_stream_ends_at_its_limit_or_end_time(
    client: Client, fields: dict[str, Any], numbers: list[int]
) -> None:
    topic(1, 2, 3)
    stream = client.subscribe(**fields)
    assert stream.ended() == OK
    assert stream.numbers == numbers


def test_many_messages_come_page_by_page(client: Client) -> None:
    topic(*range(1, 1302))
    stream = client.subscribe(limit=1301)
    assert stream.ended() == OK
    assert stream.numbers == list(range(1, 1302))


def test_large_messages_come_in_smaller_pages(client: Client) -> None:
    topic(*range(1, 251), message=b"x" * 6_000)
    stream = client.subscribe(end=START + 300 * SECOND)
    assert stream.ended() == OK
    assert stream.numbers == list(range(1, 251))


@pytest.mark.parametrize(
    ("type", "status"),
    [
        ("ACCOUNT", ("INVALID_ARGUMENT", "Not a valid topic")),
        (None, ("NOT_FOUND", f"0.0.{TOPIC} does not exist")),
    ],
)
def test_what_is_no_topic_is_refused(client: Client, type: str | None, status: tuple[str, str]) -> None:
    if type:
        Build().entity(TOPIC, type=type)
    assert client.subscribe().ended() == status


def test_a_deleted_topic_of_another_shard_has_its_messages(client: Client) -> None:
    topic_id = 3 << 54 | 9
    Build().entity(topic_id, type="TOPIC", deleted=True)
    add(1, topic_id=topic_id)
    query = hapi.ConsensusTopicQuery(topicID=hapi.TopicID(shardNum=3, topicNum=9), limit=1)
    query.consensusStartTime.SetInParent()

    stream = client.call(
        "/com.hedera.mirror.api.proto.ConsensusService/subscribeTopic",
        query.SerializeToString(),
        hapi.ConsensusTopicResponse,
    )

    assert stream.ended() == OK
    assert stream.numbers == [1]


def test_messages_of_an_unknown_topic_are_waited_for_if_the_setting_says_so(
    settings_of: Callable[..., None], server: Served, client: Client
) -> None:
    settings_of({"grpc.checkTopicExists": False})
    stream = client.subscribe(limit=1)
    wait_until(lambda: server.is_following)
    add(1)
    assert stream.ended() == OK


# NEW


def test_new_messages_follow_the_stored_ones(client: Client) -> None:
    topic(1, 2)
    stream = client.subscribe(limit=6)
    stream.has(2)
    for number in (3, 4, 5, 6):
        add(number)
        notify()
        stream.has(number)
    assert stream.ended() == OK
    assert stream.numbers == [1, 2, 3, 4, 5, 6]


def test_a_commit_that_is_not_notified_is_found(server: Served, client: Client) -> None:
    topic()
    stream = client.subscribe(limit=1)
    wait_until(lambda: server.is_following)
    add(1)
    assert stream.ended() == OK


def test_without_a_start_only_messages_of_later_consensus_come(server: Served, client: Client) -> None:
    topic(1, 2)
    stream = client.subscribe(start=None, limit=1)
    wait_until(lambda: server.is_following)
    # Loaded now, but of earlier consensus.
    add(3)
    add(4, at=time.time_ns())
    notify()
    assert stream.ended() == OK
    assert stream.numbers == [4]


def test_subscribers_of_a_topic_at_different_times_get_all(server: Served, client: Client) -> None:
    topic(1, 2)
    late = client.subscribe(start=None)
    wait_until(lambda: server.is_following)
    early = client.subscribe(limit=4)
    early.has(2)
    # Of an earlier time than that from which the first one reads.
    add(3, 4)
    notify()
    assert early.ended() == OK
    assert early.numbers == [1, 2, 3, 4]
    assert late.numbers == []
    late.call.cancel()


def test_a_missing_message_is_waited_for(client: Client) -> None:
    topic(1, 2)
    stream = client.subscribe(limit=4)
    stream.has(2)
    add(4)
    notify()
    add(3)
    assert stream.ended() == OK
    assert stream.numbers == [1, 2, 3, 4]


@pytest.mark.parametrize("is_new", [False, True], ids=["stored", "new"])
def test_messages_that_stay_missing_end_the_stream(
    monkeypatch: pytest.MonkeyPatch, client: Client, is_new: bool
) -> None:
    monkeypatch.setattr(subscription, "_MISSING_SECONDS", 0.6)
    topic(1, 2)
    if not is_new:
        add(4)
    stream = client.subscribe()
    stream.has(2)
    if is_new:
        add(4)
        notify()
    assert stream.ended() == MISSING
    assert stream.numbers == [1, 2]
    # From behind them, as a client may go on.
    later = client.subscribe(start=START + 3 * SECOND, limit=1)
    assert later.ended() == OK
    assert later.numbers == [4]


def test_an_end_time_ends_a_stream_that_waits(client: Client) -> None:
    topic(1)
    stream = client.subscribe(end=time.time_ns() + SECOND)
    stream.has(1)
    assert stream.ended() == OK
    assert stream.numbers == [1]


def test_a_message_after_the_end_time_ends_the_stream_at_once(client: Client) -> None:
    topic(1)
    end = time.time_ns() + 3600 * SECOND
    stream = client.subscribe(end=end)
    stream.has(1)
    add(2, at=end - 3)
    add(3, at=end)
    notify()
    assert stream.ended() == OK
    assert stream.numbers == [1, 2]


def test_messages_of_the_future_come_like_others(client: Client) -> None:
    topic(1)
    later = time.time_ns() + 3600 * SECOND
    add(2, at=later)
    stream = client.subscribe(limit=3)
    stream.has(2)
    add(3, at=later)
    notify()
    assert stream.ended() == OK
    assert stream.numbers == [1, 2, 3]


def test_a_client_that_does_not_read_gets_all_from_the_database_later(
    monkeypatch: pytest.MonkeyPatch, server: Served, client: Client
) -> None:
    monkeypatch.setattr(subscription, "_QUEUE_BYTES", 20_000)
    topic(1)
    call = client.channel.unary_stream("/com.hedera.mirror.api.proto.ConsensusService/subscribeTopic")
    query = hapi.ConsensusTopicQuery(topicID=hapi.TopicID(topicNum=TOPIC), limit=401)
    query.consensusStartTime.SetInParent()
    answers = call(query.SerializeToString())
    assert next(answers)
    (open_one,) = server.server._subscriptions
    wait_until(lambda: server.is_following)
    for first in range(2, 402, 50):
        add(*range(first, first + 50), message=b"x" * 5_000)
        notify()
    wait_until(lambda: open_one._overflowed)
    assert sum(len(each.data) for batch in open_one._queue for each in batch) <= 20_000

    numbers = [hapi.ConsensusTopicResponse.FromString(data).sequenceNumber for data in answers]

    assert numbers == list(range(2, 402))


def test_a_client_that_leaves_is_forgotten(server: Served, client: Client) -> None:
    topic(1)
    streams = [client.subscribe() for _ in range(3)]
    for stream in streams:
        stream.has(1)
        stream.call.cancel()
    wait_until(lambda: not server.open and not server.is_following)


def test_a_shutdown_ends_streams_so_that_clients_try_again(server: Served, client: Client) -> None:
    topic(1)
    stream = client.subscribe()
    stream.has(1)
    server.stop()
    assert stream.ended() == SHUTDOWN
