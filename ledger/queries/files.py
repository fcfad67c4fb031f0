"""Contents of files at a time."""

from collections.abc import Iterator
from itertools import accumulate

from ledger.file_content import content_parts
from mirror.core.db.reading.query import Bounds
from mirror.core.db.reading.sql import MAX_INT64, fetch
from mirror.core.values.hapi.transaction_types import NUMBERS

_PAGE_ROWS = 100


def content(file_id: int, until: int = MAX_INT64) -> bytes | None:
    """Return a file's content as of a time; None if it is not known."""
    latest = version(file_id, Bounds(upper=until))
    return None if latest is None else latest[0]


def version(file_id: int, times: Bounds) -> tuple[bytes, int] | None:
    """Return the last content that starts within these times, and the time of its last part by their end."""
    within = times.where("consensus_timestamp")
    up_to = Bounds(upper=times.upper).where("f.consensus_timestamp")
    statement = content_parts(within.and_sql, up_to.and_sql)
    rows = fetch(statement, (file_id, *within.values, file_id, *up_to.values))
    if not rows:
        return None
    return b"".join(part or b"" for part, _ in rows), rows[-1][1]


def versions(file_id: int, times: Bounds) -> Iterator[tuple[bytes, int]]:
    """Yield a file's content after each of its changes within these times, and their times, the last first.

    Content that starts earlier is left out.
    """
    parts: list[tuple[bytes, int]] = []
    for part, at, transaction_type in _changes(file_id, times):
        if transaction_type == NUMBERS["FILEUPDATE"] and not part:
            continue
        parts.append((part or b"", at))
        if transaction_type != NUMBERS["FILEAPPEND"]:
            whole = b"".join(part for part, _ in reversed(parts))
            lengths = accumulate(len(part) for part, _ in reversed(parts))
            yield from zip(
                (whole[:length] for length in reversed(list(lengths))), (at for _, at in parts), strict=True
            )
            parts.clear()


def _changes(file_id: int, times: Bounds) -> Iterator[tuple[bytes | None, int, int]]:
    """Yield data, time and transaction type of the changes within these times, the last first."""
    while True:
        within = times.where("consensus_timestamp")
        # Index: file_data__id_timestamp (entity_id, consensus_timestamp).
        rows = fetch(
            f"""
            select file_data, consensus_timestamp, transaction_type from file_data
            where entity_id = %s {within.and_sql} order by consensus_timestamp desc limit {_PAGE_ROWS}
            """,
            (file_id, *within.values),
        )
        yield from rows
        if len(rows) < _PAGE_ROWS:
            return
        times = times.between(times.lower, rows[-1][1] - 1)
