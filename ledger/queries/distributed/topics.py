"""Topic messages where tables are distributed: the topic first."""

from ledger.queries.topics import SUBMIT_MESSAGE
from mirror.db.sql import Row, fetch_one
from mirror.values import result_codes


def message_at(consensus_timestamp: int, columns: str) -> Row | None:
    """Return the columns of message m of the transaction at this time."""
    # Indexes: the primary key of transaction, on all machines; topic_message__topic_id_timestamp (topic_id,
    # consensus_timestamp), on that of the topic.
    topic = fetch_one(
        "select entity_id from transaction where consensus_timestamp = %s and type = %s and result = %s",
        (consensus_timestamp, SUBMIT_MESSAGE, result_codes.NUMBERS["SUCCESS"]),
    )
    if topic is None or topic[0] is None:
        return None
    return fetch_one(
        f"select {columns} from topic_message m where m.topic_id = %s and m.consensus_timestamp = %s",
        (topic[0], consensus_timestamp),
    )
