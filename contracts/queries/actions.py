"""The contract actions of one transaction."""

from typing import NamedTuple

from contracts.queries import synthetic
from contracts.queries.searches import Search
from mirror.core.db.distribution import distributable
from mirror.core.db.reading.by_month import and_months
from mirror.core.db.reading.query import Query
from mirror.core.db.reading.sql import fetch, fetch_one

_COLUMNS = """
    call_depth, call_operation_type, call_type, caller, caller_type::text, gas, gas_used, index, input,
    recipient_account, recipient_address, recipient_contract, result_data, result_data_type, value
"""


class ActionRow(NamedTuple):
    """One call or creation inside a contract transaction; `number` is its index."""

    consensus_timestamp: int
    call_depth: int
    call_operation_type: int | None
    call_type: int | None
    caller: int | None
    caller_type: str | None
    gas: int
    gas_used: int
    number: int
    input: bytes | None
    recipient_account: int | None
    recipient_address: bytes | None
    recipient_contract: int | None
    result_data: bytes | None
    result_data_type: int
    value: int


@distributable
def actions(search: Search, query: Query) -> list[ActionRow] | None:
    """Return a page of a transaction's actions by index; None if there is no such transaction."""
    # Index: the primary key (consensus_timestamp, index). A transaction without actions gives one row.
    statement = f"""
        with found as materialized ({search.sql})
        select found.consensus_timestamp, {_COLUMNS}
        from found left join lateral (
            select * from contract_action a
            where a.consensus_timestamp = found.consensus_timestamp
                {and_months(search.times, "a.consensus_timestamp")}
                and a.payer_account_id = found.payer_account_id {query.where.and_sql}
            order by index {query.direction} limit {query.limit:d}
        ) a on true
        order by index {query.direction}
    """
    rows = fetch(statement, (*search.values, *query.where.values))
    if not rows:
        return _of_synthetic(search)
    return [action for row in rows if (action := ActionRow._make(row)).number is not None]


@actions.distributed
def _distributed_actions(search: Search, query: Query) -> list[ActionRow] | None:
    """Find the transaction first."""
    transaction = fetch_one(search.sql, search.values)
    if transaction is None:
        return _of_synthetic(search)
    timestamp, _, payer = transaction
    # Index: the primary key (consensus_timestamp, index, payer_account_id), on the payer's machine.
    statement = f"""
        select consensus_timestamp, {_COLUMNS} from contract_action a
        where consensus_timestamp = %s and payer_account_id = %s
            {and_months(search.times, "consensus_timestamp")} {query.where.and_sql}
        order by index {query.direction} limit {query.limit:d}
    """
    return [ActionRow._make(row) for row in fetch(statement, (timestamp, payer, *query.where.values))]


def _of_synthetic(search: Search) -> list[ActionRow] | None:
    """Return the actions of a synthetic result, which are none; None if there is no such result either."""
    return None if synthetic.find(search) is None else []
