"""What an older release, or the original, has loaded: ranges of files by the chain of their hashes.

Nobody knows whether the signatures of these files were verified, and by which filters they were loaded.
"""

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from django.db import connection

from ledger.ingest import coverage
from ledger.ingest.coverage import Range, RestsOn
from ledger.ingest.hash_chain import NO_HASH
from mirror.core.db import statements
from mirror.core.db.schema.backfill import Backfill, KeyRange

# A loader that gives the blocks other numbers changes the ranges after the blocks: it finds these ranges.
_LOCK = "lock table loaded_range in share row exclusive mode"
# Files that are in no range. Indexes: the primary keys of record_file (consensus_end) and loaded_range.
_FILES = """
    select f.consensus_start, f.consensus_end, f.index, f.count, f.hash, f.prev_hash
    from record_file f
    where f.consensus_end > %(after)s and f.consensus_end <= %(to)s and not exists (
        select from loaded_range r where f.consensus_end between r.consensus_start and r.consensus_end)
    order by f.consensus_end"""
# The range after a time, and the file with which it begins. Index: record_file__index.
_NEXT = """
    select r.consensus_start, r.consensus_end, r.last_block, r.files, r.transactions,
        r.signed is null and r.filters is null, f.prev_hash
    from (
        select * from loaded_range where consensus_start > %s order by consensus_start limit 1
    ) r join record_file f on f.index = r.first_block and f.consensus_start = r.consensus_start"""
_LAST_FILE = "select max(consensus_end) from record_file where consensus_end < %s"
_RANGE_OF = """
    select consensus_start from loaded_range
    where consensus_start <= %(at)s and consensus_end >= %(at)s order by consensus_start desc limit 1"""
# The file just before a time, if it lies in a range: its hash.
_BEFORE = """
    select f.hash from (
        select consensus_end, hash from record_file where consensus_end < %s
        order by consensus_end desc limit 1
    ) f where exists (
        select from loaded_range r where f.consensus_end between r.consensus_start and r.consensus_end)"""


class _File(NamedTuple):
    start: int
    end: int
    block: int
    transactions: int
    hash: str
    previous_hash: str


def add_ranges(keys: KeyRange) -> int:
    """Put the files of a piece into ranges; the newest goes on with the oldest one of the piece before."""
    statements.execute(_LOCK)
    files = [_File(*row) for row in statements.rows(_FILES, keys._asdict())]
    if not files:
        return 0
    runs = [[files[0]]]
    for previous, file in pairwise(files):
        if file.previous_hash == previous.hash:
            runs[-1].append(file)
        else:
            runs.append([file])
    ranges = [_joined(run, _range(run)) for run in runs]
    with connection.cursor() as cursor:
        coverage.write(cursor, ranges)
    return len(files)


def _range(run: list[_File]) -> Range:
    first, last = run[0], run[-1]
    if first.block == 0 or first.previous_hash in ("", NO_HASH):
        rests_on = RestsOn.GENESIS
    else:
        follows = statements.value(_BEFORE, [first.end]) == first.previous_hash
        rests_on = RestsOn.RANGE if follows else RestsOn.UNKNOWN
    return Range(
        consensus_start=first.start,
        consensus_end=last.end,
        first_block=first.block,
        last_block=last.block,
        files=len(run),
        transactions=sum(file.transactions for file in run),
        signed=None,
        filters=None,
        rests_on=rests_on,
    )


def _joined(run: list[_File], new_range: Range) -> Range:
    """Return the range with the one after it, if that is of the same kind and goes on with its last file."""
    row = statements.row(_NEXT, [new_range.consensus_end])
    if row is None:
        return new_range
    start, end, last_block, files, transactions, is_same_kind, previous_hash = row
    if previous_hash != run[-1].hash or not is_same_kind:
        return new_range
    statements.execute("delete from loaded_range where consensus_start = %s", [start])
    return replace(
        new_range,
        consensus_end=end,
        last_block=last_block,
        files=new_range.files + files,
        transactions=new_range.transactions + transactions,
    )


def _newest() -> int | None:
    before = (1 << 63) - 1
    while True:
        end = statements.value(_LAST_FILE, [before])
        if end is None:
            return None
        before = statements.value(_RANGE_OF, {"at": end})
        if before is None:
            return int(end)


RANGES = Backfill(
    name="loaded_ranges",
    table="record_file",
    key="consensus_end",
    newest=_newest,
    change=add_ranges,
)
