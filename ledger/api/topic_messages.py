"""GET /api/v1/topics/{topicId}/messages, with /{sequenceNumber} one of them, and topics/messages/{timestamp}.

Source: topic_message; by time alone, the transaction says which topic. A topic need not exist.
Errors: 400 malformed parameter, id, number or time; 404 no such message.
"""

from collections.abc import Sequence
from typing import Any, TypedDict

from google.protobuf.message import DecodeError
from rest_framework.response import Response

from ledger.api import not_loaded
from ledger.queries import topics as queries
from ledger.queries.topics import Message, Partition
from mirror.core import config
from mirror.core.db.reading.by_month import by_month
from mirror.core.db.reading.query import Bounds, Query
from mirror.core.db.reading.sql import MAX_INT64, Comparison, compare
from mirror.core.rest.answers.errors import InvalidParameter, NotFound
from mirror.core.rest.parameters import classic
from mirror.core.rest.parameters.entity_ids import is_numeric_id, read_numeric_id, require_form
from mirror.core.rest.parameters.parameter_set import InvalidValue, NoParameters, reject_ne
from mirror.core.rest.views import ReadView
from mirror.core.values import entity_id, hexadecimal, timestamp
from mirror.core.values.hapi import messages as hapi
from mirror.core.values.json_types import Base64, EntityId, Int32, Int64, Timestamp, page_type

_TOPIC = "topic.id"
_BY_PARTITION = "rest.query.topicMessageLookup"

# The version of the running hash when a message doesn't name it.
_FIRST_KNOWN_HASH_VERSION = 3


# PARAMETERS
class MessageParameters(classic.PageParameters):
    encoding = classic.Choice(
        "encoding",
        {"base64": False, "utf-8": True, "utf8": True},
        False,
        help="Encoding of the messages.",
    )
    order = classic.Order("asc")
    sequence_number = classic.Number("sequencenumber", low=1, help="Place of the message in its topic.")
    timestamp = classic.Timestamp(
        "timestamp",
        column="m.consensus_timestamp",
        any_equal=False,
        help="Consensus timestamp of the message.",
    )


# QUERY
def message_rows(topic_id: int, parameters: MessageParameters, query: Query) -> list[Message]:
    if config.value(_BY_PARTITION):
        within = partition_times(topic_id, parameters)
        if within is None:
            return []
        query = query.filter(compare("m.consensus_timestamp", within))
    timestamps = Bounds.combine(parameters.timestamp)

    def read(times: Bounds) -> list[Message]:
        of_months = query if times is timestamps else query.filter(times.where("m.consensus_timestamp"))
        return queries.messages(topic_id, parameters.sequence_number, of_months)

    return by_month(read, timestamps, query)


def partition_times(topic_id: int, parameters: MessageParameters) -> list[Comparison] | None:
    """Return the times of the partitions that hold the page, from topic_message_lookup; None if none do."""
    reject_ne(parameters.sequence_number, "Not equal (ne) operator is not supported for sequencenumber")
    reject_ne(parameters.timestamp, "Not equal (ne) operator is not supported for timestamp")
    numbers, times = _span(parameters.sequence_number, 1), _span(parameters.timestamp, 0)
    if numbers.empty or times.empty:
        return None
    partitions = queries.partitions(topic_id, numbers, times)
    if parameters.descending:
        partitions.reverse()
    needed = _first_with(partitions, parameters.limit, numbers, times)
    if not needed:
        return None
    first, last = (needed[-1], needed[0]) if parameters.descending else (needed[0], needed[-1])
    within = [Comparison("gte", first.first_timestamp)]
    if last.last_timestamp is not None:
        within.append(Comparison("lte", last.last_timestamp))
    return within


def _span(comparisons: Sequence[Comparison], lowest: int) -> Bounds:
    """Return the range from the first to the last value that all comparisons allow."""
    bounds = Bounds.combine(comparisons)
    lower = max(lowest, bounds.lower or lowest, *bounds.equal)
    upper = min(MAX_INT64, MAX_INT64 if bounds.upper is None else bounds.upper, *bounds.equal)
    # The upper bound of a range of PostgreSQL can't be the largest number: it would be stored as one more.
    return Bounds(lower, None if upper == MAX_INT64 and lower <= upper else upper)


def _first_with(
    partitions: Sequence[Partition], limit: int, numbers: Bounds, times: Bounds
) -> list[Partition]:
    """Return the first partitions that certainly hold `limit` messages within the bounds."""
    needed: list[Partition] = []
    messages = 0
    for partition in partitions:
        if messages >= limit:
            break
        needed.append(partition)
        if _within(partition, times):
            messages += _overlap(partition, numbers)
    return needed


def _within(partition: Partition, times: Bounds) -> bool:
    after = times.lower is None or partition.first_timestamp >= times.lower
    last = partition.last_timestamp
    return after and (times.upper is None or (last is not None and last <= times.upper))


