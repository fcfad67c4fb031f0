"""Columns of `entity` that bodies of several services fill by the same rules."""

from typing import Any

from ledger.ingest.batch import Batch
from ledger.stream.record.item import RecordItem
from mirror.values import entity_id
from mirror.values.keys import public_key
from mirror.values.timestamp import NANOS_PER_DAY

# Staking (HIP-406) exists in records from this HAPI version on; earlier bodies carry zeros that mean nothing.
STAKING_SINCE = (0, 27, 0)


def keys(key: bytes) -> dict[str, Any]:
    """`key` and the `public_key` found in it; an empty text clears the stored one."""
    return {"key": key, "public_key": public_key(key) or ""}


def staking(item: RecordItem, body: Any, batch: Batch, *, replaces: bool = False) -> dict[str, Any]:
    """The columns of a body's staking choice; choosing a node drops the account and the other way round."""
    chosen = body.WhichOneof("staked_id")
    if chosen is None:
        return {}
    columns: dict[str, Any] = {"stake_period_start": item.consensus_timestamp // NANOS_PER_DAY}
    if chosen == "staked_node_id":
        columns["staked_node_id"] = body.staked_node_id
        if replaces:
            columns["staked_account_id"] = 0
    else:
        columns["staked_account_id"] = entity_id.of_account(body.staked_account_id)
        batch.mention(columns["staked_account_id"])
        if replaces:
            columns["staked_node_id"] = -1
    return columns


def text(text: str) -> str:
    """PostgreSQL's text holds no NUL character."""
    return text.replace("\0", "\ufffd")
