"""The rules of requests, with the texts of the original."""

from typing import Any

import pytest

from mirror.core.values.hapi import messages as hapi
from mirror.web.grpc.requests import CallError, NodeFilter, TopicFilter, node_filter, topic_filter
from tests.build import SECOND
from tests.grpc_client import topic_query

NOW = 1_700_000_000 * SECOND
MAX = (1 << 63) - 1
LIMIT = "subscribeTopic.filter.limit: must be greater than or equal to 0"
START = "subscribeTopic.filter.startTime: must be greater than or equal to 0"
FUTURE = "subscribeTopic.filter.validStartTime: Start time must be before the current time"
END = "subscribeTopic.filter.validEndTime: End time must be after start time"


def of_topic(shard: int = 0, realm: int = 0, num: int = 5, **fields: Any) -> bytes:
    topic = hapi.TopicID(shardNum=shard, realmNum=realm, topicNum=num)
    return bytes(hapi.ConsensusTopicQuery(topicID=topic, **fields).SerializeToString())


@pytest.mark.parametrize(
    ("request_bytes", "wanted"),
    [
        (topic_query(5, start=None), TopicFilter(5, NOW, None, None)),
        (topic_query(5, start=0, limit=7), TopicFilter(5, 0, None, 7)),
        (topic_query(5, start=NOW), TopicFilter(5, NOW, None, None)),
        (topic_query(5, start=3, end=4), TopicFilter(5, 3, 4, None)),
        (topic_query(5, start=None, end=NOW + 1), TopicFilter(5, NOW, NOW + 1, None)),
        (topic_query(5, limit=MAX), TopicFilter(5, 0, None, MAX)),
        (of_topic(num=0), TopicFilter(0, NOW, None, None)),
        (of_topic(3, 1, 9), TopicFilter(3 << 54 | 1 << 38 | 9, NOW, None, None)),
        (
            of_topic(consensusStartTime=hapi.Timestamp(seconds=1, nanos=-1)),
            TopicFilter(5, SECOND - 1, None, None),
        ),
        (
            of_topic(consensusEndTime=hapi.Timestamp(seconds=1 << 62)),
            TopicFilter(5, NOW, MAX, None),
        ),
        (topic_query(5) + b"\xfa\x3e\x03abc", TopicFilter(5, 0, None, None)),
    ],
)
def test_a_topic_query_becomes_a_filter(request_bytes: bytes, wanted: TopicFilter) -> None:
    assert topic_filter(request_bytes, NOW) == wanted


@pytest.mark.parametrize(
    ("request_bytes", "texts"),
    [
        (topic_query(None), ["subscribeTopic.filter.topicId: must not be null"]),
        (topic_query(5, limit=1 << 63), [LIMIT]),
        (topic_query(5, start=-1), [START]),
        (topic_query(5, start=NOW + 1), [FUTURE]),
        (topic_query(5, start=7, end=7), [END]),
        (topic_query(5, start=None, end=7), [END]),
        (topic_query(5, start=NOW + 9, end=NOW + 8, limit=1 << 63), [LIMIT, FUTURE, END]),
        (of_topic(shard=-1, limit=1 << 63), ["Invalid entity ID: -1.0.5"]),
        (of_topic(realm=65_536), ["Invalid entity ID: 0.65536.5"]),
        (of_topic(num=1 << 38), ["Invalid entity ID: 0.0.274877906944"]),
    ],
)
def test_broken_rules_are_named_together(request_bytes: bytes, texts: list[str]) -> None:
    with pytest.raises(CallError) as refused:
        topic_filter(request_bytes, NOW)
    assert refused.value.code.name == "INVALID_ARGUMENT"
    assert refused.value.details.split(", ") == texts


@pytest.mark.parametrize(
    ("request_bytes", "code", "text"),
    [
        (b"\xff\xff\xff\xff", "UNKNOWN", "Application error processing RPC"),
        (b"\xfa" * 1025, "RESOURCE_EXHAUSTED", "gRPC message exceeds maximum size 1024: 1025"),
    ],
)
def test_unreadable_requests_are_refused(request_bytes: bytes, code: str, text: str) -> None:
    with pytest.raises(CallError) as refused:
        topic_filter(request_bytes, NOW)
    assert (refused.value.code.name, refused.value.details) == (code, text)


def of_book(num: int | None = 102, shard: int = 0, limit: int = 0) -> bytes:
    file_id = None if num is None else hapi.FileID(shardNum=shard, fileNum=num)
    return bytes(hapi.AddressBookQuery(file_id=file_id, limit=limit).SerializeToString())


@pytest.mark.parametrize(
    ("request_bytes", "wanted"),
    [(of_book(), NodeFilter(102, None)), (of_book(101, limit=3), NodeFilter(101, 3))],
)
def test_an_address_book_query_becomes_a_filter(request_bytes: bytes, wanted: NodeFilter) -> None:
    assert node_filter(request_bytes) == wanted


@pytest.mark.parametrize(
    ("request_bytes", "text"),
    [
        (
            of_book(None, limit=-1),
            "getNodes.addressBookFilter.fileId: must not be null, "
            "getNodes.addressBookFilter.limit: must be greater than or equal to 0",
        ),
        (of_book(100, limit=-1), "getNodes.addressBookFilter.limit: must be greater than or equal to 0"),
        (of_book(100), "Not a valid address book file"),
        (of_book(102, shard=1), "Not a valid address book file"),
        (of_book(102, shard=1024), "Invalid entity ID: 1024.0.102"),
    ],
)
def test_address_book_queries_that_are_refused(request_bytes: bytes, text: str) -> None:
    with pytest.raises(CallError) as refused:
        node_filter(request_bytes)
    assert (refused.value.code.name, refused.value.details) == ("INVALID_ARGUMENT", text)
