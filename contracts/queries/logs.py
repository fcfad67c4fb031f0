"""Contract logs: pages of them, of one contract or of all; the time of a transaction hash.

A search by topics, or by a contract and topics, is led by the condition that the fewest logs meet. How many
meet each one is counted, but not beyond a few hundred.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from contracts.models.result import TOPIC_PREFIX
from contracts.queries import result_rows
from ledger.queries.account_pages import min_max
from mirror.core.db.distribution import distributable
from mirror.core.db.reading.query import Bounds, PairBounds, Query, Statement, pair_page
from mirror.core.db.reading.scans import FIRST_NANOS, usable_indexes, walk
from mirror.core.db.reading.sql import Row, Where, fetch, fetch_one

PAIR = ("consensus_timestamp", "index")
_SELECT = "select * from contract_log"


class ContractLog(NamedTuple):
    """One log with its block; `number` is its index."""

    evm_address: bytes | None
    bloom: bytes
    contract_id: int
    data: bytes
    number: int
    topics: list[bytes | None]
    block_hash: str | None
    block_number: int | None
    root_contract_id: int | None
    consensus_timestamp: int
    transaction_hash: bytes | None
    transaction_index: int | None


class LogSelection(NamedTuple):
    """The conditions of a list: a contract, and for each topic its alternatives, or none."""

    contract_id: int | None = None
    topics: Sequence[Sequence[bytes]] = ()


def logs(
    bounds: PairBounds, query: Query, selection: LogSelection, *, max_block_ns: int
) -> tuple[list[ContractLog], int | None]:
    """Return a page of logs by time and index, and the time after which to continue if it came to no end.

    A block that ends more than `max_block_ns` nanoseconds after the page's last log is not shown.
    """
    sides = _sides(selection)
    leading = sides[0]
    if any(selection.topics) and not bounds.first.equal:
        leading = _leading(bounds, query, sides)
    return walk(
        lambda times: _read(bounds.within(times), query, leading, sides, max_block_ns, selection.contract_id),
        bounds.first,
        query,
        ends=lambda: min_max("contract_log", "consensus_timestamp"),
        first=FIRST_NANOS,
    )


def _read(
    bounds: PairBounds,
    query: Query,
    leading: "_Side",
    sides: Sequence["_Side"],
    max_block_ns: int,
    contract_id: int | None,
) -> list[ContractLog]:
    return _logs(_page(bounds, query, leading, sides), query, max_block_ns, contract_id)


@distributable
def _logs(page: Statement, query: Query, max_block_ns: int, contract_id: int | None) -> list[ContractLog]:
    # Indexes: of the entity, once for a list of one contract, and of the block the primary keys (id,
    # consensus_end).
    address, entity = "e.evm_address", "left join entity e on e.id = l.contract_id"
    values = page.values
    if contract_id is not None:
        address, entity = "(select evm_address from entity where id = %s)", ""
        values = (contract_id, *values)
    statement = f"""
        select {address}, l.bloom, l.contract_id, l.data, l.index,
            array[l.topic0, l.topic1, l.topic2, l.topic3], b.hash, b.index, l.root_contract_id,
            l.consensus_timestamp, l.transaction_hash, l.transaction_index
        from (select *, max(consensus_timestamp) over () as last from ({page.sql}) page) l
        {entity}
        left join lateral (
            select * from record_file where consensus_end >= l.consensus_timestamp
            order by consensus_end limit 1
        ) b on b.consensus_start <= l.consensus_timestamp and b.consensus_end <= l.last + %s
        order by l.consensus_timestamp {query.direction}, l.index {query.direction}
    """
    return [ContractLog._make(row) for row in fetch(statement, (*values, max_block_ns))]


@_logs.distributed
def _distributed_logs(
    page: Statement, query: Query, max_block_ns: int, contract_id: int | None
) -> list[ContractLog]:
    """Read the logs first, then their contracts and blocks."""
    rows = fetch(
        f"""
        select null::bytea, bloom, contract_id, data, index, array[topic0, topic1, topic2, topic3], null,
            null, root_contract_id, consensus_timestamp, transaction_hash, transaction_index
        from ({page.sql}) page
        order by consensus_timestamp {query.direction}, index {query.direction}
        """,
        page.values,
    )
    logs = [ContractLog._make(row) for row in rows]
    addresses = result_rows.evm_addresses(log.contract_id for log in logs)
    blocks = result_rows.blocks([log.consensus_timestamp for log in logs], max_block_ns)
    complete = []
    for log in logs:
        number, digest, _ = blocks.get(log.consensus_timestamp, (None, None, None))
        address = addresses.get(log.contract_id)
        complete.append(log._replace(evm_address=address, block_hash=digest, block_number=number))
    return complete


# SIDES


class _Side(NamedTuple):
    """A column with its alternatives, which may lead along an index by time; without a column, all logs."""

    column: str
    alternatives: Sequence[Any]

    @property
    def is_topic(self) -> bool:
        return self.column.startswith("topic")

    @property
    def index_name(self) -> str:
        """The index of a topic."""
        return f"contract_log__{self.column}_timestamp"

    @property
    def prefix(self) -> str:
        """The first column of the index of a topic."""
        return f"substring({self.column}, 1, {TOPIC_PREFIX:d})"

    @property
    def where(self) -> Where:
        """The condition while another side leads, in a form that no index has."""
        if self.is_topic:
            return Where((f"{self.column} = any(%s)",), (list(self.alternatives),))
        return Where((f"{self.column} + 0 = %s",), (self.alternatives[0],))


_ALL = _Side("", ())
# Reading this many logs takes no time to speak of.
_FEW = 200
# Of a side with more alternatives the logs are not counted, as that takes long itself.
_MAX_COUNTED = 10


def _sides(selection: LogSelection) -> list[_Side]:
    """Return the sides that may lead; until their indexes are built, topics can't."""
    sides = [
        _Side(f"topic{position:d}", list(dict.fromkeys(alternatives)))
        for position, alternatives in enumerate(selection.topics)
        if alternatives
    ]
    if selection.contract_id is not None:
        sides.insert(0, _Side("contract_id", (selection.contract_id,)))
    return sides or [_ALL]


