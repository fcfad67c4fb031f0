"""Allowances of hbar: the amount in tinybars that an owner lets a spender take.

Transfers lower them (`transfer.py`). Allowances of tokens and NFTs, which the same transactions grant, are in
`tokens`.
"""

from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import handles
from ledger.models import CryptoAllowance
from ledger.stream.record.item import RecordItem
from mirror.core.values import entity_id


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
