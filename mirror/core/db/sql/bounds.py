"""The range, the values and the exclusions that several comparisons of one column leave."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from mirror.core.db.reading.sql import MAX_INT64, Comparison, Where, compare


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
