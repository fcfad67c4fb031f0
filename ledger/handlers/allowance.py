"""Allowances of hbar: what an owner lets a spender take, and what is left of it. Amounts in tinybars.

Those of tokens and NFTs, which the same transactions grant, are with the tokens.
"""

from typing import Any

from ledger.ingest.batch import Batch
from ledger.ingest.registry import handles
from ledger.models import CryptoAllowance
from ledger.stream.record.item import RecordItem
from mirror.values import entity_id


@handles("CRYPTOAPPROVEALLOWANCE")
def crypto_approve(item: RecordItem, batch: Batch) -> None:
    """Hbar allowances are granted, or revoked by an amount of 0; the last entry of a pair counts.

    Source: body.cryptoApproveAllowance.cryptoAllowances; no owner means the payer.
    Rows: crypto_allowance version.
    """
    granted = set()
    for allowance in reversed(item.body.cryptoApproveAllowance.cryptoAllowances):
        # BODY
        owner = batch.account(item, allowance.owner, "owner of an hbar allowance")
        if owner is None:
            continue
        owner = owner or item.payer_account_id
        spender = entity_id.of_account(allowance.spender)
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
    """The hbar transfers a body asks for; those out of an allowance lower it, the payer being the spender.

    Source: body.cryptoTransfer.transfers.
    Rows: crypto_allowance amount, silently; transaction.itemized_transfer, if wanted.
    """
    itemized: list[dict[str, Any]] | None = [] if batch.persist.itemized_transfers else None
    for transfer in item.body.cryptoTransfer.transfers.accountAmounts:
        # BODY
        spends = transfer.is_approval and transfer.amount < 0 and batch.persist.track_allowance
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
                spender=item.payer_account_id,
                amount=transfer.amount,
                payer_account_id=item.payer_account_id,
            )
    if itemized:
        batch.transaction["itemized_transfer"] = itemized
