"""Indexes that may not be there yet: on a table with rows `manage.py upgrade` builds them during use."""

import time
from collections.abc import Collection

from mirror.core.db.reading.sql import fetch

# Missing indexes are looked for again after this time.
_SECONDS_BETWEEN_CHECKS = 60.0

_usable: set[str] = set()
_missing: dict[str, float] = {}  # when it is looked for again


def usable_indexes(indexes: Collection[str]) -> set[str]:
    """Return those of these indexes that can be used. Asks the database until they are there.

    Errors: psycopg.Error.
    """
    now = time.monotonic()
    unknown = [index for index in indexes if index not in _usable and _missing.get(index, now) <= now]
    if unknown:
        rows = fetch(
            """
            select name from unnest(%s::text[]) name
            join pg_index i on i.indexrelid = to_regclass(name) where i.indisvalid
            """,
            (unknown,),
        )
        _missing.update(dict.fromkeys(unknown, now + _SECONDS_BETWEEN_CHECKS))
        _usable.update(name for (name,) in rows)
    return _usable.intersection(indexes)


def forget() -> None:
    """Look for every index again."""
    _usable.clear()
    _missing.clear()
