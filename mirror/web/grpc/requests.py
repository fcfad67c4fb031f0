"""The requests of the gRPC API and their rules, with the texts of the original.

Times are nanoseconds since the epoch. Errors: CallError.
"""

from typing import Any, NamedTuple

from google.protobuf.message import DecodeError
from grpc import StatusCode

from mirror.core import config
from mirror.core.values import entity_id, timestamp
from mirror.core.values.hapi import messages as hapi

#: The largest request that is read, in bytes.
MAX_BYTES = 1024
DATA_SOURCE = "Error querying the data source. Please retry later"

_MAX_INT64 = (1 << 63) - 1
_NEGATIVE = "must be greater than or equal to 0"
_ADDRESS_BOOKS = (101, 102)


class CallError(Exception):
    """The status and text with which a call ends."""

    def __init__(self, code: StatusCode, details: str) -> None:
        super().__init__(details)
        self.code, self.details = code, details


def invalid(details: str) -> CallError:
    return CallError(StatusCode.INVALID_ARGUMENT, details)


def not_found(encoded: int) -> CallError:
    return CallError(StatusCode.NOT_FOUND, f"{entity_id.bound(encoded)} does not exist")


class TopicFilter(NamedTuple):
    """The messages that a client subscribes to: from `start` to before `end`, at most `limit`."""

    topic_id: int
    start: int
    end: int | None
    limit: int | None


def topic_filter(request: bytes, now: int) -> TopicFilter:
    """Return the filter of a ConsensusTopicQuery. Errors: CallError."""
    query = _parsed(hapi.ConsensusTopicQuery, request)
    problems = []
    topic_id = 0
    if query.HasField("topicID"):
        topic = query.topicID
        topic_id = _encoded(topic.shardNum, topic.realmNum, topic.topicNum)
    else:
        problems.append("topicId: must not be null")
    if query.limit > _MAX_INT64:
        problems.append(f"limit: {_NEGATIVE}")
    start = timestamp.to_ns(query.consensusStartTime) if query.HasField("consensusStartTime") else now
    if start < 0:
        problems.append(f"startTime: {_NEGATIVE}")
    if start > now:
        problems.append("validStartTime: Start time must be before the current time")
    end = timestamp.to_ns(query.consensusEndTime) if query.HasField("consensusEndTime") else None
    if end is not None and end <= start:
        problems.append("validEndTime: End time must be after start time")
    _check(problems, "subscribeTopic.filter")
    return TopicFilter(topic_id, start, end, query.limit or None)


class NodeFilter(NamedTuple):
    """The nodes of an address book, at most `limit`."""

    file_id: int
    limit: int | None


def node_filter(request: bytes) -> NodeFilter:
    """Return the filter of an AddressBookQuery. Errors: CallError."""
    query = _parsed(hapi.AddressBookQuery, request)
    problems = []
    file_id = 0
    if query.HasField("file_id"):
        file = query.file_id
        file_id = _encoded(file.shardNum, file.realmNum, file.fileNum)
    else:
        problems.append("fileId: must not be null")
    if query.limit < 0:
        problems.append(f"limit: {_NEGATIVE}")
    _check(problems, "getNodes.addressBookFilter")
    if file_id not in map(config.own_id, _ADDRESS_BOOKS):
        raise invalid("Not a valid address book file")
    return NodeFilter(file_id, query.limit or None)


def _parsed(kind: Any, request: bytes) -> Any:
    if len(request) > MAX_BYTES:
        text = f"gRPC message exceeds maximum size {MAX_BYTES}: {len(request)}"
        raise CallError(StatusCode.RESOURCE_EXHAUSTED, text)
    try:
        return kind.FromString(request)
    except DecodeError:
        raise CallError(StatusCode.UNKNOWN, "Application error processing RPC") from None


def _encoded(shard: int, realm: int, num: int) -> int:
    try:
        return entity_id.encode(shard, realm, num)
    except entity_id.InvalidEntityId:
        raise invalid(f"Invalid entity ID: {shard}.{realm}.{num}") from None


def _check(problems: list[str], name: str) -> None:
    if problems:
        raise invalid(", ".join(f"{name}.{problem}" for problem in problems))
