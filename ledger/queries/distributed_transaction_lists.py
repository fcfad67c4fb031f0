"""Lists of transactions where tables are distributed: times and payers first, then the rows.

Transactions and their transfers are with their payer, so every probe names it. Each stream is a statement of
its own, which runs on one machine or on all: together they would have to send each other what they find.
"""

from collections.abc import Sequence
from dataclasses import replace

from ledger.queries.transaction_sides import TIMES
from ledger.queries.transaction_streams import TRANSACTION, Side, Sql, Stream, Window, concat
from ledger.queries.transactions import FullTransaction, columns
from mirror.core.db.reading.by_month import and_months
from mirror.core.db.reading.query import Bounds, Query
from mirror.core.db.reading.sql import NOTHING, Where, fetch

Key = tuple[int, int]  # consensus timestamp and payer

# So many values have a statement each, which an index has in the order of time. More have one together.
_MAX_STREAMS = 4

# So many blocks are looked at for the number of their transactions.
_MAX_BLOCKS = 1000


def page(side: Side, timestamps: Bounds, query: Query) -> list[FullTransaction]:
    """Return the first transactions of a side."""
    window = Window(timestamps, query.direction)
    keys = set[Key]()
    # Conditions that need the times are checked for those of the streams, whose end a step knows.
    recheck, limit = (
        (NOTHING, "") if TIMES in side.recheck.values else (side.recheck, f"limit {query.limit:d}")
    )
    for stream in side.streams:
        for part in _split(stream):
            statement = _keys(part, window, recheck, limit)
            keys.update(fetch(statement.text, statement.values))
    first = sorted(keys, reverse=query.descending)
    if recheck is not side.recheck:
        first = _matching(side.recheck, first, window, query)
    return _rows(first[: query.limit], window.bounds, query)


def edges(sides: Sequence[Side], window: Window, number: int) -> list[int | None]:
    return [edge(side, window, number) for side in sides]


def edge(side: Side, window: Window, number: int) -> int | None:
    """Return the time that is reached by looking at so many rows of a stream; None for all the way."""
    times = []
    at = None
    for stream in side.streams:
        if not stream.where.conditions and not stream.first:
            # It has all rows of its table: blocks have the number of these, without a statement on all
            # machines.
            at = at or _edge_by_blocks(window, number)
            if at is not None:
                times.append(at)
                continue
        streams = _split(stream)
        offset = max(1, number >> (len(streams) - 1).bit_length())
        for part in streams:
            where = part.where + part.window_condition(window)
            statement = f"""
                select {part.time} from {part.table} {where.sql}
                order by {part.order(window)} offset {offset:d} limit 1
            """
            times += [at for (at,) in fetch(statement, where.values)]
    if not times:
        return None
    nearest: int = max(times) if window.direction == "desc" else min(times)
    return nearest


def _edge_by_blocks(window: Window, number: int) -> int | None:
    """Return the time that is reached by so many transactions, or by many blocks; None if they have fewer."""
    # Index: the primary key of record_file (consensus_end).
    bounds = window.bounds
    where = Bounds(bounds.lower, bounds.upper).where("consensus_end")
    rows = fetch(
        f"""
        select consensus_start, consensus_end, count from record_file {where.sql}
        order by consensus_end {window.direction} limit {_MAX_BLOCKS:d}
        """,
        where.values,
    )
    seen = 0
    for block_count, (start, end, count) in enumerate(rows, 1):
        seen += count or 0
        if seen >= number or block_count == _MAX_BLOCKS:
            if window.direction == "desc":
                return int(start) if bounds.lower is None else max(start, bounds.lower)
            return int(end) if bounds.upper is None else min(end, bounds.upper)
    return None


