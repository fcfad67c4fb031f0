"""Times of blocks whose transactions were not in the order of time: they lay outside of their block."""

from typing import NamedTuple

from ledger.stream.block import block_file
from mirror.core import config
from mirror.core.db import statements
from mirror.core.db.schema.backfill import Backfill, KeyRange

# Before these, no block of the network was concerned.
_SINCE = {"mainnet": 1_769_558_400_000_000_000, "testnet": 1_766_966_400_000_000_000}

# Blocks with fewer stored transactions than they count, with the ends of their neighbours. Indexes: the
# primary keys of record_file and transaction.
_INCOMPLETE_BLOCKS = """
    select f.consensus_start, f.consensus_end, f.count - stored.count, coalesce(before.consensus_end, -1),
        coalesce(later.consensus_start, 9223372036854775807)
    from record_file f
    cross join lateral (
        select count(*) from transaction
        where consensus_timestamp between f.consensus_start and f.consensus_end
    ) stored
    left join lateral (
        select consensus_end from record_file
        where consensus_end < f.consensus_end order by consensus_end desc limit 1
    ) before on true
    left join lateral (
        select consensus_start from record_file
        where consensus_end > f.consensus_end order by consensus_end limit 1
    ) later on true
    where f.consensus_end > %(after)s and f.consensus_end <= %(to)s and f.count > stored.count
    order by f.consensus_end desc"""
_BEFORE = """
    select consensus_timestamp from transaction
    where consensus_timestamp < %(start)s and consensus_timestamp > %(previous_end)s
    order by consensus_timestamp desc limit %(missing)s"""
_AFTER = """
    select consensus_timestamp from transaction
    where consensus_timestamp > %(end)s and consensus_timestamp < %(next_start)s
    order by consensus_timestamp limit %(missing)s"""


class _IncompleteBlock(NamedTuple):
    """A block that lacks transactions, and the end and the start of its neighbours."""

    start: int
    end: int
    missing: int
    previous_end: int
    next_start: int


def extend_blocks(keys: KeyRange) -> int:
    """Take the missing transactions just before a block into it, then those just after it."""
    extended = 0
    for block in map(_IncompleteBlock._make, statements.rows(_INCOMPLETE_BLOCKS, keys._asdict())):
        earlier = statements.column(_BEFORE, block._asdict())
        missing = {"missing": block.missing - len(earlier)}
        later = statements.column(_AFTER, block._asdict() | missing)
        if not earlier and not later:
            continue
        start, end = min([block.start, *earlier]), max([block.end, *later])
        statements.execute(
            "update record_file set consensus_start = %s, consensus_end = %s where consensus_end = %s",
            [start, end, block.end],
        )
        if end != block.end:
            statements.execute(
                "update sidecar_file set consensus_end = %s where consensus_end = %s", [end, block.end]
            )
        extended += 1
    return extended


def _began_with_record_files() -> bool:
    version = statements.value("select version from record_file order by consensus_end limit 1")
    return version is not None and version < block_file.VERSION


TIMES = Backfill(
    name="block_times",
    table="record_file",
    key="consensus_end",
    first="consensus_start",
    change=extend_blocks,
    is_needed=_began_with_record_files,
    oldest=lambda: _SINCE.get(config.value("network"), 0),
)