def _leading(bounds: PairBounds, query: Query, sides: Sequence[_Side]) -> _Side:
    """Return the side with the fewest logs within the bounds."""
    there = usable_indexes([side.index_name for side in sides if side.is_topic])
    able = [side for side in sides if not side.is_topic or side.index_name in there]
    if not able:
        return _ALL
    if len(sides) == 1:
        # Every row that the index has is one of the page.
        return able[0]
    counted = [side for side in able if len(side.alternatives) <= _MAX_COUNTED]
    if not counted:
        return min(able, key=lambda side: len(side.alternatives))
    farthest = "min" if query.descending else "max"
    probe = Query(descending=query.descending, limit=_FEW)
    counts = [
        Statement(f"select count(*), {farthest}(consensus_timestamp) from ({page.sql}) page", page.values)
        for page in (_page(bounds, probe, side, [side]) for side in counted)
    ]
    rows = _counted(counts)
    fewest: int = min(rows, key=lambda row: (row[1], row[2] if query.descending else -(row[2] or 0)))[0]
    return counted[fewest]


@distributable
def _counted(counts: Sequence[Statement]) -> list[Row]:
    return fetch(
        " union all ".join(f"select {place:d}, c.* from ({sql}) c" for place, (sql, _) in enumerate(counts)),
        tuple(value for _, values in counts for value in values),
    )


@_counted.distributed
def _counted_apart(counts: Sequence[Statement]) -> list[Row]:
    # Each on the machines that have it.
    return [(place, *fetch(sql, values)[0]) for place, (sql, values) in enumerate(counts)]


