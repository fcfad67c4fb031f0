"""Blocks: pages of record_file, and one by number or hash."""

from mirror.db.sql import Row, Where, fetch

# The columns of a block, in the order ledger.api.blocks reads them.
_COLUMNS = """
    count, hapi_version_major, hapi_version_minor, hapi_version_patch, hash, name, index, prev_hash,
    coalesce(size, length(bytes)), consensus_start, consensus_end, gas_used, logs_bloom
"""


def blocks(where: Where, *, by: str, descending: bool, limit: int) -> list[Row]:
    """A page of blocks, ordered by the column `by`: index or consensus_end."""
    # Indexes: record_file__index (index), or the primary key (consensus_end).
    direction = "desc" if descending else "asc"
    statement = f"select {_COLUMNS} from record_file {where.sql} order by {by} {direction} limit {limit:d}"
    return fetch(statement, where.values)


def block_of_number(number: int) -> Row | None:
    # Index: record_file__index (index).
    return _only(fetch(f"select {_COLUMNS} from record_file where index = %s limit 2", (number,)))


def block_of_hash(start: str) -> Row | None:
    """The block whose hash begins with these lower-case hex digits; None if there are two."""
    # Index: record_file__hash (hash). A range, as a LIKE of a parameter can't use it; g comes after all hex
    # digits.
    statement = f"select {_COLUMNS} from record_file where hash >= %s and hash < %s limit 2"
    return _only(fetch(statement, (start, start + "g")))


def _only(rows: list[Row]) -> Row | None:
    return rows[0] if len(rows) == 1 else None
