"""The contract actions of one transaction where tables are distributed: the transaction first."""

from contracts.queries.actions import Action
from contracts.queries.searches import Search
from mirror.core.db.partitions.reading import also
from mirror.core.db.reading.sql import fetch, fetch_one
from mirror.core.db.sql.query import Query


def actions(search: Search, query: Query) -> list[Action] | None:
    """Return a page of a transaction's actions by index; None if there is no such transaction."""
    found = fetch_one(search.sql, search.values)
    if found is None:
        return None
    at, _, payer = found
    # Index: the primary key (consensus_timestamp, index, payer_account_id), on the payer's machine.
    statement = f"""
        select consensus_timestamp, call_depth, call_operation_type, call_type, caller, caller_type::text,
            gas, gas_used, index, input, recipient_account, recipient_address, recipient_contract,
            result_data, result_data_type, value
        from contract_action a
        where consensus_timestamp = %s and payer_account_id = %s {also(search.times, "consensus_timestamp")}
            {query.where.and_sql}
        order by index {query.direction} limit {query.limit:d}
    """
    return [Action._make(row) for row in fetch(statement, (at, payer, *query.where.values))]
