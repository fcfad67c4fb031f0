"""Rows any transaction causes: its own row, its hbar transfers, paid staking rewards, and the lookup rows."""

from typing import Any

from ledger.ingest.batch import Batch
from ledger.ingest.registry import Order, every_item
from ledger.models import (
    CryptoTransfer,
    Entity,
    EntityTransaction,
    StakingRewardTransfer,
    Transaction,
    TransactionHash,
)
from ledger.stream.record.item import RecordItem
from mirror.values import entity_id
from mirror.values.entity_id import ImpossibleId
from mirror.values.timestamp import NANOS_PER_DAY
from mirror.values.transaction_types import NUMBERS

CONTRACT_CREATE = NUMBERS["CONTRACTCREATEINSTANCE"]
CRYPTO_CREATE = NUMBERS["CRYPTOCREATEACCOUNT"]
CRYPTO_TRANSFER = NUMBERS["CRYPTOTRANSFER"]
SUBMIT_MESSAGE = NUMBERS["CONSENSUSSUBMITMESSAGE"]
# Their signed bytes are the only source of a node's certificates and endpoints.
NODE_TYPES = frozenset(NUMBERS[name] for name in ("NODECREATE", "NODEUPDATE", "NODEDELETE"))

# Until the end of 2019 records of failed transfers listed the transfers that were asked for.
SPURIOUS_TRANSFERS_BEFORE = 1_577_836_799_000_000_000

HASH_LENGTH, FULL_HASH_LENGTH = 32, 48


@every_item(Order.TRANSACTION)
def transaction(item: RecordItem, batch: Batch) -> None:
    """One row per transaction whatever its result. Source: body, record, receipt.status."""
    body, record = item.body, item.record
    identifier = body.transactionID
    node = entity_id.of_account(body.nodeAccountID) if body.HasField("nodeAccountID") else 0
    initial_balance = 0
    if item.transaction_type == CRYPTO_CREATE:
        initial_balance = body.cryptoCreateAccount.initialBalance
    elif item.transaction_type == CONTRACT_CREATE:
        initial_balance = body.contractCreateInstance.initialBalance
    keep_bytes = item.transaction_type in NODE_TYPES
    batch.transaction = batch.insert(
        Transaction,
        consensus_timestamp=item.consensus_timestamp,
        type=item.transaction_type,
        result=item.result,
        payer_account_id=item.payer_account_id,
        valid_start_ns=item.valid_start_ns,
        valid_duration_seconds=(
            body.transactionValidDuration.seconds if body.HasField("transactionValidDuration") else None
        ),
        node_account_id=node or None,
        entity_id=item.entity_id or None,
        initial_balance=_signed(initial_balance),
        max_fee=_signed(body.transactionFee),
        charged_tx_fee=_signed(record.transactionFee),
        memo=item.memo,
        transaction_hash=record.transactionHash,
        transaction_bytes=item.transaction_bytes if keep_bytes or batch.persist.transaction_bytes else None,
        transaction_record_bytes=(
            item.record_bytes if keep_bytes or batch.persist.transaction_record_bytes else None
        ),
        scheduled=record.HasField("scheduleRef"),
        nonce=identifier.nonce,
        parent_consensus_timestamp=item.parent_consensus_timestamp,
        index=item.index,
        max_custom_fees=_max_custom_fees(item, batch),
        batch_key=body.batch_key.SerializeToString() if body.HasField("batch_key") else None,
    )
    if batch.mentioned is not None:
        # The messages of a topic are found by the topic; that many rows would serve nothing.
        entity = 0 if item.transaction_type == SUBMIT_MESSAGE else item.entity_id
        batch.mention(entity, node, item.payer_account_id)


def _max_custom_fees(item: RecordItem, batch: Batch) -> list[bytes] | None:
    """The limits the body sets, but for those that name an account or token that can't be one."""
    limits = []
    for limit in item.body.max_custom_fees:
        named = [entity_id.of_account(limit.account_id)]
        named += [entity_id.of_token(fee.denominating_token_id) for fee in limit.fees]
        if not any(isinstance(entity, ImpossibleId) for entity in named):
            batch.mention(*named)
            limits.append(limit.SerializeToString())
    return limits or None


