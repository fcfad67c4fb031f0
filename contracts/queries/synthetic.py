"""Synthetic results: transactions with synthetic logs, shown as calls of their tokens by the payer.

A transaction with such logs and without a contract result has one result for each token. Unless the request
names a contract, the result is for the token of the first log.
"""

from collections.abc import Sequence

from contracts.queries import result_rows
from contracts.queries.result_rows import SYNTHETIC, SYNTHETIC_COLUMNS, Result, ResultBlock, synthetic_index
from contracts.queries.searches import Search
from mirror.core import config
from mirror.core.db.reading.by_month import and_months, time_bounds
from mirror.core.db.reading.query import Query
from mirror.core.db.reading.sql import Where, fetch
from mirror.core.values import log_bloom

_NAMED_COLUMNS = ", ".join(f"{expression} as {name}" for name, expression in SYNTHETIC.items())

# In a database that an older release has filled the index is built during use; without it all logs would be
# read. PostgreSQL evaluates this once for each statement, before it reads the table.
_INDEX_IS_BUILT = "(select indisvalid from pg_index where indexrelid = to_regclass('{index}'))"


def page(query: Query, contract_id: int | None) -> str:
    """Return the statement of a page of synthetic results, with the values of the query."""
    # Indexes: contract_log__synthetic_timestamp (consensus_timestamp, index) of the synthetic logs, or
    # contract_log__synthetic_contract_timestamp with the contract before; the primary key of results. The
    # result is read by a sub-select, as a join may read all results down to a transfer of long ago.
    index_is_built = _INDEX_IS_BUILT.format(index=synthetic_index(contract_id))
    return f"""
        select distinct on (l.consensus_timestamp) {_NAMED_COLUMNS}
        from contract_log l
        where {index_is_built} and synthetic {query.where.and_sql} and (
            select 1 from contract_result r where r.consensus_timestamp = l.consensus_timestamp
        ) is null
        order by l.consensus_timestamp {query.direction}, index limit {query.limit:d}
        """


def with_blooms(results: Sequence[Result]) -> list[Result]:
    """Return the results, and set the bloom of each synthetic one to the union of its logs' blooms."""
    times = [result.consensus_timestamp for result in results if result.is_synthetic]
    if not times:
        return list(results)
    # Index: the primary key (consensus_timestamp, index).
    rows = fetch(
        f"""
        select consensus_timestamp, array_agg(bloom) from contract_log
        where consensus_timestamp = any(%s) {and_months(time_bounds(times), "consensus_timestamp")}
        group by consensus_timestamp
        """,
        (times,),
    )
    blooms = {at: united(of_logs) for at, of_logs in rows}
    return [
        result._replace(bloom=blooms.get(result.consensus_timestamp)) if result.is_synthetic else result
        for result in results
    ]


def united(blooms: Sequence[bytes]) -> bytes | None:
    """Return the union of blooms; None until `manage.py upgrade` has computed all of them."""
    complete = all(len(bloom) == log_bloom.BLOOM_LENGTH for bloom in blooms)
    return log_bloom.union(blooms) if complete else None


def find(search: Search, contract_id: int = 0) -> Result | None:
    """Return the synthetic result of a transaction, of the contract if one is named, without its address."""
    times = search.all_times()
    if not times or not config.value("rest.query.syntheticContractResults"):
        return None
    of_contract = (
        Where(("%s in (contract_id, root_contract_id)",), (contract_id,)) if contract_id else Where()
    )
    # Indexes: the primary keys, which begin with the time. In two steps, as distributed tables aren't joined.
    months = and_months(time_bounds(times), "consensus_timestamp")
    rows = fetch(
        f"""
        select distinct on (consensus_timestamp) {SYNTHETIC_COLUMNS} from contract_log l
        where consensus_timestamp = any(%s) and synthetic {of_contract.and_sql} {months}
        order by consensus_timestamp desc, index
        """,
        (times, *of_contract.values),
    )
    if not rows:
        return None
    with_result = fetch(
        f"select consensus_timestamp from contract_result where consensus_timestamp = any(%s) {months}",
        (times,),
    )
    real = {at for (at,) in with_result}
    results = (Result(*row) for row in rows)
    return next((result for result in results if result.consensus_timestamp not in real), None)


def with_block(result: Result) -> Result:
    """Return a result with its block and the address of its contract."""
    at, contract_id = result.consensus_timestamp, result.contract_id
    block = result_rows.blocks([at]).get(at)
    address = result_rows.evm_addresses([contract_id]).get(contract_id)
    return result._replace(evm_address=address, block=None if block is None else ResultBlock(*block))
