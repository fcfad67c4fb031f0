"""What is loaded: the ranges of loaded_range, joined and cached by every process for a short time.

It is unknown while `manage.py upgrade` has not listed yet what an older release has loaded: then nothing
is said about it.
"""

import json
import time
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple

import psycopg
from django.db import DatabaseError

from mirror.core import config
from mirror.core.db import statements
from mirror.core.values.timestamp import iso_text

# How long a process relies on what it has read.
_SECONDS = 1.0
# The header names so many intervals, the newest.
_MAX_NAMED = 20

#: The filter of ranges that were loaded from a snapshot of some entities; all others are settings.
SNAPSHOT_ENTITIES = "snapshot.entities"

#: The settings that choose which optional rows are stored.
STORED = (
    "importer.parser.record.sidecar.enabled",
    "importer.parser.record.historicalBalance.",
    "importer.parser.record.entity.persist.",
)
# It chooses how accounts are named, not whether a log is stored.
_CHANGES_WORDS = ("importer.parser.record.entity.persist.syntheticContractLogEvmAddressLookup",)

_GENESIS, _RANGE = "genesis", "range"

# These tables are small. A range with unknown filters counts as one without.
_READ = """
    select (
        select coalesce(jsonb_agg(jsonb_build_array(
            consensus_start, consensus_end, first_block, last_block, signed,
            coalesce(filters, '{}'), rests_on, basis
        ) order by consensus_start), '[]')::text from loaded_range
    ), (select coalesce(jsonb_object_agg(table_name, before), '{}')::text from dropped_rows),
    exists (select from backfill where name = 'loaded_ranges' and finished is null)"""


class Interval(NamedTuple):
    """Blocks that were loaded without a gap, with their consensus times (ns, inclusive)."""

    start: int
    end: int
    first_block: int
    last_block: int
    signed: bool | None
    filters: tuple[str, ...]
    rests_on: str
    basis: str = ""

    def with_next(self, other: "Interval") -> "Interval":
        """Return both as one; it is signed if all of it is."""
        both = (self.signed, other.signed)
        return self._replace(
            end=max(self.end, other.end),
            last_block=other.last_block,
            signed=False if False in both else None if None in both else True,
            filters=tuple(sorted({*self.filters, *other.filters})),
        )


@dataclass(frozen=True)
class Loaded:
    """What is loaded. `dropped`: table -> the time (ns) before which its rows were dropped."""

    intervals: tuple[Interval, ...] = ()
    dropped: dict[str, int] = field(default_factory=dict)

    @property
    def is_known(self) -> bool:
        return bool(self.intervals)

    @property
    def from_genesis(self) -> bool:
        return bool(self.intervals) and self.intervals[0].rests_on == _GENESIS

    @property
    def filters(self) -> tuple[str, ...]:
        """The settings by which some of it was left out, or the name of snapshots of some entities."""
        return tuple(sorted({name for each in self.intervals for name in each.filters}))

    @property
    def reason(self) -> str:
        """Why some of it was left out, after "only a part is stored"; nothing if there are no filters."""
        settings = [name for name in self.filters if name != SNAPSHOT_ENTITIES]
        reasons = [f"as {' and '.join(settings)} says"] if settings else []
        if len(settings) < len(self.filters):
            reasons.append("as it was loaded from a snapshot of some entities")
        return ", and ".join(reasons)

    @property
    def gaps(self) -> list[tuple[Interval, Interval]]:
        """The neighbours between which files are missing."""
        return list(zip(self.intervals, self.intervals[1:], strict=False))

    @property
    def is_complete(self) -> bool:
        """Whether everything from the network's first file on is loaded, and nothing was dropped."""
        return self.from_genesis and len(self.intervals) == 1 and not self.filters and not self.dropped

    @cached_property
    def header(self) -> str | None:
        """The loaded blocks as a header, without an end of the last interval, which changes often."""
        if not self.intervals:
            return None
        named = self.intervals[-_MAX_NAMED:]
        ranges = [f"{each.first_block}-{each.last_block}" for each in named[:-1]]
        parts = [f"blocks={','.join([*ranges, f'{named[-1].first_block}-'])}"]
        if more := len(self.intervals) - len(named):
            parts.append(f"earlier={more}")
        if self.filters:
            parts.append("filtered")
        if self.dropped:
            parts.append("dropped")
        return "; ".join(parts)

    def neighbours(self, at: int) -> tuple[Interval | None, Interval | None]:
        """Return the interval that begins at or before a time, and the one after."""
        index = bisect_right(self.intervals, at, key=lambda each: each.start)
        before = self.intervals[index - 1] if index else None
        return before, self.intervals[index] if index < len(self.intervals) else None

    def has_time(self, at: int) -> bool:
        before, _ = self.neighbours(at)
        return before is not None and at <= before.end


