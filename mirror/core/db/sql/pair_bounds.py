"""Pages ordered by a pair of columns: by the first column, then by the second.

A condition on pairs is written as up to three ranges of an index on both columns. Each is read in order up to
the length of the page; for a row comparison PostgreSQL would read the whole index.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from mirror.core.db.reading.sql import Where
from mirror.core.db.sql.bounds import Bounds
from mirror.core.db.sql.query import Query


class Statement(NamedTuple):
    sql: str
    values: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class PairBounds:
    """A range of pairs.

    The bounds of the second column apply at the ends of the first one's: its lower bound at the lowest value
    of the first column, its upper bound at the highest. Between the ends every second value is in the range.
    If the first column has an equality, the second's bounds apply as they are. An equality of the second
    column applies to every pair.
    """

    first: Bounds = Bounds()
    second: Bounds = Bounds()

    def within(self, first: Bounds) -> "PairBounds":
        """Return the pairs of a part of the first column's range, which may share its ends or not."""
        lower = self.second.lower if first.lower == self.first.lower else None
        upper = self.second.upper if first.upper == self.first.upper else None
        return PairBounds(first, self.second.between(lower, upper))

    def parts(self, first_column: str, second_column: str) -> list[Where]:
        """Return conditions of which each pair in the range meets exactly one; none if the range is empty."""
        first, second = self.first, self.second
        if first.empty:
            return []
        if first.lower is not None and first.lower == first.upper:
            first = Bounds(equal=first.equal | {first.lower})
        if first.equal or second.equal or (second.lower is None and second.upper is None):
            return [first.where(first_column) + second.where(second_column)]
        parts = []
        between = first
        if second.lower is not None and first.lower is not None:
            parts.append(_at(first.lower, first_column) + Bounds(lower=second.lower).where(second_column))
            between = replace(between, lower=first.lower + 1)
        if second.upper is not None and first.upper is not None:
            parts.append(_at(first.upper, first_column) + Bounds(upper=second.upper).where(second_column))
            between = replace(between, upper=first.upper - 1)
        if not between.empty:
            parts.append(between.where(first_column))
        return parts


#: A range without pairs.
NO_PAIRS = PairBounds(first=Bounds(lower=1, upper=0))


def _at(value: int, column: str) -> Where:
    return Bounds(equal=frozenset({value})).where(column)


def pair_page(
    select: str, query: Query, bounds: PairBounds, columns: tuple[str, str], *, order_prefix: str = ""
) -> Statement:
    """Return the page of `select ... from ...` within the bounds, ordered by the two columns.

    `order_prefix` comes before their order, such as that of the first column of the index to be used.
    """
    prefix = f"{order_prefix}, " if order_prefix else ""
    order = f"{prefix}{columns[0]} {query.direction}, {columns[1]} {query.direction}"
    page = f"order by {order} limit {query.limit:d}"
    parts = [query.where + part for part in bounds.parts(*columns)] or [Where(("false",))]
    if len(parts) == 1:
        return Statement(f"{select} {parts[0].sql} {page}", parts[0].values)
    union = " union all ".join(f"({select} {part.sql} {page})" for part in parts)
    return Statement(f"select * from ({union}) part {page}", _values(parts))


def pair_condition(bounds: PairBounds, columns: tuple[str, str]) -> Where:
    """Return the range as one condition, for a statement that can't use an index of the pair."""
    parts = bounds.parts(*columns) or [Where(("false",))]
    alternatives = " or ".join(f"({' and '.join(part.conditions) or 'true'})" for part in parts)
    return Where((f"({alternatives})",), _values(parts))


def _values(parts: Sequence[Where]) -> tuple[object, ...]:
    return tuple(value for part in parts for value in part.values)
