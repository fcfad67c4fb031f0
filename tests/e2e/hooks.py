"""Hooks and their storage in the API."""

from random import Random
from typing import Any

from mirror.demo.world.contracts import Hook
from mirror.demo.world.world import World
from tests.e2e.forms import at, entity, key, word
from tests.e2e.life import Life
from tests.e2e.rest import Rest, same
from tests.ledger.ingest.load import stored


def check(rest: Rest, world: World, choose: Random) -> None:
    hooks: dict[int, list[Hook]] = {}
    for _, hook in sorted(world.contracts.hooks.items(), reverse=True):
        hooks.setdefault(hook.owner, []).append(hook)
    for account in world.accounts:
        path = f"accounts/0.0.{account}/hooks"
        found = rest.all(path, "hooks")
        for row in found:
            since = row.pop("timestamp_range")
            assert since["to"] is None
            assert (since["from"] == row["created_timestamp"]) is not row["deleted"], (path, row)
        same(found, [record(one) for one in hooks.get(account, [])], path)
    for hook in world.contracts.hooks.values():
        path = f"accounts/0.0.{hook.owner}/hooks/{hook.hook_id}/storage"
        expected = [
            {"key": word(slot), "value": word(one.value), "timestamp": at(one.modified)}
            for slot, one in sorted(hook.slots.items())
            if one.value
        ]
        order = choose.choice(("asc", "desc"))
        found = rest.all(path, "storage", order=order)
        same(found, expected if order == "asc" else expected[::-1], path)
    _check_slots(world)


def _check_slots(world: World) -> None:
    """No endpoint shows when a slot was first written: the table is what can be compared."""
    expected = [
        (*of, key, slot.created)
        for of, hook in sorted(world.contracts.hooks.items())
        for key, slot in sorted(hook.slots.items())
        if slot.value
    ]
    columns = "owner_id, hook_id, key, created_timestamp"
    same(stored("hook_storage", columns, "not deleted"), expected, "hook_storage")


def check_past(rest: Rest, life: Life, blocks: int, choose: Random) -> None:
    """Check storage at random times, except for slots that were only read since they were written."""
    instants = life.known(blocks)
    for instant in choose.sample(instants, min(len(instants), 4)):
        hooks = list(instant.world.contracts.hooks.values())
        for hook in choose.sample(hooks, min(len(hooks), 3)):
            time, path = (
                at(instant.any_time(choose)),
                f"accounts/0.0.{hook.owner}/hooks/{hook.hook_id}/storage",
            )
            found = {row["key"]: row for row in rest.all(path, "storage", timestamp=f"lte:{time}")}
            for slot, one in hook.slots.items():
                row = found.pop(word(slot))
                assert at(one.modified) <= row["timestamp"] <= time, (path, row)
                if row["timestamp"] == at(one.modified) or row["value"] is not None:
                    same(row["value"], word(one.value), path, time)
            assert all(row["value"] is None for row in found.values()), (path, found)


# JSON
def record(hook: Hook) -> dict[str, Any]:
    return {
        "admin_key": key(hook.admin_key),
        "contract_id": entity(hook.contract),
        "created_timestamp": at(hook.created),
        "deleted": hook.deleted,
        "extension_point": "ACCOUNT_ALLOWANCE_HOOK",
        "hook_id": hook.hook_id,
        "owner_id": entity(hook.owner),
        "type": "EVM",
    }
