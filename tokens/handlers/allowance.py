"""Allowances of tokens and NFTs (HIP-336); those of hbar are in `ledger`.

Where a body repeats itself, its last entry counts.
"""

from typing import Any

from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import handles
from ledger.stream.record_item import RecordItem
from mirror.core.values import entity_id
from tokens.models import Nft, NftAllowance, TokenAllowance
from tokens.models.nft import KEEP


@handles("CRYPTOAPPROVEALLOWANCE")
def approve_nft_allowances(item: RecordItem, batch: Batch) -> None:
    """Allow a spender to take single serials, or all serials of a token an owner has or gets; or revoke it.

    Source: body.cryptoApproveAllowance.nftAllowances. Rows: nft_allowance version, nft version per serial.
    """
    timestamp = item.consensus_timestamp
    for_all: set[tuple[int, int, int]] = set()
    serials: set[tuple[int, int]] = set()
    for allowance in reversed(item.body.cryptoApproveAllowance.nftAllowances):
        owner = _owner(item, batch, allowance)
        if not owner:
            continue
        spender, token = entity_id.from_account(allowance.spender), entity_id.from_token(allowance.tokenId)
        # The network resolves a spender given by alias, but the record does not name the account.
        approved = KEEP if allowance.spender.WhichOneof("account") == "alias" else spender or None
        delegating = entity_id.from_account(allowance.delegating_spender)
        batch.mention(delegating, owner, spender, token)
        if allowance.HasField("approved_for_all") and (owner, spender, token) not in for_all:
            for_all.add((owner, spender, token))
            batch.upsert(
                NftAllowance,
                since=timestamp,
                owner=owner,
                spender=spender,
                token_id=token,
                approved_for_all=allowance.approved_for_all.value,
                payer_account_id=item.payer_account_id,
            )
        for serial in allowance.serial_numbers:
            if (token, serial) in serials:
                continue
            serials.add((token, serial))
            batch.upsert(
                Nft,
                since=timestamp,
                token_id=token,
                serial_number=serial,
                account_id=owner,
                delegating_spender=delegating or None,
                spender=approved,
            )


@handles("CRYPTOAPPROVEALLOWANCE")
def approve_token_allowances(item: RecordItem, batch: Batch) -> None:
    """Allow a spender to take an amount of a fungible token, in its smallest unit; 0 revokes.

    Source: body.cryptoApproveAllowance.tokenAllowances. Rows: token_allowance version.
    """
    granted: set[tuple[int, int, int]] = set()
    for allowance in reversed(item.body.cryptoApproveAllowance.tokenAllowances):
        owner = _owner(item, batch, allowance)
        spender, token = entity_id.from_account(allowance.spender), entity_id.from_token(allowance.tokenId)
        if not owner or (owner, spender, token) in granted:
            continue
        granted.add((owner, spender, token))
        batch.upsert(
            TokenAllowance,
            since=item.consensus_timestamp,
            owner=owner,
            spender=spender,
            token_id=token,
            amount=allowance.amount,
            amount_granted=allowance.amount,
            payer_account_id=item.payer_account_id,
        )
        batch.mention(owner, spender, token)


@handles("CRYPTODELETEALLOWANCE")
def delete_nft_allowances(item: RecordItem, batch: Batch) -> None:
    """Clear the spenders of serials. Source: body.cryptoDeleteAllowance.nftAllowances. Rows: nft versions."""
    for allowance in item.body.cryptoDeleteAllowance.nftAllowances:
        owner = entity_id.from_account(allowance.owner) or item.payer_account_id
        token = entity_id.from_token(allowance.token_id)
        for serial in allowance.serial_numbers:
            batch.upsert(Nft, since=item.consensus_timestamp, token_id=token, serial_number=serial)
        batch.mention(owner, token)


def _owner(item: RecordItem, batch: Batch, allowance: Any) -> int:
    """Return the owner the allowance names, or else the payer; 0 when the owner is not known."""
    if not allowance.HasField("owner"):
        return item.payer_account_id
    owner = batch.account(item, allowance.owner, "owner of an allowance")
    return item.payer_account_id if owner == 0 else owner or 0
