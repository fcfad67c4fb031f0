"""Messages of topics.

The sequence numbers of a topic rise with the consensus time of its messages. So a probe for the first or last
message within a bound on sequence numbers turns it into a bound on time, and every page runs along the index
of a topic's messages by time.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mirror.core.db.distribution import distributable
from mirror.core.db.reading.query import Bounds, Query
from mirror.core.db.reading.sql import MAX_INT64, Comparison, Row, Where, compare, fetch, fetch_one
from mirror.core.values.hapi import result_codes, transaction_types

_SUBMIT_MESSAGE = transaction_types.NUMBERS["CONSENSUSSUBMITMESSAGE"]

# The end of a partition, which may be open.
_LAST_TIME = f"coalesce(upper(timestamp_range) - 1, {MAX_INT64})"

_MESSAGE_COLUMNS = """
    m.chunk_num, m.chunk_total, m.initial_transaction_id, m.valid_start_timestamp, m.consensus_timestamp,
    m.message, m.payer_account_id, m.running_hash, m.running_hash_version, m.sequence_number, m.topic_id
"""


class Message(NamedTuple):
    chunk_num: int | None
    chunk_total: int | None
    initial_transaction_id: bytes | None
    valid_start_timestamp: int | None
    consensus_timestamp: int
    message: bytes
    payer_account_id: int | None
    running_hash: bytes
    running_hash_version: int | None
    sequence_number: int
    topic_id: int


def messages(topic_id: int, sequence_numbers: Sequence[Comparison], query: Query) -> list[Message]:
    """Return a page of a topic's messages by time that fulfil every comparison."""
    # Index: topic_message__topic_id_timestamp (topic_id, consensus_timestamp); for the probes, and for one
    # sequence number, topic_message__topic_id_seqnum (topic_id, sequence_number).
    where = compare("m.topic_id", [Comparison("eq", topic_id)]) + query.where
    for comparison in sequence_numbers:
        where += _sequence_number(topic_id, comparison)
    statement = f"""
        select {_MESSAGE_COLUMNS} from topic_message m {where.sql}
        order by m.consensus_timestamp {query.direction} limit {query.limit:d}
    """
    return [Message(*row) for row in fetch(statement, where.values)]


def newest_message(topic_id: int) -> int:
    """Return the consensus time of a topic's newest message; -1 without messages."""
    # Index: topic_message__topic_id_timestamp (topic_id, consensus_timestamp).
    row = fetch_one(
        "select consensus_timestamp from topic_message where topic_id = %s "
        "order by consensus_timestamp desc limit 1",
        (topic_id,),
    )
    return -1 if row is None else int(row[0])


@distributable
def messages_after(positions: Mapping[int, int], limit: int) -> list[Message]:
    """Return the first messages of each topic after its time; of each topic at most `limit`."""
    statement = f"""
        select f.* from unnest(%s::bigint[], %s::bigint[]) p (topic_id, since)
        cross join lateral ({_messages_after("p.topic_id", "p.since", limit)}) f
        order by f.topic_id, f.consensus_timestamp
    """
    return [Message(*row) for row in fetch(statement, (list(positions), list(positions.values())))]


@messages_after.distributed
def _distributed_messages_after(positions: Mapping[int, int], limit: int) -> list[Message]:
    # Each topic is on one machine.
    statement = _messages_after("%s", "%s", limit)
    return [Message(*row) for position in positions.items() for row in fetch(statement, position)]


def _messages_after(topic: str, since: str, limit: int) -> str:
    # Index: topic_message__topic_id_timestamp (topic_id, consensus_timestamp).
    return f"""
        select {_MESSAGE_COLUMNS} from topic_message m
        where m.topic_id = {topic} and m.consensus_timestamp > {since}
        order by m.consensus_timestamp limit {limit:d}
    """


