"""Contract results: pages of them; one by hash, by transaction id, or by contract and time."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from contracts.queries import ethereum
from contracts.queries.ethereum import Ethereum
from contracts.queries.searches import Search
from mirror.core.db.distribution import is_distributed
from mirror.core.db.partitions.reading import also
from mirror.core.db.reading.sql import Comparison, Row, Where, compare, fetch, fetch_one
from mirror.core.db.sql.bounds import Bounds
from mirror.core.db.sql.loose_index_scan import different_values
from mirror.core.db.sql.query import Query

_RESULT = """
    r.amount, r.bloom, r.call_result, r.consensus_timestamp, r.contract_id, r.created_contract_ids,
    r.error_message, e.evm_address, r.failed_initcode, r.function_parameters,
    case when r.sender_id is null then r.function_result end, r.gas_consumed, r.gas_limit, r.gas_used,
    r.sender_id, r.transaction_hash, r.transaction_index, r.transaction_result, r.payer_account_id
"""
_BLOCK = "b.index, b.hash, b.gas_used"


class Block(NamedTuple):
    number: int
    hash: str
    gas_used: int | None


class Result(NamedTuple):
    """One contract result, with its block and Ethereum transaction where a query reads them."""

    amount: int | None
    bloom: bytes | None
    call_result: bytes | None
    consensus_timestamp: int
    contract_id: int
    created_contract_ids: list[int] | None
    error_message: str | None
    evm_address: bytes | None
    failed_initcode: bytes | None
    function_parameters: bytes | None
    function_result: bytes | None
    gas_consumed: int | None
    gas_limit: int
    gas_used: int | None
    sender_id: int | None
    transaction_hash: bytes | None
    transaction_index: int | None
    transaction_result: int
    payer_account_id: int
    block: Block | None = None
    ethereum: Ethereum | None = None


_SUCCESS = 22
RESULT_LENGTH = len(Result._fields) - 2
_ETHEREUM = RESULT_LENGTH + len(Block._fields)


# The senders of a list: accounts, or what they have to meet if they are too many to name; None for all.
Senders = Sequence[int] | Bounds | None
# A page reads the first results of so many senders one by one.
_MOST_SENDERS = 100


def existing(senders: Bounds | None, contract_id: int | None = None) -> Senders:
    """Return the senders one by one where a range has few, of a contract or of all."""
    if senders is None:
        return None
    if senders.equal:
        return sorted(senders.equal_within - senders.unequal)
    if senders.lower is None and senders.upper is None:
        return senders
    # Indexes: contract_result__sender_timestamp (sender_id, consensus_timestamp), or
    # contract_result__id_sender_timestamp with the contract before.
    of_contract = Where() if contract_id is None else compare("contract_id", [Comparison("eq", contract_id)])
    found = different_values("contract_result", "sender_id", senders, _MOST_SENDERS, where=of_contract)
    return senders if found is None else found


def first_and_last() -> tuple[int, int] | None:
    """Return the time of the first and of the last result, synthetic ones included."""
    # Indexes: the primary keys (consensus_timestamp) and (consensus_timestamp, index).
    rows = fetch(
        """
        select min(consensus_timestamp), max(consensus_timestamp) from contract_result
        union all
        select min(consensus_timestamp), max(consensus_timestamp) from contract_log
        """
    )
    ends = [row for row in rows if row[0] is not None]
    return (min(first for first, _ in ends), max(last for _, last in ends)) if ends else None


def results(query: Query, senders: Senders) -> list[Result]:
    """Return a page of results by consensus timestamp; the query's conditions are on contract_result."""
    if is_distributed():
        from contracts.queries.distributed import results as distributed

        return distributed.results(query, senders)
    # Index of the entity: the primary key (id).
    part = _page(query, senders)
    statement = f"""
        select {_RESULT} from ({part.sql}) r left join entity e on e.id = r.contract_id
        order by r.consensus_timestamp {query.direction}
    """
    return [Result(*row) for row in fetch(statement, part.values)]


