"""Contract results: pages of them; one by hash, by transaction id, or by contract and time."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from contracts.queries import distributed_results as distributed
from contracts.queries import ethereum, synthetic
from contracts.queries.result_rows import (
    RESULT_LENGTH,
    SYNTHETIC,
    Native,
    Result,
    ResultBlock,
    Senders,
    result_columns,
)
from contracts.queries.searches import Search
from ledger.queries import files
from ledger.queries.account_pages import min_max
from ledger.queries.chain_ids import chain_id
from ledger.queries.fee_schedules import gas_prices
from ledger.queries.system_files import LAST_SYSTEM_FILE_NUM
from ledger.queries.timestamp_ranges import bound, nanoseconds
from mirror.core import config
from mirror.core.db.distribution import choose, distributable
from mirror.core.db.reading.by_month import and_months
from mirror.core.db.reading.query import Bounds, Query, Statement
from mirror.core.db.reading.scans import FIRST_NANOS, distinct_values, walk
from mirror.core.db.reading.sql import Comparison, Row, Where, compare, fetch, fetch_one
from mirror.core.values import entity_id, hexadecimal
from mirror.core.values.hapi import result_codes

_RESULT = result_columns("e.evm_address")
_BLOCK = "b.index, b.hash, b.gas_used"
_ETHEREUM = RESULT_LENGTH + len(ResultBlock._fields)

_DEFAULT_CHAIN_ID = 0x128
_HOOKS_NUM = 365  # of the contract that all hooks are called at
# A page reads the first results of so many senders one by one.
_MAX_SENDERS = 100
_RAN = Where((f"transaction_result <> {result_codes.WRONG_NONCE}",))


class ResultSelection(NamedTuple):
    """The results of a list: times, block (its number, or how its hash begins), contract and senders."""

    timestamps: Bounds
    block: int | str | None = None
    contract_id: int | None = None
    senders: Bounds | None = None
    transaction_indexes: Sequence[Comparison] = ()


Page = tuple[list[Result], int | None]
"""Results by time, and the time after which the next page continues if this one ended early."""


def results(selection: ResultSelection, query: Query) -> Page:
    """Return a page of results that ran, with synthetic ones; the conditions are on contract_result."""
    times = _times(selection)
    if times.empty:
        return [], None
    senders, of_contract = _senders(selection), _by_contract(selection)

    def read(part: Bounds) -> list[Result]:
        within, synthetic_query = _between(query, part), _synthetic_query(query, selection, part)
        return _results(within, senders, synthetic_query, of_contract, selection.contract_id)

    rows, continue_at = _walk(read, times, query)
    return synthetic.with_blooms(rows), continue_at


def full_results(selection: ResultSelection, query: Query) -> tuple[list[Result], Native, int | None]:
    """Return the same with their blocks and Ethereum transactions."""
    times = _times(selection)
    if times.empty:
        return [], _native([]), None
    times, cut_at = bound(times, descending=query.descending)
    senders = _senders(selection)
    max_block_ns = nanoseconds("rest.query.maxRecordFileCloseInterval")

    def read(part: Bounds) -> list[Result]:
        within, synthetic_query = _between(query, part), _synthetic_query(query, selection, part)
        return _full_results(within, senders, synthetic_query, part, max_block_ns)

    rows, continue_at = _walk(read, times, query)
    if continue_at is None and len(rows) < query.limit:
        continue_at = cut_at
    return synthetic.with_blooms(rows), _native(rows), continue_at


def not_internal() -> Where:
    """Return the condition of results that no other result of the list stands for.

    The call of a hook is one if the transfer that caused it has no logs, as the call then has a position of
    its own. Distributed tables aren't joined: there each call of a hook is one.
    """
    # Indexes: the primary keys of transaction and contract_log, for calls of hooks alone. For `not exists`
    # PostgreSQL might read all transactions.
    without_logs = """
        and (
            select 1 from transaction t
            join contract_log l on l.consensus_timestamp = t.parent_consensus_timestamp
            where t.consensus_timestamp = contract_result.consensus_timestamp limit 1
        ) is null"""
    condition = f"(transaction_nonce = 0 or contract_id = %s {choose(without_logs, distributed='')})"
    return Where((condition,), (config.own_id(_HOOKS_NUM),))


def _native(results: Sequence[Result]) -> Native:
    times = [result.consensus_timestamp for result in results if result.ethereum is None]
    return Native(_chain_id(), gas_prices(times)) if times else Native("", {})


def _chain_id() -> str:
    """Return the chain id of the setting, or else of the network, in hex."""
    configured: str | None = config.value("rest.chainId")
    return configured or hex(chain_id() or _DEFAULT_CHAIN_ID)


def _walk(read: Callable[[Bounds], Sequence[Result]], times: Bounds, query: Query) -> Page:
    return walk(read, times, query, ends=_time_range, first=FIRST_NANOS)


def _times(selection: ResultSelection) -> Bounds:
    """Return the range that the timestamps and the block leave."""
    times, block = selection.timestamps, selection.block
    if block is None:
        return times
    # Indexes: record_file__index (index); record_file__hash (hash), which a range can use and LIKE with a
    # parameter can't. "g" comes after all hex digits.
    if isinstance(block, str):
        where = Where(("hash >= %s and hash < %s",), (block, block + "g"))
    else:
        where = Where(("index = %s",), (block,))
    statement = f"select consensus_start, consensus_end from record_file {where.sql} limit 1"
    row = fetch_one(statement, where.values)
    if row is None:
        return Bounds(1, 0)
    start, end = row
    lower = start if times.lower is None else max(start, times.lower)
    return times.between(lower, end if times.upper is None else min(end, times.upper))


def _between(query: Query, times: Bounds) -> Query:
    """Return the query of the results at these times."""
    return query.filter(_where_timestamp(times) + _RAN)


def _by_contract(selection: ResultSelection) -> Where:
    # The id 0 is that of results without a contract, which only the list of all results has.
    if not selection.contract_id:
        return Where()
    return compare("contract_id", [Comparison("eq", selection.contract_id)])


def _where_timestamp(times: Bounds) -> Where:
    where = compare("consensus_timestamp", [Comparison("eq", at) for at in sorted(times.equal)])
    return where + Bounds(times.lower, times.upper, unequal=times.unequal).where("consensus_timestamp")


def _synthetic_query(query: Query, selection: ResultSelection, times: Bounds) -> Query | None:
    """Return the query of the synthetic results at these times; None if the list has none.

    Conditions on the nonce and the result do not count for them. A list of one sender has none.
    """
    if selection.senders is not None or not config.value("rest.query.syntheticContractResults"):
        return None
    index = compare("transaction_index", selection.transaction_indexes)
    where = _by_contract(selection) + index + _where_timestamp(times)
    return Query(where, query.descending, query.limit)


def _senders(selection: ResultSelection) -> Senders:
    """Return the senders one by one where a range has few, of a contract or of all."""
    senders = selection.senders
    if senders is None:
        return None
    if senders.equal:
        return sorted(senders.equal_within - senders.unequal)
    if senders.lower is None and senders.upper is None:
        return senders
    # Indexes: contract_result__sender_timestamp (sender_id, consensus_timestamp), or
    # contract_result__id_sender_timestamp with the contract before.
    of_contract = _by_contract(selection)
    values = distinct_values("contract_result", "sender_id", senders, _MAX_SENDERS, where=of_contract)
    return senders if values is None else values


def _time_range() -> tuple[int, int] | None:
    """Return the time of the first and of the last result, synthetic ones included."""
    # Indexes: the primary keys (consensus_timestamp) and (consensus_timestamp, index).
    ends = [min_max(table, "consensus_timestamp") for table in ("contract_result", "contract_log")]
    known = list(filter(None, ends))
    return (min(first for first, _ in known), max(last for _, last in known)) if known else None


@distributable
def _results(
    query: Query,
    senders: Senders,
    synthetic_query: Query | None,
    of_contract: Where,
    contract_id: int | None,
) -> list[Result]:
    part = _merged(_page(query, senders, of_contract), synthetic_query, contract_id)
    # Index of the entity: the primary key (id).
    statement = f"""
        select {_RESULT} from ({part.sql}) r left join entity e on e.id = r.contract_id
        order by r.consensus_timestamp {query.direction}
    """
    return [Result(*row) for row in fetch(statement, part.values)]


_results.distributed(distributed.results)


@distributable
def _full_results(
    query: Query, senders: Senders, synthetic_query: Query | None, times: Bounds, max_block_ns: int
) -> list[Result]:
    """Return results of `times` with their transactions, and blocks that end until `max_block_ns` after."""
    part = _merged(_page(query, senders, Where()), synthetic_query, None)
    # Indexes: of the entity, the Ethereum transaction and the block the primary keys (id,
    # consensus_timestamp, consensus_end).
    statement = f"""
        select {_RESULT}, {_BLOCK}, {ethereum.COLUMNS}
        from (select *, max(consensus_timestamp) over () as last from ({part.sql}) page) r
        left join entity e on e.id = r.contract_id
        left join ethereum_transaction t
            on t.consensus_timestamp = r.consensus_timestamp and t.payer_account_id = r.payer_account_id
                {and_months(times, "t.consensus_timestamp")}
        left join lateral (
            select * from record_file where consensus_end >= r.consensus_timestamp
            order by consensus_end limit 1
        ) b on b.consensus_start <= r.consensus_timestamp and b.consensus_end <= r.last + %s
        order by r.consensus_timestamp {query.direction}
    """
    return [_full(row) for row in fetch(statement, (*part.values, max_block_ns))]


_full_results.distributed(distributed.full_results)


def _full(row: Row) -> Result:
    columns = row[RESULT_LENGTH:_ETHEREUM]
    block = None if columns[0] is None else ResultBlock(*columns)
    return Result._make((*row[:RESULT_LENGTH], block, ethereum.from_row(row[_ETHEREUM:])))


def _page(query: Query, senders: Senders, of_contract: Where) -> Statement:
    # Indexes: the primary key (consensus_timestamp); of one contract contract_result__id_timestamp
    # (contract_id, consensus_timestamp); of one sender contract_result__sender_timestamp (sender_id,
    # consensus_timestamp) or contract_result__id_sender_timestamp with the contract before.
    end = f"order by consensus_timestamp {query.direction} limit {query.limit:d}"
    if senders is None or isinstance(senders, Bounds):
        # Many senders are found by time. The expression prevents PostgreSQL from sorting all their results.
        where = of_contract + query.where
        if senders is not None:
            where += senders.where("sender_id + 0")
        return Statement(f"select * from contract_result {where.sql} {end}", where.values)
    where, lead = Where(("sender_id = sender.id",)), ""
    if of_contract.conditions:
        # `any`, and an order that starts with both columns, as for `=` PostgreSQL may read all of a sender's.
        both = "contract_id = any(array[%s])", "sender_id = any(array[sender.id])"
        where = Where(both, of_contract.values)
        lead = f"contract_id {query.direction}, sender_id {query.direction},"
    where += query.where
    sql = f"""
        select of_sender.* from unnest(%s::bigint[]) as sender (id)
        cross join lateral (
            select * from contract_result {where.sql}
            order by {lead} consensus_timestamp {query.direction} limit {query.limit:d}
        ) of_sender
        {end}
    """
    return Statement(sql, (list(senders), *where.values))


_NAMED_COLUMNS = ", ".join(SYNTHETIC)


def _merged(part: Statement, synthetic_query: Query | None, contract_id: int | None) -> Statement:
    """Return the page with synthetic results: of a time that has a result, that alone is shown."""
    if synthetic_query is None:
        return part
    # Each source is a page of its own, so that it stops early, and the time has the same type in both, so
    # that they are merged without sorting.
    sql = f"""
        (select {_NAMED_COLUMNS} from ({part.sql}) real)
        union all
        ({synthetic.page(synthetic_query, contract_id)})
        order by consensus_timestamp {synthetic_query.direction} limit {synthetic_query.limit:d}
    """
    return Statement(sql, (*part.values, *synthetic_query.where.values))


class Details(NamedTuple):
    """The parts of a single result: its logs and state changes, and call data from a file."""

    logs: list[Row]
    state_changes: list[Row]
    call_data: bytes | None


def result_of(search: Search, *, contract_id: int = 0) -> tuple[Result, Details, Native] | None:
    """Return the result of a transaction with its details; `contract_id` if the request names one."""
    row = _find_result(search)
    if row is None:
        return _synthetic_result(search, contract_id)
    result, contract_ids = row
    at = result.consensus_timestamp
    changes = _state_changes_at(at, contract_ids, migrated=contract_id)
    details = Details(_logs_at(at, contract_ids), changes, _file_call_data(result))
    return result, details, _native([result])


def _synthetic_result(search: Search, contract_id: int) -> tuple[Result, Details, Native] | None:
    result = synthetic.find(search, contract_id)
    if result is None:
        return None
    logs = _logs_at(result.consensus_timestamp)
    bloom = synthetic.united([bloom for _, bloom, *_ in logs])
    return synthetic.with_block(result)._replace(bloom=bloom), Details(logs, [], None), _native([result])


def _file_call_data(result: Result) -> bytes | None:
    """Return the call data of an Ethereum transaction that has them in a file: what that held at its time."""
    ethereum = result.ethereum
    if ethereum is None or ethereum.call_data or ethereum.call_data_id is None or result.function_parameters:
        return None
    if entity_id.decode(ethereum.call_data_id)[2] <= LAST_SYSTEM_FILE_NUM:
        return None
    content = files.content(ethereum.call_data_id, result.consensus_timestamp)
    try:
        # A file has them as hex; what is none is shown as it is.
        return None if content is None else hexadecimal.parse(content.decode("ascii").strip())
    except (UnicodeDecodeError, hexadecimal.InvalidHex):
        return content


@distributable
def _find_result(search: Search) -> tuple[Result, list[int]] | None:
    """Return a result and all that took part in it; the contract is 0 if the checks failed."""
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
                {and_months(search.times, "c.consensus_timestamp")}
        join contract_result r
            on r.consensus_timestamp = found.consensus_timestamp
                and r.contract_id = any(coalesce(c.contract_ids, '{{0}}'))
                {and_months(search.times, "r.consensus_timestamp")}
        left join entity e on e.id = r.contract_id
        left join ethereum_transaction t
            on t.consensus_timestamp = found.consensus_timestamp
                and t.payer_account_id = found.payer_account_id
                {and_months(search.times, "t.consensus_timestamp")}
        left join lateral (
            select * from record_file where consensus_end >= found.consensus_timestamp
            order by consensus_end limit 1
        ) b on true
        """,
        search.values,
    )
    return None if row is None else (_full(row[1:]), row[0])


_find_result.distributed(distributed.result_of)


def _logs_at(consensus_timestamp: int, contract_ids: Sequence[int] | None = None) -> list[Row]:
    """Return evm_address, bloom, contract_id, data, index and the four topics of a transaction's logs."""
    # Indexes: the primary keys (consensus_timestamp, index) and (id).
    times = Bounds(consensus_timestamp, consensus_timestamp)
    of_contracts = (
        Where() if contract_ids is None else Where(("l.contract_id = any(%s)",), (list(contract_ids),))
    )
    return fetch(
        f"""
        select e.evm_address, l.bloom, l.contract_id, l.data, l.index, l.topic0, l.topic1, l.topic2, l.topic3
        from contract_log l left join entity e on e.id = l.contract_id
        where l.consensus_timestamp = %s {and_months(times, "l.consensus_timestamp")}
            {of_contracts.and_sql} order by l.index
        """,
        (consensus_timestamp, *of_contracts.values),
    )


def _state_changes_at(
    consensus_timestamp: int, contract_ids: Sequence[int], *, migrated: int = 0
) -> list[Row]:
    """Return a transaction's state changes; of those by a migration only the contract `migrated`'s."""
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
