"""The different values of a column, found by skipping along an index from each one to the next."""

from mirror.core.db.distribution import is_distributed
from mirror.core.db.reading.sql import NOTHING, Where, fetch
from mirror.core.db.sql.bounds import Bounds


def distinct_values(
    table: str, column: str, bounds: Bounds, limit: int, *, where: Where = NOTHING
) -> list[int] | None:
    """Return the different values of a column in a range; None if there are more than `limit`.

    An index has to begin with the columns of `where`, which are equalities, and this column.
    """
    first = where + bounds.where(column)
    if is_distributed():
        # Each machine knows its own values only, so it tells them all.
        rows = fetch(
            f"select distinct {column} as value from {table} {first.sql} order by value limit {limit + 1:d}",
            first.values,
        )
        return None if len(rows) > limit else [value for (value,) in rows if value is not None]
    following = first + Where((f"{column} > known.value",))
    rows = fetch(
        f"""
        with recursive known (value) as (
            (select {column} from {table} {first.sql} order by {column} limit 1)
            union all
            select (select {column} from {table} {following.sql} order by {column} limit 1)
            from known where known.value is not null
        )
        select value from known where value is not null limit {limit + 1:d}
        """,
        (*first.values, *following.values),
    )
    return None if len(rows) > limit else [value for (value,) in rows]