UNKNOWN = Loaded()


class _Cached(NamedTuple):
    loaded: Loaded
    until: float


_EMPTY = _Cached(UNKNOWN, 0.0)
_cached = _EMPTY
_lock = Lock()


def forget() -> None:
    global _cached
    _cached = _EMPTY


def loaded() -> Loaded:
    """Return what is loaded, as this process has read it recently, also during an outage."""
    cached = _cached
    return cached.loaded if cached.until > time.monotonic() else _refresh()


def header() -> str | None:
    """Return the loaded blocks as the header of answers has them (`LOADED_BLOCKS` of the views)."""
    return loaded().header


def _refresh() -> Loaded:
    global _cached
    # Others use the cached ranges, even if there are none: the thread that reads may wait for the lease of a
    # thread that would wait here.
    if not _lock.acquire(blocking=False):
        return _cached.loaded
    try:
        cached, now = _cached, time.monotonic()
        if cached.until > now:
            return cached.loaded
        try:
            found = _loaded(statements.shared_rows(_READ)[0])
        except (psycopg.Error, DatabaseError):
            # The request's own statements fail as well, and report it.
            found = cached.loaded
        # The same object has the same cached header.
        found = cached.loaded if found == cached.loaded else found
        _cached = _Cached(found, now + _SECONDS)
        return found
    finally:
        _lock.release()


def read() -> Loaded:
    """Return what is loaded now. Errors: DatabaseError."""
    return _loaded(statements.row(_READ))


def last_time() -> int | None:
    """Return when the last block ends (ns), None without any. Errors: DatabaseError."""
    # Index: the primary key (consensus_end).
    time: int | None = statements.value(
        "select consensus_end from record_file order by consensus_end desc limit 1"
    )
    return time


def leaves_out(name: str, value: Any) -> bool:
    """Return whether a setting with this value leaves out rows that its default stores.

    One that stores more, such as `entityTransactions`, is no filter; nor are switches of what rows say.
    `value` is that of the setting, or of the JSON of loaded_range. What is no such setting always leaves out.
    """
    if not name.startswith(STORED):
        return True
    if name in _CHANGES_WORDS or name not in (defaults := config.load({})):
        return False
    default = defaults[name]
    if isinstance(default, bool):
        return default and not value
    if isinstance(default, tuple):
        excluded = name.endswith("Exclusion")
        return bool(set(value) - set(default) if excluded else set(default) - set(value))
    # The least time from one snapshot to the next.
    return bool(value > default)


def _loaded(row: Any) -> Loaded:
    """Return the intervals: a range that goes on after the one before is a part of the same."""
    ranges, dropped, is_incomplete = row
    if is_incomplete:
        return UNKNOWN
    intervals: list[Interval] = []
    for start, end, first_block, last_block, signed, filters, rests_on, basis in json.loads(ranges):
        names = tuple(sorted(name for name, value in filters.items() if leaves_out(name, value)))
        each = Interval(start, end, first_block, last_block, signed, names, rests_on, basis)
        if intervals and rests_on == _RANGE:
            intervals[-1] = intervals[-1].with_next(each)
        else:
            intervals.append(each)
    return Loaded(tuple(intervals), json.loads(dropped))


# WORDS


def gap_text(before: Interval, after: Interval) -> str:
    """Return what is missing between two intervals."""
    first, last = before.last_block + 1, after.first_block - 1
    times = f"{iso_text(before.end)} to {iso_text(after.start)}"
    if last < first:
        # Numbers from before format 6 are counted, also over what is missing.
        return f"files of {times}"
    return f"blocks {first} to {last} ({times})" if last > first else f"block {first} ({times})"
