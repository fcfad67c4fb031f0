"""The parts of a query: its conditions, bounds of one column, bounds and pages of a pair of columns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from mirror.core.db.reading.sql import MAX_INT64, NOTHING, Comparison, Where, compare


class Query(NamedTuple):
    """A page of rows, which each parameter of a request narrows: conditions, order, most rows."""

    where: Where = NOTHING
    descending: bool = False
    limit: int = 0

    @property
    def direction(self) -> str:
        """`asc` or `desc`."""
        return "desc" if self.descending else "asc"

    def filter(self, where: Where) -> "Query":
        return Query(self.where + where, self.descending, self.limit)


@dataclass(frozen=True, slots=True)
class Bounds:
    """A range with inclusive ends, None while open, and the values named by eq and ne."""

    lower: int | None = None
    upper: int | None = None
    equal: frozenset[int] = frozenset()
    unequal: frozenset[int] = frozenset()

    @classmethod
    def combine(cls, comparisons: Iterable[Comparison]) -> "Bounds":
        """Combine comparisons: the largest of the lower bounds, the smallest of the upper ones."""
        lower: int | None = None
        upper: int | None = None
        equal, unequal = set(), set()
        for operator, value in comparisons:
            if operator == "eq":
                equal.add(value)
            elif operator == "ne":
                unequal.add(value)
            elif operator in ("gt", "gte"):
                bound = value + (operator == "gt")
                lower = bound if lower is None else max(lower, bound)
            else:
                bound = value - (operator == "lt")
                upper = bound if upper is None else min(upper, bound)
        return cls(lower, upper, frozenset(equal), frozenset(unequal))

    @property
    def empty(self) -> bool:
        """True if the two ends exclude each other, regardless of `equal` and `unequal`."""
        return self.lower is not None and self.upper is not None and self.upper < self.lower

    @property
    def equal_within(self) -> frozenset[int]:
        """The values named by eq that lie between the ends."""
        return frozenset(
            value
            for value in self.equal
            if (self.lower is None or self.lower <= value) and (self.upper is None or value <= self.upper)
        )

    def between(self, lower: int | None, upper: int | None) -> "Bounds":
        """Return the same values and exclusions with other ends."""
        return Bounds(lower, upper, self.equal, self.unequal)

    @property
    def ends(self) -> list[Comparison]:
        """The comparisons with the two ends."""
        comparisons = []
        if self.lower is not None:
            comparisons.append(Comparison("gte", self.lower))
        if self.upper is not None and self.upper < MAX_INT64:
            comparisons.append(Comparison("lte", self.upper))
        return comparisons

    def where(self, column: str) -> Where:
        if self.lower is None and self.upper is None and not self.equal and not self.unequal:
            return Where()
        comparisons = [Comparison("eq", value) for value in sorted(self.equal)]
        comparisons += [Comparison("ne", value) for value in sorted(self.unequal)]
        return compare(column, comparisons + self.ends, any_equal=False)


class Ends(NamedTuple):
    """The comparison that counts on each side of a column. An equality is on the lower side."""

    lower: Comparison | None = None
    upper: Comparison | None = None

    @classmethod
    def combine(cls, comparisons: Iterable[Comparison]) -> "Ends":
        """Take the last comparison of each side, and no ne."""
        lower = upper = None
        for comparison in comparisons:
            if comparison.operator in ("eq", "gt", "gte"):
                lower = comparison
            elif comparison.operator in ("lt", "lte"):
                upper = comparison
        return cls(lower, upper)

    @property
    def equal(self) -> bool:
        return self.lower is not None and self.lower.operator == "eq"

    @property
    def single(self) -> bool:
        """True if there is one value: an equality, or that at which both ends meet."""
        bounds = self.bounds
        return self.equal or (bounds.lower is not None and bounds.lower == bounds.upper)

    @property
    def bounds(self) -> Bounds:
        """The range between the ends; an equality is its start."""
        return Bounds.combine(
            Comparison("gte" if operator == "eq" else operator, value)
            for operator, value in filter(None, self)
        )


# PAIRS: ordered by the first column, then by the second.
#
# A condition on pairs is written as up to three ranges of an index on both columns, each read in order up to
# the length of the page; for a row comparison PostgreSQL would read the whole index.


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
    """Return the page of `select ... from ...` within the bounds, by `order_prefix` and then both columns."""
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
