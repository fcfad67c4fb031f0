"""Crypto service, allowances of tokens and NFTs (HIP-336); those of hbar are the ledger's.

Where a body repeats itself, its last entry counts.
"""

from typing import Any

from ledger.ingest.batch import Batch
from ledger.ingest.registry import handles
from ledger.stream.record.item import RecordItem
from mirror.values import entity_id
from tokens.models import Nft, NftAllowance, TokenAllowance
from tokens.models.nft import KEEP


@handles("CRYPTOAPPROVEALLOWANCE")
def approve_nft_allowances(item: RecordItem, batch: Batch) -> None:
    """A spender may take single serials, or all an owner has of a token, now and later; or no longer.

    Source: body.cryptoApproveAllowance.nftAllowances. Rows: nft_allowance version, nft version per serial.
    """
    at = item.consensus_timestamp
    for_all: set[tuple[int, int, int]] = set()
    serials: set[tuple[int, int]] = set()
    for allowance in reversed(item.body.cryptoApproveAllowance.nftAllowances):
        owner = _owner(item, batch, allowance)
        if not owner:
            continue
        spender, token = entity_id.of_account(allowance.spender), entity_id.of_token(allowance.tokenId)
        # A spender by alias, which the network resolves and the record does not tell, is not known here.
        approved = KEEP if allowance.spender.WhichOneof("account") == "alias" else spender or None
        delegating = entity_id.of_account(allowance.delegating_spender)
        batch.mention(delegating, owner, spender, token)
        if allowance.HasField("approved_for_all") and (owner, spender, token) not in for_all:
            for_all.add((owner, spender, token))
            batch.upsert(
                NftAllowance,
                since=at,
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
                since=at,
                token_id=token,
                serial_number=serial,
                account_id=owner,
                delegating_spender=delegating or None,
                spender=approved,
            )


@handles("CRYPTOAPPROVEALLOWANCE")
def approve_token_allowances(item: RecordItem, batch: Batch) -> None:
    """A spender may take an amount of a fungible token, in its smallest unit; 0 revokes.

    Source: body.cryptoApproveAllowance.tokenAllowances. Rows: token_allowance version.
    """
    seen: set[tuple[int, int, int]] = set()
    for allowance in reversed(item.body.cryptoApproveAllowance.tokenAllowances):
        owner = _owner(item, batch, allowance)
        spender, token = entity_id.of_account(allowance.spender), entity_id.of_token(allowance.tokenId)
        if not owner or (owner, spender, token) in seen:
            continue
        seen.add((owner, spender, token))
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
    """No one may spend these serials but their owner, whoever that is.

    Source: body.cryptoDeleteAllowance.nftAllowances. Rows: nft version per serial.
    """
    for allowance in item.body.cryptoDeleteAllowance.nftAllowances:
        owner = entity_id.of_account(allowance.owner) or item.payer_account_id
        token = entity_id.of_token(allowance.token_id)
        for serial in allowance.serial_numbers:
            batch.upsert(Nft, since=item.consensus_timestamp, token_id=token, serial_number=serial)
        batch.mention(owner, token)


def _owner(item: RecordItem, batch: Batch, allowance: Any) -> int:
    """The payer, unless the allowance names another; 0 when that one is not known."""
    if not allowance.HasField("owner"):
        return item.payer_account_id
    owner = batch.account(item, allowance.owner, "owner of an allowance")
    return item.payer_account_id if owner == 0 else owner or 0