def _page(bounds: PairBounds, query: Query, leading: _Side, sides: Sequence[_Side]) -> Statement:
    """Return a page of the logs that meet all sides, read along the index of the leading one."""
    # Indexes: of all contracts the primary key (consensus_timestamp, index). Of one contract
    # contract_log__contract_id_timestamp_index (contract_id, consensus_timestamp desc, index), where only the
    # logs of the same time are sorted. Of a topic contract_log__topic0_timestamp (substring(topic0, 1, 8),
    # consensus_timestamp, index), and so on. `any`, and an order that starts with the first column, as for
    # `=` PostgreSQL may walk the primary key past all other logs.
    where = Where()
    for side in sides:
        if side is not leading and side is not _ALL:
            where += side.where
    query = query.filter(where)
    column = leading.column
    if leading is _ALL:
        return pair_page(_SELECT, query, bounds, PAIR)
    if not leading.is_topic:
        query = query.filter(Where((f"{column} = any(%s)",), (list(leading.alternatives),)))
        # The index has the time backwards.
        led_by = f"{column} {'asc' if query.descending else 'desc'}"
        return pair_page(_SELECT, query, bounds, PAIR, order_prefix=led_by)
    if len(leading.alternatives) == 1:
        (topic,) = leading.alternatives
        of_topic = Where((f"{leading.prefix} = any(%s)", f"{column} = %s"), ([topic[:TOPIC_PREFIX]], topic))
        led_by = f"{leading.prefix} {query.direction}"
        return pair_page(_SELECT, query.filter(of_topic), bounds, PAIR, order_prefix=led_by)
    return _page_of_topics(bounds, query, leading)


@distributable
def _page_of_topics(bounds: PairBounds, query: Query, leading: _Side) -> Statement:
    """Return a page of the logs with any of several topics."""
    prefixes = [topic[:TOPIC_PREFIX] for topic in leading.alternatives]
    of_each = Where((f"{leading.prefix} = any(array[wanted.prefix])", f"{leading.column} = wanted.topic"))
    led_by = f"{leading.prefix} {query.direction}"
    page = pair_page(_SELECT, query.filter(of_each), bounds, PAIR, order_prefix=led_by)
    return Statement(
        f"""
        select l.* from unnest(%s::bytea[], %s::bytea[]) as wanted (prefix, topic)
        cross join lateral ({page.sql}) l
        order by consensus_timestamp {query.direction}, index {query.direction} limit {query.limit:d}
        """,
        (prefixes, list(leading.alternatives), *page.values),
    )


@_page_of_topics.distributed
def _distributed_page_of_topics(bounds: PairBounds, query: Query, leading: _Side) -> Statement:
    prefixes = [topic[:TOPIC_PREFIX] for topic in leading.alternatives]
    conditions = (f"{leading.prefix} = any(%s)", f"{leading.column} = any(%s)")
    return pair_page(
        _SELECT, query.filter(Where(conditions, (prefixes, list(leading.alternatives)))), bounds, PAIR
    )


def time_of_hash(digest: bytes, timestamps: Bounds, *, descending: bool) -> int | None:
    """Return the first consensus timestamp of a hash of 32 or 48 bytes, in this order and range."""
    # Index: transaction_hash__hash of the partition that the first byte selects. Materialized, as the order
    # and limit would otherwise lead PostgreSQL along another index.
    statement = f"""
        with found as materialized (
            select consensus_timestamp, hash_suffix from transaction_hash
            where mod(get_byte(hash, 0), 32) = %s and substring(hash from 1 for 32) = %s
        )
        select consensus_timestamp from found
        where (%s = '' or hash_suffix = %s) {timestamps.where("consensus_timestamp").and_sql}
        order by consensus_timestamp {"desc" if descending else "asc"} limit 1
    """
    start, suffix = digest[:32], digest[32:]
    values = (digest[0] % 32, start, suffix, suffix, *timestamps.where("consensus_timestamp").values)
    row = fetch_one(statement, values)
    return None if row is None else row[0]
