"""Hbar that moves: transfers of records, allowances and the transfers that use them up, staking rewards.

Amounts are in tinybars. Allowances of tokens and NFTs, which the same transactions grant, are in `tokens`.
"""

from typing import Any

from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import Order, every_item, handles
from ledger.models import CryptoAllowance, CryptoTransfer, Entity, StakingRewardTransfer
from ledger.stream.record_item import RecordItem
from mirror.core.values import entity_id
from mirror.core.values.hapi.transaction_types import NUMBERS
from mirror.core.values.timestamp import NANOS_PER_DAY

CRYPTO_TRANSFER = NUMBERS["CRYPTOTRANSFER"]

# Until the end of 2019 records of failed transfers listed the transfers that were requested.
SPURIOUS_TRANSFERS_BEFORE = 1_577_836_799_000_000_000


@handles("CRYPTOAPPROVEALLOWANCE")
def approve_hbar_allowances(item: RecordItem, batch: Batch) -> None:
    """Grant hbar allowances; an amount of 0 revokes. The last entry of an owner and spender counts.

    Source: body.cryptoApproveAllowance.cryptoAllowances; without an owner the payer grants.
    Rows: crypto_allowance version.
    """
    granted = set()
    for allowance in reversed(item.body.cryptoApproveAllowance.cryptoAllowances):
        # BODY
        owner = batch.account(item, allowance.owner, "owner of an hbar allowance")
        if owner is None:
            continue
        owner = owner or item.payer_account_id
        spender = entity_id.from_account(allowance.spender)
        if (owner, spender) in granted:
            continue
        granted.add((owner, spender))
        # ROWS
        batch.mention(owner, spender)
        batch.upsert(
            CryptoAllowance,
            since=item.consensus_timestamp,
            owner=owner,
            spender=spender,
            amount=allowance.amount,
            amount_granted=allowance.amount,
            payer_account_id=item.payer_account_id,
        )


@handles("CRYPTOTRANSFER")
def requested_transfers(item: RecordItem, batch: Batch) -> None:
    """Lower the allowances that requested transfers use up.

    Source: body.cryptoTransfer.transfers; sender_id of the function result, or the payer, for the spender.
    Rows: crypto_allowance amount, silently; transaction.itemized_transfer, if configured.
    """
    persist = batch.persist
    if not persist.itemized_transfers and not (persist.track_allowance and item.spends_allowances):
        return
    itemized: list[dict[str, Any]] | None = [] if persist.itemized_transfers else None
    for transfer in item.body.cryptoTransfer.transfers.accountAmounts:
        # BODY
        spends = transfer.is_approval and transfer.amount < 0 and persist.track_allowance
        if not spends and itemized is None:
            continue
        account = batch.account(item, transfer.accountID, "account of a requested transfer")
        if account is None:
            continue
        # ROWS
        if itemized is not None:
            batch.mention(account)
            itemized.append(
                {"amount": transfer.amount, "entity_id": account or None, "is_approval": transfer.is_approval}
            )
        if spends:
            batch.upsert(
                CryptoAllowance,
                owner=account,
                spender=item.spender_account_id,
                amount=transfer.amount,
                payer_account_id=item.payer_account_id,
            )
    if itemized:
        batch.amend_transaction("itemized_transfer", itemized)


@every_item(Order.HBAR_TRANSFERS)
def crypto_transfers(item: RecordItem, batch: Batch) -> None:
    """Store the hbar that moved, fees included, whatever the result. Source: record.transferList.

    Rows: crypto_transfer insert; entity balance, silently: a balance change starts no new version.
    """
    if not batch.persist.crypto_transfer_amounts:
        return
    timestamp, payer = item.consensus_timestamp, item.payer_account_id
    spurious_time = timestamp < SPURIOUS_TRANSFERS_BEFORE and not item.successful
    # It makes no difference for nearly all transactions.
    matters = item.transaction_type == CRYPTO_TRANSFER and (spurious_time or item.spends_allowances)
    requested = _approvals(item) if matters else None
    moved = entity_id.amounts_of(item.record.transferList.accountAmounts)
    if batch.mentioned is not None:
        batch.mention(*[account for account, _ in moved])
    if requested:
        errata = "DELETE" if spurious_time else None
        batch.rows_for(CryptoTransfer).extend(
            (
                account,
                timestamp,
                amount,
                payer,
                amount < 0 and requested.get((account, amount), False),
                errata if (account, amount) in requested else None,
            )
            for account, amount in moved
        )
        if errata:
            moved = [each for each in moved if each not in requested]
    else:
        batch.rows_for(CryptoTransfer).extend(
            [(account, timestamp, amount, payer, False, None) for account, amount in moved]
        )
    if batch.persist.track_balance:
        batch.changes_for(Entity).add_amounts(moved, timestamp)


def _approvals(item: RecordItem) -> dict[tuple[int, int], bool]:
    """Return is_approval of the requested transfers by account and amount; the first of equal ones counts."""
    approvals: dict[tuple[int, int], bool] = {}
    for transfer in item.body.cryptoTransfer.transfers.accountAmounts:
        if transfer.accountID.HasField("accountNum"):
            key = (entity_id.from_account(transfer.accountID), transfer.amount)
            approvals.setdefault(key, transfer.is_approval)
    return approvals


@every_item(Order.STAKING_REWARDS)
def staking_rewards(item: RecordItem, batch: Batch) -> None:
    """Store the staking rewards paid, whatever the result. Source: record.paid_staking_rewards.

    Rows: staking_reward_transfer insert; entity version whose stake period starts yesterday (epoch days),
    unless the transaction itself restarted the period.
    """
    rewards = item.record.paid_staking_rewards
    if not rewards:
        return
    timestamp = item.consensus_timestamp
    yesterday = timestamp // NANOS_PER_DAY - 1
    for reward in rewards:
        account = entity_id.from_account(reward.accountID)
        batch.insert(
            StakingRewardTransfer,
            account_id=account,
            amount=reward.amount,
            consensus_timestamp=timestamp,
            payer_account_id=item.payer_account_id,
        )
        if not account:
            continue
        batch.mention(account)
        if "stake_period_start" not in batch.columns_set_at(Entity, account, timestamp):
            batch.change_entity(item, id=account, stake_period_start=yesterday)