@every_item(Order.HBAR_TRANSFERS)
def crypto_transfers(item: RecordItem, batch: Batch) -> None:
    """The hbar moved, fees included, in tinybars; whatever the result. Source: record.transferList.

    Rows: crypto_transfer insert; entity balance, silently: a balance change starts no new version.
    """
    if not batch.persist.crypto_transfer_amounts:
        return
    at, payer = item.consensus_timestamp, item.payer_account_id
    spurious_time = at < SPURIOUS_TRANSFERS_BEFORE and not item.successful
    requested = (
        _requested_transfers(item, spurious_time) if item.transaction_type == CRYPTO_TRANSFER else None
    )
    for transfer in item.record.transferList.accountAmounts:
        account, amount = entity_id.of_account(transfer.accountID), transfer.amount
        is_approval, errata = False, None
        if requested and (account, amount) in requested:
            is_approval = amount < 0 and requested[account, amount]
            errata = "DELETE" if spurious_time else None
        batch.insert(
            CryptoTransfer,
            entity_id=account,
            consensus_timestamp=at,
            amount=amount,
            payer_account_id=payer,
            is_approval=is_approval,
            errata=errata,
        )
        if account:
            batch.mention(account)
            if batch.persist.track_balance and errata is None:
                batch.upsert(Entity, id=account, balance=amount, balance_timestamp=at)


def _requested_transfers(item: RecordItem, spurious_time: bool) -> dict[tuple[int, int], bool] | None:
    """(account, amount) -> is_approval of the transfers the body asks for, the first of equal ones.

    None when it makes no difference, as for nearly all.
    """
    asked = item.body.cryptoTransfer.transfers.accountAmounts
    if not spurious_time and not any(transfer.is_approval for transfer in asked):
        return None
    requested: dict[tuple[int, int], bool] = {}
    for transfer in asked:
        if transfer.accountID.HasField("accountNum"):
            key = (entity_id.of_account(transfer.accountID), transfer.amount)
            requested.setdefault(key, transfer.is_approval)
    return requested


@every_item(Order.STAKING_REWARDS)
def staking_rewards(item: RecordItem, batch: Batch) -> None:
    """Rewards paid by the transaction, in tinybars; whatever the result. Source: record.paid_staking_rewards.

    Rows: staking_reward_transfer insert; entity version whose stake period starts yesterday (epoch days),
    unless the transaction itself restarted the period.
    """
    at = item.consensus_timestamp
    yesterday = at // NANOS_PER_DAY - 1
    for reward in item.record.paid_staking_rewards:
        account = entity_id.of_account(reward.accountID)
        batch.insert(
            StakingRewardTransfer,
            account_id=account,
            amount=reward.amount,
            consensus_timestamp=at,
            payer_account_id=item.payer_account_id,
        )
        if not account:
            continue
        batch.mention(account)
        change = batch.latest(Entity, account)
        started = change.columns.get("stake_period_start") if change and change.since == at else None
        if started is None or started < yesterday:
            batch.change_entity(item, id=account, stake_period_start=yesterday)


@every_item(Order.LOOKUPS)
def transaction_hash(item: RecordItem, batch: Batch) -> None:
    """Hash -> consensus timestamp: the first 32 bytes and the rest of record.transactionHash (SHA-384)."""
    if (
        not batch.persist.transaction_hash
        or item.transaction_type in batch.persist.transaction_hash_exclusion
    ):
        return
    value = item.record.transactionHash
    if len(value) not in (HASH_LENGTH, FULL_HASH_LENGTH):
        return
    batch.insert(
        TransactionHash,
        consensus_timestamp=item.consensus_timestamp,
        hash=value[:HASH_LENGTH],
        hash_suffix=value[HASH_LENGTH:] or None,
        payer_account_id=item.payer_account_id,
    )


@every_item(Order.LOOKUPS)
def entity_transactions(item: RecordItem, batch: Batch) -> None:
    """One row per entity the transaction touches; off unless configured."""
    if not batch.mentioned:
        return
    for entity in sorted(batch.mentioned - batch.persist.entity_transaction_exclusion):
        batch.insert(
            EntityTransaction,
            consensus_timestamp=item.consensus_timestamp,
            entity_id=entity,
            payer_account_id=item.payer_account_id,
            result=item.result,
            type=item.transaction_type,
        )


def _signed(value: int) -> Any:
    """An unsigned 64-bit number as the signed one with the same bits: what a bigint column holds."""
    return value - (1 << 64) if value >= 1 << 63 else value
