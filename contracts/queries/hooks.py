"""Hooks (HIP-1195) and their storage."""

from collections.abc import Sequence
from typing import NamedTuple

from mirror.core.db.reading.query import Bounds, Query
from mirror.core.db.reading.scans import STEPS, scan_stepwise
from mirror.core.db.reading.sql import Comparison, Row, Where, compare, fetch


class HookSlot(NamedTuple):
    key: bytes
    timestamp: int
    value: bytes | None  # None of a slot that was only read


class Keys(NamedTuple):
    """A choice of slots: those of `equal` if it is given, or from `lower` to `upper`, both included."""

    lower: bytes | None = None
    upper: bytes | None = None
    equal: Sequence[bytes] | None = None

    @property
    def where(self) -> Where:
        comparisons = [("gte", self.lower), ("lte", self.upper)]
        return compare(
            "key", [Comparison(*comparison) for comparison in comparisons if comparison[1] is not None]
        )


def hooks(columns: str, owner_id: int, hook_ids: Bounds, query: Query) -> list[Row]:
    """Return the columns of a page of an account's hooks; of ids named by eq those within the range."""
    # Index: the primary key (owner_id, hook_id).
    where = compare("owner_id", [Comparison("eq", owner_id)])
    if hook_ids.equal:
        where += Where(("hook_id = any(%s)",), (sorted(hook_ids.equal_within),))
    else:
        where += Bounds(hook_ids.lower, hook_ids.upper).where("hook_id")
    statement = f"""
        select {columns} from hook {where.sql} order by hook_id {query.direction} limit {query.limit:d}
    """
    return fetch(statement, where.values)


def storage_now(owner_id: int, hook_id: int, keys: Keys, query: Query) -> tuple[list[HookSlot], bytes | None]:
    """Return a page of the slots in use, and the key after which it continues if it came to no end."""
    # Index: the primary key (owner_id, hook_id, key). The last slot of a statement's steps is returned even
    # if it is deleted.
    where = _hook_condition(owner_id, hook_id)
    if keys.equal is None:
        where += keys.where
    else:
        where += Where(("key = any(%s)",), (list(keys.equal),))
    following = "<" if query.descending else ">"

    def read(after: bytes | None) -> tuple[list[HookSlot], bytes | None]:
        within = where if after is None else where + Where((f"key {following} %s",), (after,))
        statement = f"""
            select key, modified_timestamp, value, deleted, number from (
                select *, row_number() over (order by key {query.direction}) as number
                from hook_storage {within.sql} order by key {query.direction} limit {STEPS:d}
            ) slot
            where not deleted or number = {STEPS:d}
            order by key {query.direction} limit {query.limit:d}
        """
        rows = fetch(statement, within.values)
        more = bool(rows) and rows[-1][4] == STEPS
        return _slots([row[:3] for row in rows if not row[3]]), rows[-1][0] if more else None

    return scan_stepwise(read, query.limit)


def storage_at(
    owner_id: int, hook_id: int, keys: Keys, times: Bounds, query: Query
) -> tuple[list[HookSlot], bytes | None]:
    """Return slots with their last value within the times, and after which to continue if time ran out."""
    hook = _hook_condition(owner_id, hook_id)
    following = "<" if query.descending else ">"
    # Index: the primary key (owner_id, hook_id, key, consensus_timestamp), straight to the last change of
    # a key and straight to the next key, as a busy slot changes whenever its hook runs.
    within = times.where("consensus_timestamp")
    last_change = f"""
        select consensus_timestamp, value_written from hook_storage_change
        {hook.sql} and key = slot.key {within.and_sql}
        order by consensus_timestamp desc limit 1
    """
    last_values = (*hook.values, *within.values)
    if keys.equal is not None:
        statement = f"""
            select slot.key, change.* from unnest(%s::bytea[]) as slot (key)
            cross join lateral ({last_change}) change
            order by slot.key {query.direction} limit {query.limit:d}
        """
        return _slots(fetch(statement, (list(keys.equal), *last_values))), None
    next_key = f"order by key {query.direction} limit 1"

    def read(after: bytes | None) -> tuple[list[HookSlot], bytes | None]:
        where = hook + keys.where
        if after is not None:
            where += Where((f"key {following} %s",), (after,))
        statement = f"""
            with recursive seen (key, consensus_timestamp, value_written, number, steps) as (
                select slot.key, change.consensus_timestamp, change.value_written,
                    (change.consensus_timestamp is not null)::int, 1
                from (select key from hook_storage_change {where.sql} {next_key}) slot
                left join lateral ({last_change}) change on true
                union all
                select slot.key, change.consensus_timestamp, change.value_written,
                    seen.number + (change.consensus_timestamp is not null)::int, seen.steps + 1
                from seen
                cross join lateral (
                    select key from hook_storage_change {where.sql} and key {following} seen.key {next_key}
                ) slot
                left join lateral ({last_change}) change on true
                where seen.number < {query.limit:d} and seen.steps < {STEPS:d}
            )
            select key, consensus_timestamp, value_written, steps from seen
            where consensus_timestamp is not null or steps = {STEPS:d} order by key {query.direction}
        """
        rows = fetch(statement, (*where.values, *last_values) * 2)
        more = bool(rows) and rows[-1][3] == STEPS
        return _slots([row[:3] for row in rows if row[1] is not None]), rows[-1][0] if more else None

    return scan_stepwise(read, query.limit)


def _hook_condition(owner_id: int, hook_id: int) -> Where:
    return Where(("owner_id = %s", "hook_id = %s"), (owner_id, hook_id))


def _slots(rows: list[Row]) -> list[HookSlot]:
    return [HookSlot(*row) for row in rows]
