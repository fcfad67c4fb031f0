"""Contract results where tables are distributed: the results first, then what belongs to them.

Results are with their contract, Ethereum transactions with their payer, and blocks on the coordinator.
"""

from collections.abc import Sequence

from contracts.queries import ethereum, result_rows
from contracts.queries.result_rows import (
    SYNTHETIC_COLUMNS,
    Result,
    ResultBlock,
    Senders,
    result_columns,
    synthetic_index,
)
from contracts.queries.searches import Search
from mirror.core.db.reading.by_month import and_months
from mirror.core.db.reading.query import Bounds, Query
from mirror.core.db.reading.scans import usable_indexes
from mirror.core.db.reading.sql import NOTHING, Row, Where, fetch, fetch_one

_RESULT = result_columns("null::bytea")


def results(
    query: Query,
    senders: Senders,
    synthetic_query: Query | None,
    of_contract: Where = NOTHING,
    contract_id: int | None = None,
) -> list[Result]:
    """Return a page of results by consensus timestamp, and synthetic results among them."""
    results = _page(query.filter(of_contract), senders)
    if synthetic_query is not None:
        results += _synthetic(synthetic_query, contract_id, results)
        results.sort(key=lambda result: result.consensus_timestamp, reverse=query.descending)
        results = results[: query.limit]
    return _with_addresses(results)


def full_results(
    query: Query, senders: Senders, synthetic_query: Query | None, times: Bounds, max_block_ns: int
) -> list[Result]:
    """Return the same of all contracts with their blocks and Ethereum transactions."""
    return _with_the_rest(results(query, senders, synthetic_query), times, max_block_ns)


def _page(query: Query, senders: Senders) -> list[Result]:
    # Indexes: the primary key, which begins with the time; of one contract contract_result__id_timestamp
    # (contract_id, consensus_timestamp); of senders contract_result__sender_timestamp (sender_id,
    # consensus_timestamp) or contract_result__id_sender_timestamp with the contract before.
    if isinstance(senders, Bounds):
        query = query.filter(senders.where("sender_id + 0"))
    elif senders is not None:
        query = query.filter(Where(("sender_id = any(%s)",), (list(senders),)))
    statement = f"""
        select {_RESULT} from contract_result r {query.where.sql}
        order by consensus_timestamp {query.direction} limit {query.limit:d}
    """
    return [Result(*row) for row in fetch(statement, query.where.values)]


def _synthetic(query: Query, contract_id: int | None, real: Sequence[Result]) -> list[Result]:
    """Return the synthetic results of a page, as far as its own results leave room for them."""
    # Indexes: contract_log__synthetic_timestamp (consensus_timestamp, index) of the synthetic logs, or
    # contract_log__synthetic_contract_timestamp with the contract before.
    if not usable_indexes([synthetic_index(contract_id)]):
        return []
    beyond, until = ("<", ">=") if query.descending else (">", "<=")
    where = Where(("synthetic",)) + query.where
    if len(real) == query.limit:
        where += Where((f"l.consensus_timestamp {until} %s",), (real[-1].consensus_timestamp,))
    results: list[Result] = []
    rest = where
    while True:
        statement = f"""
            select distinct on (l.consensus_timestamp) {SYNTHETIC_COLUMNS} from contract_log l {rest.sql}
            order by l.consensus_timestamp {query.direction}, index limit {query.limit:d}
        """
        first = [Result(*row) for row in fetch(statement, rest.values)]
        # Of a time that has a result, that alone is shown.
        own = _times_with_results([result.consensus_timestamp for result in first])
        results += [result for result in first if result.consensus_timestamp not in own]
        if len(first) < query.limit or len(results) >= query.limit:
            return results
        rest = where + Where((f"l.consensus_timestamp {beyond} %s",), (first[-1].consensus_timestamp,))


def _times_with_results(times: Sequence[int]) -> set[int]:
    """Return those of the times that have a result."""
    if not times:
        return set()
    # Index: the primary key, which begins with the time, on all machines.
    rows = fetch(
        "select consensus_timestamp from contract_result where consensus_timestamp = any(%s)", (list(times),)
    )
    return {at for (at,) in rows}


def _with_addresses(results: Sequence[Result]) -> list[Result]:
    addresses = result_rows.evm_addresses(result.contract_id for result in results)
    return [result._replace(evm_address=addresses.get(result.contract_id)) for result in results]


def _with_the_rest(results: Sequence[Result], times: Bounds, max_block_ns: int) -> list[Result]:
    """Return results with their Ethereum transactions and blocks."""
    keys = [(result.consensus_timestamp, result.payer_account_id) for result in results]
    transactions = result_rows.ethereum_transactions(keys, times)
    blocks = result_rows.blocks([at for at, _ in keys], max_block_ns)
    return [
        _full(result, blocks.get(result.consensus_timestamp), transactions.get(result.consensus_timestamp))
        for result in results
    ]


def _full(result: Result, block: Row | None, transaction: Row | None) -> Result:
    return result._replace(
        block=None if block is None else ResultBlock(*block),
        ethereum=None if transaction is None else ethereum.from_row(transaction),
    )


def result_of(search: Search) -> tuple[Result, list[int]] | None:
    """Return the result of a contract transaction, and the ids of all that took part in it."""
    key = fetch_one(search.sql, search.values)
    if key is None:
        return None
    time, entity_id, payer = key
    # Index: the primary key (consensus_timestamp, entity_id), on the entity's machine.
    transaction = fetch_one(
        f"""
        select contract_ids from contract_transaction
        where consensus_timestamp = %s and entity_id = %s {and_months(search.times, "consensus_timestamp")}
        """,
        (time, entity_id),
    )
    contract_ids = [0] if transaction is None else transaction[0]
    # Index: the primary key, which begins with the time, on the machines of these contracts.
    row = fetch_one(
        f"""
        select {_RESULT} from contract_result r
        where r.consensus_timestamp = %s and r.contract_id = any(%s)
            {and_months(search.times, "r.consensus_timestamp")}
        """,
        (time, contract_ids),
    )
    if row is None:
        return None
    (result,) = _with_addresses([Result(*row)])
    wrapped = result_rows.ethereum_transactions([(time, payer)], search.times, one=True)
    return _full(result, result_rows.blocks([time]).get(time), wrapped.get(time)), contract_ids