def _overlap(partition: Partition, numbers: Bounds) -> int:
    last = [number for number in (partition.last_number, numbers.upper) if number is not None]
    return min(last, default=MAX_INT64) - max(partition.first_number, numbers.lower or 1) + 1


# JSON
class ChunkTransactionIdJson(TypedDict):
    account_id: EntityId | None
    nonce: Int32 | None
    scheduled: bool | None
    transaction_valid_start: Timestamp | None


class ChunkJson(TypedDict):
    initial_transaction_id: ChunkTransactionIdJson
    number: Int32 | None
    total: Int32 | None


class TopicMessageJson(TypedDict):
    """A topic message; its content is base64, or text on request."""

    chunk_info: ChunkJson | None
    consensus_timestamp: Timestamp | None
    message: str | None
    payer_account_id: EntityId | None
    running_hash: Base64 | None
    running_hash_version: Int32
    sequence_number: Int64
    topic_id: EntityId | None


def message_json(message: Message, *, as_text: bool = False) -> TopicMessageJson:
    """Return a message as JSON; `as_text`: its content as UTF-8, not as base64."""
    version = message.running_hash_version
    content = message.message
    return {
        "chunk_info": None if message.chunk_num is None else chunk_json(message),
        "consensus_timestamp": timestamp.text(message.consensus_timestamp),
        "message": content.decode("utf-8", "replace") if as_text else hexadecimal.base64_text(content),
        "payer_account_id": entity_id.text(message.payer_account_id),
        "running_hash": hexadecimal.base64_text(message.running_hash),
        "running_hash_version": _FIRST_KNOWN_HASH_VERSION if version is None else version,
        "sequence_number": message.sequence_number,
        "topic_id": entity_id.text(message.topic_id),
    }


def chunk_json(message: Message) -> ChunkJson:
    first = _first_transaction_id(message.initial_transaction_id)
    return {
        "initial_transaction_id": {
            # Without an account number, or with an impossible one, there is no payer.
            "account_id": entity_id.text(
                message.payer_account_id if first is None else entity_id.from_account(first.accountID)
            ),
            "nonce": None if first is None else first.nonce,
            "scheduled": None if first is None else first.scheduled,
            "transaction_valid_start": timestamp.text(
                message.valid_start_timestamp if first is None else _valid_start(first)
            ),
        },
        "number": message.chunk_num,
        "total": message.chunk_total,
    }


def _first_transaction_id(stored: bytes | None) -> Any:
    """Return the TransactionID of the first chunk; None where the message's own is used instead."""
    if stored is None:
        return None
    try:
        return hapi.TransactionID.FromString(stored)
    except DecodeError:
        return None


def _valid_start(transaction_id: Any) -> int | None:
    if not transaction_id.HasField("transactionValidStart"):
        return None
    return timestamp.to_ns(transaction_id.transactionValidStart)


# VIEWS
class Messages(ReadView):
    """List the messages of a topic.

    Oldest first, in base64 or, with `encoding=utf-8`, as text. The running hash proves their order.
    """

    parameters, max_age, answers = MessageParameters, 1, page_type("TopicMessages", messages=TopicMessageJson)
    paging = {"timestamp": "consensus_timestamp"}
    path_first = True

    def resolve(self, **path: str) -> dict[str, Any]:
        require_form(is_numeric_id, path["topic_id"], _TOPIC)
        return path

    def read(self, parameters: MessageParameters, topic_id: str) -> Response:
        rows = message_rows(read_numeric_id(topic_id), parameters, self.query)
        return self.page("messages", [message_json(row, as_text=parameters.encoding) for row in rows])


class MessageOfNumber(ReadView):
    """Get a message of a topic by its sequence number.

    In base64.
    """

    max_age, answers = 600, TopicMessageJson

    def read(self, parameters: NoParameters, topic_id: str, sequence_number: str) -> TopicMessageJson:
        invalid = [] if is_numeric_id(topic_id) else [_TOPIC]
        try:
            number = classic.read_number(sequence_number, 1)
        except InvalidValue:
            raise InvalidParameter(*invalid, "sequencenumber") from None
        require_form(is_numeric_id, topic_id, _TOPIC)
        topic = read_numeric_id(topic_id)
        message = queries.message_of_number(topic, number, by_partition=config.value(_BY_PARTITION))
        if message is None:
            raise NotFound(detail=not_loaded.anything("topic_message"))
        return message_json(message)


class MessageAt(ReadView):
    """Get a message by its consensus timestamp.

    Of whatever topic; the message is in base64.
    """

    max_age, answers = 600, TopicMessageJson

    def read(self, parameters: NoParameters, timestamp: str) -> TopicMessageJson:
        at = read_timestamp(timestamp)
        message = queries.message_at(at)
        if message is None:
            raise NotFound(detail=not_loaded.at(at, "topic_message"))
        return message_json(message)


def read_timestamp(text: str) -> int:
    try:
        return timestamp.parse(text)
    except timestamp.InvalidTimestamp:
        raise InvalidParameter("consensus_timestamp") from None
