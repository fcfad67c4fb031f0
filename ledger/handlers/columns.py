"""Columns of `entity` that bodies of several services set by the same rules."""

from collections.abc import Callable
from typing import Any

from ledger.ingest.rows.batch import Batch
from ledger.stream.record_item import RecordItem
from mirror.core.values import entity_id, timestamp
from mirror.core.values.keys import public_key
from mirror.core.values.timestamp import NANOS_PER_DAY

# Records have staking (HIP-406) since this HAPI version; earlier bodies have zeros that mean nothing.
STAKING_SINCE = (0, 27, 0)


def keys(key: bytes) -> dict[str, Any]:
    """Return the columns of a key; an empty `public_key` clears the stored one."""
    return {"key": key, "public_key": public_key(key) or ""}


def staking(item: RecordItem, body: Any, batch: Batch) -> dict[str, Any]:
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
    staked = _staked_id(item, body, batch)
    if "staked_node_id" in staked:
        staked["staked_account_id"] = 0
    elif staked:
        staked["staked_node_id"] = -1
    return columns | staked


def _staked_id(item: RecordItem, body: Any, batch: Batch) -> dict[str, Any]:
    kind = body.WhichOneof("staked_id")
    if kind is None:
        return {}
    if kind == "staked_node_id":
        staked_id = body.staked_node_id
    else:
        staked_id = entity_id.from_account(body.staked_account_id)
        batch.mention(staked_id)
    return {"stake_period_start": item.consensus_timestamp // NANOS_PER_DAY, kind: staked_id}


def text(text: str) -> str:
    """Return text without NUL characters, which PostgreSQL can't store."""
    return text.replace("\0", "\ufffd")


def serialized(body: Any, **fields: str) -> dict[str, Any]:
    """Return the columns, each with the message of its field, of those fields that a body sets."""
    return {
        column: getattr(body, field).SerializeToString()
        for column, field in fields.items()
        if body.HasField(field)
    }


def convert(item: RecordItem, batch: Batch, body: Any, *fields: str) -> dict[str, Any]:
    """Return the columns of those of these fields that a body sets."""
    columns: dict[str, Any] = {}
    for field in fields:
        if body.HasField(field):
            columns |= _COLUMNS[field](getattr(body, field), item, batch)
    return columns


def _renewing(account: Any, item: RecordItem, batch: Batch) -> dict[str, Any]:
    renewing = batch.account(item, account, "auto renew account")
    batch.mention(renewing or 0)
    return {"auto_renew_account_id": renewing}


def _proxy(account: Any, item: RecordItem, batch: Batch) -> dict[str, Any]:
    proxy = entity_id.from_account(account)
    batch.mention(proxy)
    return {"proxy_account_id": proxy or None}


def _key(key: Any, item: RecordItem, batch: Batch) -> dict[str, Any]:
    return keys(key.SerializeToString())


def _expiration(time: Any, item: RecordItem, batch: Batch) -> dict[str, Any]:
    return {"expiration_timestamp": timestamp.to_ns(time)}


def _memo(memo: Any, item: RecordItem, batch: Batch) -> dict[str, Any]:
    return {"memo": text(memo.value)}


_Columns = Callable[[Any, RecordItem, Batch], dict[str, Any]]
# The fields of the bodies of all services, whose names differ, and the columns of `entity` that they set.
_COLUMNS: dict[str, _Columns] = {
    "adminKey": _key,
    "key": _key,
    "keys": _key,
    "autoRenewAccount": _renewing,
    "autoRenewPeriod": lambda period, *_: {"auto_renew_period": period.seconds},
    "expirationTime": _expiration,
    "expiry": _expiration,
    "max_automatic_token_associations": lambda most, *_: {"max_automatic_token_associations": most.value},
    "memo": _memo,
    "memoWrapper": _memo,
    "proxyAccountID": _proxy,
}
