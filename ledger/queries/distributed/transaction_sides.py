"""Conditions on transactions where tables are distributed."""

from mirror.db.sql import Where


def named(condition: Where, times: Where) -> Where:
    """Return the condition that a row of entity_transaction names transaction t.

    These rows are with their entity, not with the payer, so their times are found first.
    """
    # Indexes: the primary key (entity_id, consensus_timestamp), entity_transaction__consensus_timestamp.
    where = condition + times
    among = f"select e.consensus_timestamp from entity_transaction e {where.sql}"
    return Where((f"t.consensus_timestamp in ({among})",), where.values)
