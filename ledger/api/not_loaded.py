"""Why something may be missing: it is not loaded, was left out by filters, or was dropped.

The texts are details of 404s. There is none where everything from the network's first file on is loaded, and
where the range is unknown.
"""

from typing import TypeVar

from ledger import loaded_ranges
from ledger.loaded_ranges import Interval, Loaded, gap_text
from mirror.core.rest.answers.errors import NOT_FOUND, NotFound
from mirror.core.values.timestamp import NANOS_PER_SECOND, iso_text

Known = TypeVar("Known")

# A transaction is agreed on at most so long after its valid start (ns); one that is scheduled even later.
_VALID = 180 * NANOS_PER_SECOND
# So many gaps are named.
_MAX_GAPS = 3

_TABLE_CONTENTS = {
    "transaction": "transactions",
    "contract_action": "actions of contracts",
    "contract_result": "results of contracts",
    "topic_message": "messages of topics",
}


def _part() -> Loaded | None:
    """Return what is loaded; None where nothing is missing, and where that is unknown."""
    loaded = loaded_ranges.loaded()
    return loaded if loaded.is_known and not loaded.is_complete else None


def at(time: int, table: str = "transaction") -> str | None:
    """Return why a table may be without rows of a time (ns)."""
    if (loaded := _part()) is None:
        return None
    if not loaded.has_time(time):
        return f"Not loaded: {_no_block_between(*loaded.neighbours(time))}."
    return _dropped(loaded, time, table) or _filtered(loaded)


def transaction(valid_start: int, table: str = "transaction") -> str | None:
    """Return why a transaction with this valid start (ns) may be missing."""
    if (loaded := _part()) is None:
        return None
    before, after = loaded.neighbours(valid_start)
    if not loaded.from_genesis if before is None else before.end < valid_start + _VALID:
        return f"Perhaps not loaded: {_no_block_between(before, after)}."
    return _dropped(loaded, valid_start, table) or _filtered(loaded)


def block(number: int) -> str | None:
    if (loaded := _part()) is None:
        return None
    before = after = None
    for interval in loaded.intervals:
        if interval.first_block <= number <= interval.last_block:
            return None
        if interval.last_block < number:
            before = interval
        elif after is None:
            after = interval
    return f"Not loaded: {_no_block_between(before, after)}."


def entity() -> str | None:
    """Return why the node may not know an account, a contract, a token, a topic, a schedule or a file."""
    if (loaded := _part()) is None:
        return None
    sentences = [_partial(loaded, "Not known"), _filtered(loaded)]
    return " ".join(filter(None, sentences)) or None


def found(known: Known | None, message: str = NOT_FOUND) -> Known:
    """Return what is known of an entity. Errors: NotFound if that is None."""
    if known is None:
        raise NotFound(message, detail=entity())
    return known


def anything(table: str | None = "transaction") -> str | None:
    """Return why something of unknown time may be missing from a table, or from none."""
    if (loaded := _part()) is None:
        return None
    sentences = [_partial(loaded, "Perhaps not loaded")]
    if table is not None:
        sentences += [_dropped(loaded, 0, table), _filtered(loaded)]
    return " ".join(filter(None, sentences)) or None


def _no_block_between(before: Interval | None, after: Interval | None) -> str:
    if before is None:
        return f"the node has no block before {_first(after)}"
    last = f"{before.last_block} ({iso_text(before.end)})"
    if after is None:
        return f"the node has no block after {last} yet"
    return f"the node has no block between {last} and {_first(after)}"


def _first(interval: Interval | None) -> str:
    assert interval is not None
    return f"{interval.first_block} ({iso_text(interval.start)})"


def _partial(loaded: Loaded, then: str) -> str | None:
    gaps = loaded.gaps
    missing = " and ".join(gap_text(*gap) for gap in gaps[:_MAX_GAPS])
    if more := len(gaps) - _MAX_GAPS:
        missing += f" and {more} more gaps" if more > 1 else " and one more gap" if more > 0 else ""
    if not loaded.from_genesis:
        first = loaded.intervals[0]
        without = f", without {missing}" if gaps else ""
        before = f", and before that what {first.basis} says" if first.basis else ""
        return f"{then}: the node knows the ledger from block {_first(first)} on{without}{before}."
    return f"{then}: the node lacks {missing}." if gaps else None


def _dropped(loaded: Loaded, time: int, table: str) -> str | None:
    before = loaded.dropped.get(table)
    if before is None or time >= before:
        return None
    return f"Dropped: the node has kept {_TABLE_CONTENTS[table]} from {iso_text(before)} on."


def _filtered(loaded: Loaded) -> str | None:
    if not loaded.filters:
        return None
    return f"The node stores a part of the ledger only, {loaded.reason}."
