"""Conditions on transactions where tables are distributed."""

from mirror.core.db.reading.sql import Where

#: A value that stands for the times of the transactions to which a condition is applied.
TIMES = object()


def named(condition: Where) -> Where:
    """Return the condition that a row of entity_transaction names transaction t.

    These rows are with their entity, not with the payer, so they are looked up by times that are known.
    """
    # Index: the primary key (entity_id, consensus_timestamp).
    where = condition + Where(("e.consensus_timestamp = any(%s)",), (TIMES,))
    among = f"select e.consensus_timestamp from entity_transaction e {where.sql}"
    return Where((f"t.consensus_timestamp in ({among})",), where.values)