def _sequence_number(topic_id: int, comparison: Comparison) -> Where:
    if comparison.operator in ("eq", "ne"):
        return compare("m.sequence_number", [comparison])
    at_least = comparison.operator in ("gt", "gte")
    within = compare("topic_id", [Comparison("eq", topic_id)]) + compare("sequence_number", [comparison])
    return Where(
        (
            f"""m.consensus_timestamp {">=" if at_least else "<="} (
                select consensus_timestamp from topic_message {within.sql}
                order by sequence_number {"asc" if at_least else "desc"} limit 1
            )""",
        ),
        within.values,
    )


class Partition(NamedTuple):
    """A partition of topic_message: inclusive sequence numbers and times, None without end."""

    first_number: int
    last_number: int | None
    first_timestamp: int
    last_timestamp: int | None


def partitions(topic_id: int, sequence_numbers: Bounds, timestamps: Bounds) -> list[Partition]:
    """Return the partitions with messages of a topic within these bounds, in the order of time."""
    # Index: the primary key (topic_id, partition); a topic has one row per partition.
    rows = fetch(
        """
        select lower(sequence_number_range), upper(sequence_number_range) - 1, lower(timestamp_range),
            upper(timestamp_range) - 1
        from topic_message_lookup
        where topic_id = %s and sequence_number_range && int8range(%s::bigint, %s::bigint, '[]')
            and timestamp_range && int8range(%s::bigint, %s::bigint, '[]')
        order by sequence_number_range
        """,
        (topic_id, sequence_numbers.lower, sequence_numbers.upper, timestamps.lower, timestamps.upper),
    )
    return [Partition(*row) for row in rows]


def message_of_number(topic_id: int, sequence_number: int, *, by_partition: bool = False) -> Message | None:
    """Return a topic's message by number; `by_partition`: only from the partition in topic_message_lookup."""
    # Index: topic_message__topic_id_seqnum (topic_id, sequence_number).
    where = Where(("m.topic_id = %s", "m.sequence_number = %s"), (topic_id, sequence_number))
    if by_partition:
        times = """
            (select {} from topic_message_lookup
            where topic_id = %s and sequence_number_range @> %s limit 1)
        """
        where += Where(
            (
                f"m.consensus_timestamp >= {times.format('lower(timestamp_range)')}",
                f"m.consensus_timestamp <= {times.format(_LAST_TIME)}",
            ),
            (topic_id, sequence_number) * 2,
        )
    return _message(fetch_one(f"select {_MESSAGE_COLUMNS} from topic_message m {where.sql}", where.values))


@distributable
def message_at(consensus_timestamp: int) -> Message | None:
    """Return the message of the transaction at this time."""
    # Indexes: the primary key of transaction; topic_message__topic_id_timestamp (topic_id,
    # consensus_timestamp).
    where = _submitted_at(consensus_timestamp)
    statement = f"""
        select {_MESSAGE_COLUMNS} from transaction t
        join topic_message m on m.topic_id = t.entity_id and m.consensus_timestamp = t.consensus_timestamp
        {where.sql}
    """
    return _message(fetch_one(statement, where.values))


@message_at.distributed
def _distributed_message_at(consensus_timestamp: int) -> Message | None:
    # The transaction is looked up on all machines, its message on the topic's.
    where = _submitted_at(consensus_timestamp)
    topic = fetch_one(f"select t.entity_id from transaction t {where.sql}", where.values)
    if topic is None or topic[0] is None:
        return None
    where = Where(("m.topic_id = %s", "m.consensus_timestamp = %s"), (topic[0], consensus_timestamp))
    return _message(fetch_one(f"select {_MESSAGE_COLUMNS} from topic_message m {where.sql}", where.values))


def _submitted_at(consensus_timestamp: int) -> Where:
    where = compare("t.consensus_timestamp", [Comparison("eq", consensus_timestamp)])
    return where + Where(("t.type = %s", "t.result = %s"), (_SUBMIT_MESSAGE, result_codes.NUMBERS["SUCCESS"]))


def _message(row: Row | None) -> Message | None:
    return None if row is None else Message(*row)
