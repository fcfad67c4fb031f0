"""Contents of files at a time."""

from ledger.file_content import content_parts
from mirror.core.db.reading.sql import MAX_INT64, fetch
from mirror.core.db.sql.bounds import Bounds


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
