"""Topic messages where tables are distributed: the topic first."""

from ledger.queries.topics import SUBMIT_MESSAGE
from mirror.core.db.reading.sql import Comparison, Row, Where, compare, fetch_one
from mirror.core.values.hapi import result_codes


def message_at(consensus_timestamp: int, columns: str) -> Row | None:
    """Return the columns of message m of the transaction at this time."""
    # Indexes: the primary key of transaction, on all machines; topic_message__topic_id_timestamp (topic_id,
    # consensus_timestamp), on that of the topic.
    where = compare("consensus_timestamp", [Comparison("eq", consensus_timestamp)])
    where += Where(("type = %s", "result = %s"), (SUBMIT_MESSAGE, result_codes.NUMBERS["SUCCESS"]))
    topic = fetch_one(f"select entity_id from transaction {where.sql}", where.values)
    if topic is None or topic[0] is None:
        return None
    return fetch_one(
        f"select {columns} from topic_message m where m.topic_id = %s and m.consensus_timestamp = %s",
        (topic[0], consensus_timestamp),
    )
