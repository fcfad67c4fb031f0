"""What is loaded, in words and as JSON, for `manage.py status` and the admin."""

from collections import defaultdict
from typing import Any

from ledger.loaded_ranges import Interval, Loaded, gap_text
from mirror.core.values import timestamp
from mirror.core.values.timestamp import iso_text
from mirror.models import LoadedRange

RestsOn = LoadedRange.RestsOn

# So many intervals and gaps are named.
_MAX_NAMED = 3


def loaded_text(loaded: Loaded) -> str:
    """Return what is loaded, what is missing, and what the beginning rests on; empty if that is unknown."""
    if not loaded.is_known:
        return ""
    partly = [f"only a part is stored, {loaded.reason}"] if loaded.filters else []
    parts = [_blocks(loaded), _start_text(loaded.intervals[0]), _signatures(loaded), *_gaps(loaded), *partly]
    return "; ".join([*parts, *_dropped(loaded)])


def supply_text(loaded: Loaded) -> str:
    """Return what supply and staking rewards rest on; empty where that is all of history, or unknown."""
    if not loaded.is_known:
        return ""
    first = loaded.intervals[0]
    match first.rests_on:
        case RestsOn.GENESIS:
            basis = ""
        case RestsOn.BALANCES:
            basis = (
                f"supply rests on the balances of {first.basis}, and staking rewards count only stakes that "
                "were chosen since"
            )
        case RestsOn.NOTHING:
            basis = (
                f"supply and staking rewards count from nothing at {iso_text(first.start)}, so they are not "
                "those of the network"
            )
        case _:
            basis = f"nobody knows what supply and staking rewards of before {iso_text(first.start)} rest on"
    gaps = "supply and staking rewards lack what is missing" if loaded.gaps else ""
    return "; ".join(filter(None, (basis, gaps)))


def loaded_json(loaded: Loaded) -> dict[str, Any]:
    first = loaded.intervals[0]
    return {
        "blocks": [
            {
                "first": each.first_block,
                "last": each.last_block,
                "from": timestamp.text(each.start),
                "to": timestamp.text(each.end),
                "signed": each.signed,
                "filters": list(each.filters),
            }
            for each in loaded.intervals
        ],
        "gaps": len(loaded.gaps),
        "rests_on": first.rests_on,
        "basis": first.basis or None,
        "supply": supply_text(loaded) or None,
        "dropped": {table: timestamp.text(before) for table, before in sorted(loaded.dropped.items())},
    }


def _blocks(loaded: Loaded) -> str:
    intervals = loaded.intervals
    if len(intervals) > _MAX_NAMED:
        return f"blocks {intervals[0].first_block} to {intervals[-1].last_block}, not all of them"
    named = [f"{each.first_block} to {each.last_block}" for each in intervals]
    return f"blocks {' and '.join(named)}"


def _start_text(first: Interval) -> str:
    match first.rests_on:
        case RestsOn.GENESIS:
            return "from the network's first one on"
        case RestsOn.BALANCES:
            return f"from before {iso_text(first.start)} only the balances of {first.basis} are known"
        case RestsOn.NOTHING:
            return f"nothing is known from before {iso_text(first.start)}, so balances count from zero there"
        case _:
            return f"an older release began at {iso_text(first.start)}"


def _signatures(loaded: Loaded) -> str:
    signed = {each.signed for each in loaded.intervals}
    if signed == {True}:
        return "all signatures were verified"
    if False in signed:
        return "signatures were not verified everywhere"
    return "nobody knows whether all signatures were verified"


def _gaps(loaded: Loaded) -> list[str]:
    gaps = loaded.gaps
    if not gaps:
        return []
    named = [gap_text(*gap) for gap in gaps[-_MAX_NAMED:]]
    if more := len(gaps) - len(named):
        named.insert(0, f"{more} earlier {'gap' if more == 1 else 'gaps'}")
    return [f"missing: {', '.join(named)}"]


def _dropped(loaded: Loaded) -> list[str]:
    """Return from when on tables have their rows, grouped by that time."""
    tables = defaultdict(list)
    for table, before in sorted(loaded.dropped.items()):
        tables[before].append(table)
    return [
        f"rows from before {iso_text(before)} were dropped ({', '.join(names)})"
        for before, names in sorted(tables.items())
    ]
