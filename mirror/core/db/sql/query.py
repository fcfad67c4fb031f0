"""The query that a request narrows, in the place of Django's QuerySet."""

from typing import NamedTuple

from mirror.core.db.reading.sql import NOTHING, Where


class Query(NamedTuple):
    """A page of rows: their conditions, their order and how many there are at most.

    Each parameter of a request narrows it; a function of a `queries` module makes the statement.
    """

    where: Where = NOTHING
    descending: bool = False
    limit: int = 0

    @property
    def direction(self) -> str:
        """`asc` or `desc`."""
        return "desc" if self.descending else "asc"

    def filter(self, where: Where) -> "Query":
        return Query(self.where + where, self.descending, self.limit)
