"""Accounts and contracts from before the first file: what is known of them where the stream says nothing."""

from collections.abc import Iterable
from typing import Any

from django.db import connection

from ledger.handlers.columns import keys, text
from mirror.core.values import entity_id, timestamp

_COLUMNS = (
    "type",
    "key",
    "public_key",
    "memo",
    "auto_renew_period",
    "expiration_timestamp",
    "proxy_account_id",
    "receiver_sig_required",
    "deleted",
    "alias",
    "max_automatic_token_associations",
)
_COALESCED = (
    f"{name} = coalesce(e.{name}, excluded.{name})" for name in _COLUMNS if name not in ("type", "memo")
)
# What the stream has said since is newer. Index: the primary key (id).
_FILL = f"""
    insert into entity as e (id, num, realm, shard, timestamp_range, {", ".join(_COLUMNS)})
    values (%s, %s, %s, %s, '[0,)', {", ".join(["%s"] * len(_COLUMNS))})
    on conflict (id) do update set
        type = case when e.type = 'UNKNOWN' then excluded.type else e.type end,
        memo = case when e.memo = '' then excluded.memo else e.memo end,
        {", ".join(_COALESCED)}
    where e.created_timestamp is null"""
_CONTRACT = """
    insert into entity as e (id, num, realm, shard, timestamp_range, type)
    values (%s, %s, %s, %s, '[0,)', 'CONTRACT')
    on conflict (id) do update set type = 'CONTRACT'
    where e.created_timestamp is null and e.type in ('UNKNOWN', 'ACCOUNT')"""


def fill(accounts: Iterable[Any], contracts: set[int]) -> set[int]:
    """Fill in what AccountInfo messages say of accounts; return their ids."""
    ids, rows = set[int](), []
    for account in accounts:
        entity = entity_id.from_account(account.accountID)
        ids.add(entity)
        rows.append(_row(entity, account, entity in contracts))
    with connection.cursor() as cursor:
        cursor.executemany(_FILL, rows)
    return ids


def mark_contracts(contracts: set[int]) -> None:
    """Make these entities contracts, unless the stream has created them."""
    with connection.cursor() as cursor:
        cursor.executemany(_CONTRACT, [_numbers(each) for each in sorted(contracts)])


def _row(entity: int, account: Any, is_contract: bool) -> list[Any]:
    columns: dict[str, Any] = {
        "type": "CONTRACT" if is_contract else "ACCOUNT",
        "memo": text(account.memo),
        "receiver_sig_required": account.receiverSigRequired,
        "deleted": account.deleted,
        "alias": account.alias or None,
        "max_automatic_token_associations": account.max_automatic_token_associations,
        "proxy_account_id": entity_id.from_account(account.proxyAccountID) or None,
    }
    if account.HasField("key"):
        columns |= keys(account.key.SerializeToString())
    if account.HasField("autoRenewPeriod"):
        columns["auto_renew_period"] = account.autoRenewPeriod.seconds
    if account.HasField("expirationTime"):
        columns["expiration_timestamp"] = timestamp.to_ns(account.expirationTime)
    return [*_numbers(entity), *map(columns.get, _COLUMNS)]


def _numbers(entity: int) -> list[int]:
    shard, realm, num = entity_id.decode(entity)
    return [entity, num, realm, shard]