def intersect(sides: Sequence[Side], window: Window, query: Query, number: int) -> list[FullTransaction]:
    """Return the first transactions of both sides within a window."""
    _, right = sides
    times = [concat(" union all ", [_all(stream, window) for stream in side.streams]) for side in sides]
    intersected = concat(" intersect ", [Sql(f"({part.text})", part.values) for part in times])
    keys = [(timestamp, payer) for timestamp, payer in fetch(intersected.text, intersected.values)]
    return _rows(_matching(right.recheck, keys, window, query), window.bounds, query)


def _matching(recheck: Where, keys: Sequence[Key], window: Window, query: Query) -> list[Key]:
    """Return the first of the transactions that meet conditions."""
    if not keys:
        return []
    times = [timestamp for timestamp, _ in keys]
    # Index: the primary key (consensus_timestamp, payer_account_id), on the machines of these payers.
    statement = f"""
        select t.consensus_timestamp, t.payer_account_id from {TRANSACTION}
        where t.consensus_timestamp = any(%s) and t.payer_account_id = any(%s)
            {and_months(window.bounds, "t.consensus_timestamp")} {recheck.and_sql}
        order by t.consensus_timestamp {window.direction} limit {query.limit:d}
    """
    values = (times if value is TIMES else value for value in recheck.values)
    rows = fetch(statement, (times, sorted({payer for _, payer in keys}), *values))
    return [(timestamp, payer) for timestamp, payer in rows]


def _rows(keys: Sequence[Key], times: Bounds, query: Query) -> list[FullTransaction]:
    """Return the transactions of these times and payers."""
    if not keys:
        return []
    # Index: the primary key (consensus_timestamp, payer_account_id), on the machines of these payers.
    statement = f"""
        select {columns(times)} from transaction t
        where t.consensus_timestamp = any(%s) and t.payer_account_id = any(%s)
        order by t.consensus_timestamp {query.direction}
    """
    values = [timestamp for timestamp, _ in keys], sorted({payer for _, payer in keys})
    return [FullTransaction._make(row) for row in fetch(statement, values)]


def _keys(stream: Stream, window: Window, recheck: Where, limit: str) -> Sql:
    """Return a statement of the first times of rows, with their payers."""
    payer = f"{stream.alias}.payer_account_id"
    if recheck.conditions and stream.alias != "t":
        probe = f"select true from {TRANSACTION} where t.consensus_timestamp = {stream.time}"
        probe += f" and t.payer_account_id = {payer}" + and_months(window.bounds, "t.consensus_timestamp")
        recheck = Where((f"({probe}{recheck.and_sql} limit 1)",), recheck.values)
    where = stream.where + stream.window_condition(window) + stream.recheck + recheck
    distinct = "" if stream.table.startswith("transaction ") else "distinct"
    text = f"""
        select {distinct} {stream.time}, {payer} from {stream.table} {where.sql}
        order by {stream.order(window)} {limit}
    """
    return Sql(text, where.values)


def _all(stream: Stream, window: Window) -> Sql:
    """Return a statement of the times of all rows of a window, with their payers."""
    statements = []
    for part in _split(stream):
        where = part.where + part.window_condition(window)
        text = f"select {part.time}, {part.alias}.payer_account_id from {part.table} {where.sql}"
        statements.append(Sql(text, where.values))
    return concat(" union all ", statements)


def _split(stream: Stream) -> list[Stream]:
    """Return streams of one value each, or of any of many, as machines can't join each other's rows."""
    values = stream.each
    if values is None:
        return [stream]
    if len(values) <= _MAX_STREAMS:
        return [
            replace(stream, where=_bind(stream.where, text), value=_bind(stream.value, text), each=None)
            for text in (f"{value:d}" for value in values)
        ]
    any_value = f"any(array[{', '.join(f'{value:d}' for value in values)}]::bigint[])"
    where = _bind(stream.where, any_value)
    if stream.first:
        where += Where((f"{stream.first} = {any_value}",))
    return [replace(stream, where=where, value=Where(), first="", each=None)]


def _bind(where: Where, value: str) -> Where:
    return Where(tuple(condition.replace("one.value", value) for condition in where.conditions), where.values)
