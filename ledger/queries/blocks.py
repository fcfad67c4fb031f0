"""Blocks (record_file): pages of them, and one by number or hash."""

from collections.abc import Sequence

from mirror.core.db.reading.query import Query
from mirror.core.db.reading.sql import Comparison, Row, Where, compare, fetch


def blocks(
    columns: str,
    query: Query,
    *,
    by: str,
    numbers: Sequence[Comparison] = (),
    times: Sequence[Comparison] = (),
) -> list[Row]:
    """Return the columns of a page of blocks in the order of the column `by`: index or consensus_end."""
    # Indexes: record_file__index (index), or the primary key (consensus_end).
    other, others = ("consensus_end", times) if by == "index" else ("index", numbers)
    query = query.filter(compare(by, numbers if by == "index" else times, any_equal=False))
    for comparison in others:
        query = query.filter(_other_column_condition(by, other, comparison))
    page = f"order by {by} {query.direction} limit {query.limit:d}"
    statement = f"select {columns} from record_file {query.where.sql} {page}"
    return fetch(statement, query.where.values)


def _other_column_condition(by: str, other: str, comparison: Comparison) -> Where:
    """Return a condition on the column that is not that of the order.

    Both rise from block to block. So a bound of one is an end of the range of the other, without which
    PostgreSQL might read all blocks outside the bound.
    """
    bound = compare(other, [comparison], any_equal=False)
    if comparison.operator in ("eq", "ne"):
        return bound
    at_least = comparison.operator in ("gt", "gte")
    symbol, order = (">=", "asc") if at_least else ("<=", "desc")
    return Where(
        (f"{by} {symbol} (select {by} from record_file {bound.sql} order by {other} {order} limit 1)",),
        bound.values,
    )


def block_of_number(columns: str, number: int) -> Row | None:
    # Index: record_file__index (index).
    return _only(fetch(f"select {columns} from record_file where index = %s limit 2", (number,)))


def block_of_hash(columns: str, start: str) -> Row | None:
    """Return the block whose hash starts with these lower-case hex digits; None if there are two."""
    # Index: record_file__hash (hash), which a range can use and LIKE with a parameter can't. "g" comes after
    # all hex digits.
    statement = f"select {columns} from record_file where hash >= %s and hash < %s limit 2"
    return _only(fetch(statement, (start, start + "g")))


def _only(rows: list[Row]) -> Row | None:
    return rows[0] if len(rows) == 1 else None