def full_results(
    query: Query, senders: Senders, *, times: Bounds, synthetic: Query | None, longest_block: int
) -> list[Result]:
    """Return the same with their blocks and Ethereum transactions, and synthetic results among them.

    All are of `times`. The conditions of `synthetic` are on contract_log. A block that ends more than
    `longest_block` nanoseconds after the page's last result is not shown.
    """
    if is_distributed():
        from contracts.queries.distributed import results as distributed

        return distributed.full_results(query, senders, times, synthetic, longest_block=longest_block)
    # Indexes: of the entity, the Ethereum transaction and the block the primary keys (id,
    # consensus_timestamp, consensus_end).
    part = _page(query, senders)
    if synthetic is not None:
        part = _merged(part, query, synthetic)
    statement = f"""
        select {_RESULT}, {_BLOCK}, {ethereum.COLUMNS}
        from (select *, max(consensus_timestamp) over () as last from ({part.sql}) page) r
        left join entity e on e.id = r.contract_id
        left join ethereum_transaction t
            on t.consensus_timestamp = r.consensus_timestamp and t.payer_account_id = r.payer_account_id
                {also(times, "t.consensus_timestamp")}
        left join lateral (
            select * from record_file where consensus_end >= r.consensus_timestamp
            order by consensus_end limit 1
        ) b on b.consensus_start <= r.consensus_timestamp and b.consensus_end <= r.last + %s
        order by r.consensus_timestamp {query.direction}
    """
    return [_full(row) for row in fetch(statement, (*part.values, longest_block))]


def _full(row: Row) -> Result:
    columns = row[RESULT_LENGTH:_ETHEREUM]
    block = None if columns[0] is None else Block(*columns)
    return Result._make((*row[:RESULT_LENGTH], block, ethereum.of_row(row[_ETHEREUM:])))


class _Part(NamedTuple):
    sql: str
    values: tuple[Any, ...]


def _page(query: Query, senders: Senders) -> _Part:
    # Indexes: the primary key (consensus_timestamp); of one contract contract_result__id_timestamp
    # (contract_id, consensus_timestamp); of one sender contract_result__sender_timestamp (sender_id,
    # consensus_timestamp) or contract_result__id_sender_timestamp with the contract before.
    end = f"order by consensus_timestamp {query.direction} limit {query.limit:d}"
    if senders is None or isinstance(senders, Bounds):
        # Many senders are found by time. The expression keeps PostgreSQL from sorting all their results.
        where = query.where if senders is None else query.where + senders.where("sender_id + 0")
        return _Part(f"select * from contract_result {where.sql} {end}", where.values)
    if len(senders) == 1:
        where = query.where + compare("sender_id", [Comparison("eq", senders[0])])
        return _Part(f"select * from contract_result {where.sql} {end}", where.values)
    sql = f"""
        select of_sender.* from unnest(%s::bigint[]) as sender (id)
        cross join lateral (
            select * from contract_result where sender_id = sender.id {query.where.and_sql} {end}
        ) of_sender
        {end}
    """
    return _Part(sql, (list(senders), *query.where.values))


# The columns of a synthetic result: a successful call of the token that was moved, by whoever paid.
SYNTHETIC = {
    "amount": "null::bigint",
    "bloom": "null::bytea",
    "call_result": "null::bytea",
    "consensus_timestamp": "l.consensus_timestamp::nanos_timestamp",
    "contract_id": "coalesce(root_contract_id, contract_id)::bigint",
    "created_contract_ids": "null::bigint[]",
    "error_message": "null::text",
    "failed_initcode": "null::bytea",
    "function_parameters": "null::bytea",
    "function_result": "null::bytea",
    "gas_consumed": "null::bigint",
    "gas_limit": "0::bigint",
    "gas_used": "null::bigint",
    "sender_id": "payer_account_id::bigint",
    "transaction_hash": "transaction_hash",
    "transaction_index": "transaction_index",
    "transaction_result": f"{_SUCCESS}::smallint",
    "payer_account_id": "payer_account_id::bigint",
}


_RESULT_COLUMNS = ", ".join(SYNTHETIC)
_SYNTHETIC_COLUMNS = ", ".join(f"{expression} as {name}" for name, expression in SYNTHETIC.items())


# In a database that an older release has filled the index is built during use; without it all logs would be
# read. PostgreSQL asks this once for each statement, before anything of the table is read.
_INDEX_IS_BUILT = """
    (select indisvalid from pg_index where indexrelid = to_regclass('contract_log__synthetic_timestamp'))"""


