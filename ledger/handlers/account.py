"""Accounts (crypto service): created, updated, deleted; live hashes.

The hooks of accounts are in `contracts`.
"""

from typing import Any

from ledger.handlers.columns import changed_staking, convert, keys, staking, text
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import handles, names_entities
from ledger.models import Entity, LiveHash
from ledger.stream.record_item import RecordItem
from mirror.core.values import alias as aliases
from mirror.core.values import entity_id

names_entities(
    entity_id.from_account,
    CRYPTOCREATEACCOUNT="record.receipt.accountID",
    CRYPTOUPDATEACCOUNT="body.cryptoUpdateAccount.accountIDToUpdate",
    CRYPTODELETE="body.cryptoDelete.deleteAccountID",
    CRYPTOADDLIVEHASH="body.cryptoAddLiveHash.liveHash.accountId",
    CRYPTODELETELIVEHASH="body.cryptoDeleteLiveHash.accountOfLiveHash",
)


@handles("CRYPTOCREATEACCOUNT")
def crypto_create(item: RecordItem, batch: Batch) -> None:
    """Create an account; its initial balance arrives with the transaction's transfers.

    Source: body.cryptoCreateAccount, receipt.accountID, record.alias, record.evm_address (HIP-583).
    Rows: entity version, and those of `set_nonces`.
    """
    # BODY
    body, record, timestamp = item.body.cryptoCreateAccount, item.record, item.consensus_timestamp
    alias = record.alias or body.alias or None
    key = body.key.SerializeToString() if body.HasField("key") else b""
    if not key and alias and len(alias) > aliases.EVM_ADDRESS_LENGTH:
        key = alias
    evm_address = record.evm_address or (aliases.evm_address(alias) if alias else None)
    # ROWS
    columns: dict[str, Any] = {
        "alias": alias,
        "evm_address": evm_address,
        "balance": 0,
        "balance_timestamp": timestamp,
        "max_automatic_token_associations": body.max_automatic_token_associations,
        "memo": text(body.memo),
        "receiver_sig_required": body.receiverSigRequired,
    }
    if key:
        columns |= keys(key)
    columns |= convert(item, batch, body, "autoRenewPeriod", "proxyAccountID")
    if body.delegation_address:
        columns["delegation_address"] = body.delegation_address
    columns |= staking(item, body, batch)
    batch.change_entity(
        item, id=item.entity_id, type="ACCOUNT", created_timestamp=timestamp, deleted=False, **columns
    )
    set_nonces(item, batch)


@handles("CRYPTOUPDATEACCOUNT")
def crypto_update(item: RecordItem, batch: Batch) -> None:
    """Change what the body sets of an account.

    Source: body.cryptoUpdateAccount. Rows: entity version, and those of `set_nonces`.
    """
    # BODY
    body = item.body.cryptoUpdateAccount
    columns = convert(item, batch, body, "autoRenewPeriod", "expirationTime", "key", "memo", "proxyAccountID")
    columns |= convert(item, batch, body, "max_automatic_token_associations")
    if body.delegation_address:
        # The zero address stands for no delegation.
        columns["delegation_address"] = body.delegation_address
    if body.HasField("receiverSigRequiredWrapper"):
        columns["receiver_sig_required"] = body.receiverSigRequiredWrapper.value
    elif body.receiverSigRequired:
        columns["receiver_sig_required"] = True
    columns |= changed_staking(item, body, batch)
    # ROWS
    batch.change_entity(item, id=item.entity_id, type="ACCOUNT", deleted=False, **columns)
    set_nonces(item, batch)


def set_nonces(item: RecordItem, batch: Batch) -> None:
    """Set the nonces of accounts that a transaction of a block delegates. Rows: entity nonce, silently."""
    if batch.persist.track_nonce:
        for account, nonce in item.account_nonces.items():
            batch.upsert(Entity, id=account, ethereum_nonce=nonce)


@handles("CRYPTODELETE")
def crypto_delete(item: RecordItem, batch: Batch) -> None:
    """Delete an account; `obtainer_id` received its balance.

    Source: body.cryptoDelete. Rows: entity version.
    """
    # BODY
    obtainer = batch.account(item, item.body.cryptoDelete.transferAccountID, "account that obtains the rest")
    # ROWS
    batch.mention(obtainer or 0)
    batch.change_entity(item, id=item.entity_id, type="ACCOUNT", deleted=True, obtainer_id=obtainer or None)


@handles("CRYPTOADDLIVEHASH")
def add_live_hash(item: RecordItem, batch: Batch) -> None:
    """Attach a hash to an account, if configured. Source: body.cryptoAddLiveHash. Rows: live_hash insert."""
    if batch.persist.claims:
        batch.insert(
            LiveHash,
            consensus_timestamp=item.consensus_timestamp,
            livehash=item.body.cryptoAddLiveHash.liveHash.hash,
        )
