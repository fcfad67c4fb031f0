"""Columns of `entity` that bodies of several services set by the same rules."""

from typing import Any

from ledger.ingest.rows.batch import Batch
from ledger.stream.record.item import RecordItem
from mirror.core.values import entity_id
from mirror.core.values.keys import public_key
from mirror.core.values.timestamp import NANOS_PER_DAY

# Records have staking (HIP-406) since this HAPI version; earlier bodies have zeros that mean nothing.
STAKING_SINCE = (0, 27, 0)


def keys(key: bytes) -> dict[str, Any]:
    """Return the columns of a key; an empty `public_key` clears the stored one."""
    return {"key": key, "public_key": public_key(key) or ""}


def staking(item: RecordItem, body: Any, batch: Batch) -> dict[str, Any]:
    """Return the staking columns of a creation."""
    if item.hapi_version < STAKING_SINCE:
        return {}
    return {"decline_reward": body.decline_reward} | _staked_id(item, body, batch)


def changed_staking(item: RecordItem, body: Any, batch: Batch) -> dict[str, Any]:
    """Return the staking columns that an update sets; a chosen node replaces the account and vice versa."""
    if item.hapi_version < STAKING_SINCE:
        return {}
    columns: dict[str, Any] = {}
    if body.HasField("decline_reward"):
        columns["decline_reward"] = body.decline_reward.value
        columns["stake_period_start"] = item.consensus_timestamp // NANOS_PER_DAY
    chosen = _staked_id(item, body, batch)
    if "staked_node_id" in chosen:
        chosen["staked_account_id"] = 0
    elif chosen:
        chosen["staked_node_id"] = -1
    return columns | chosen


def _staked_id(item: RecordItem, body: Any, batch: Batch) -> dict[str, Any]:
    kind = body.WhichOneof("staked_id")
    if kind is None:
        return {}
    if kind == "staked_node_id":
        staked_id = body.staked_node_id
    else:
        staked_id = entity_id.of_account(body.staked_account_id)
        batch.mention(staked_id)
    return {"stake_period_start": item.consensus_timestamp // NANOS_PER_DAY, kind: staked_id}


def text(text: str) -> str:
    """Return text without NUL characters, which PostgreSQL can't store."""
    return text.replace("\0", "\ufffd")