def _merged(part: _Part, query: Query, synthetic: Query) -> _Part:
    """Return the page with synthetic results: of a time that has a result, that alone is shown."""
    # Indexes: contract_log__synthetic_timestamp (consensus_timestamp, index) of the synthetic logs; the
    # primary key (consensus_timestamp) of results. Each source is a page of its own, so that it stops early,
    # and the time has the same type in both, so that they are merged without sorting. The result is asked for
    # by a sub-select, as a join may read all results down to a transfer of long ago.
    end = f"{query.direction} limit {query.limit:d}"
    sql = f"""
        (select {_RESULT_COLUMNS} from ({part.sql}) real)
        union all
        (
            select distinct on (l.consensus_timestamp) {_SYNTHETIC_COLUMNS}
            from contract_log l
            where {_INDEX_IS_BUILT} and synthetic {synthetic.where.and_sql} and (
                select 1 from contract_result r
                where r.consensus_timestamp = l.consensus_timestamp {query.where.and_sql}
            ) is null
            order by l.consensus_timestamp {query.direction}, index {end}
        )
        order by consensus_timestamp {end}
    """
    return _Part(sql, (*part.values, *synthetic.where.values, *query.where.values))


def times_of_block(*, number: int | None = None, hash_start: str | None = None) -> tuple[int, int] | None:
    """Return the first and last consensus timestamp of a block, by number or the first digits of its hash."""
    # Indexes: record_file__index (index); record_file__hash (hash), which a range can use and LIKE with a
    # parameter can't. "g" comes after all hex digits.
    if hash_start is not None:
        where = Where(("hash >= %s and hash < %s",), (hash_start, hash_start + "g"))
    else:
        where = Where(("index = %s",), (number,))
    statement = f"select consensus_start, consensus_end from record_file {where.sql} limit 1"
    row = fetch_one(statement, where.values)
    return None if row is None else (row[0], row[1])


def result_of(search: Search) -> tuple[Result, list[int]] | None:
    """Return the result of a contract transaction, and the ids of all that took part in it.

    In one that failed its checks no contract took part: its result has the contract 0.
    """
    if is_distributed():
        from contracts.queries.distributed import results as distributed

        return distributed.result_of(search)
    # Indexes: the primary keys (consensus_timestamp, entity_id), (consensus_timestamp), (id),
    # (consensus_end).
    row = fetch_one(
        f"""
        with found as materialized ({search.sql})
        select coalesce(c.contract_ids, '{{0}}'), {_RESULT}, {_BLOCK},
            {ethereum.COLUMNS}, {ethereum.COLUMNS_OF_ONE}
        from found
        left join contract_transaction c
            on c.consensus_timestamp = found.consensus_timestamp and c.entity_id = found.entity_id
                {also(search.times, "c.consensus_timestamp")}
        join contract_result r
            on r.consensus_timestamp = found.consensus_timestamp
                and r.contract_id = any(coalesce(c.contract_ids, '{{0}}'))
                {also(search.times, "r.consensus_timestamp")}
        left join entity e on e.id = r.contract_id
        left join ethereum_transaction t
            on t.consensus_timestamp = found.consensus_timestamp
                and t.payer_account_id = found.payer_account_id
                {also(search.times, "t.consensus_timestamp")}
        left join lateral (
            select * from record_file where consensus_end >= found.consensus_timestamp
            order by consensus_end limit 1
        ) b on true
        """,
        search.values,
    )
    return None if row is None else (_full(row[1:]), row[0])


def logs_at(consensus_timestamp: int, contract_ids: Sequence[int]) -> list[Row]:
    """Return evm_address, bloom, contract_id, data, index and the four topics of a transaction's logs."""
    # Indexes: the primary keys (consensus_timestamp, index) and (id).
    times = Bounds(consensus_timestamp, consensus_timestamp)
    return fetch(
        f"""
        select e.evm_address, l.bloom, l.contract_id, l.data, l.index, l.topic0, l.topic1, l.topic2, l.topic3
        from contract_log l left join entity e on e.id = l.contract_id
        where l.consensus_timestamp = %s {also(times, "l.consensus_timestamp")} and l.contract_id = any(%s)
        order by l.index
        """,
        (consensus_timestamp, list(contract_ids)),
    )


def state_changes_at(
    consensus_timestamp: int, contract_ids: Sequence[int], *, migrated: int = 0
) -> list[Row]:
    """Return evm_address, contract_id, slot, value_read and value_written of a transaction's changes.

    Changes by a migration of the state are left out, except those of the contract `migrated`.
    """
    # Indexes: the primary keys (consensus_timestamp, contract_id, slot) and (id).
    return fetch(
        """
        select e.evm_address, s.contract_id, s.slot, s.value_read, s.value_written
        from contract_state_change s left join entity e on e.id = s.contract_id
        where s.consensus_timestamp = %s and s.contract_id = any(%s)
            and (not s.migration or s.contract_id = %s)
        order by s.contract_id, s.slot
        """,
        (consensus_timestamp, [*contract_ids, migrated], migrated),
    )
