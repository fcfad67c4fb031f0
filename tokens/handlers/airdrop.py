"""Airdrops (HIP-904), tokens offered to accounts that are not associated yet: offer, cancel, claim."""

from typing import Any

from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import handles
from ledger.stream.record_item import RecordItem
from mirror.core.db.schema.enums import AirdropState
from mirror.core.values import entity_id
from tokens.handlers.relationship import association
from tokens.models import TokenAccount, TokenAirdrop


@handles("TOKENAIRDROP")
def token_airdrop(item: RecordItem, batch: Batch) -> None:
    """Store the airdrops that wait for their receivers; the amount is the total that waits of the token.

    Source: record.new_pending_airdrops. Rows: token_airdrop version.
    """
    if not batch.persist.token_airdrops:
        return
    for pending in item.record.new_pending_airdrops:
        identifier = pending.pending_airdrop_id
        fungible = identifier.WhichOneof("token_reference") == "fungible_token_type"
        amount = pending.pending_airdrop_value.amount if fungible else None
        _change(item, batch, identifier, AirdropState.PENDING, amount)


@handles("TOKENCANCELAIRDROP")
def token_cancel_airdrop(item: RecordItem, batch: Batch) -> None:
    """Cancel airdrops. Source: body.tokenCancelAirdrop. Rows: token_airdrop version."""
    if batch.persist.token_airdrops:
        for identifier in item.body.tokenCancelAirdrop.pending_airdrops:
            _change(item, batch, identifier, AirdropState.CANCELLED)


@handles("TOKENCLAIMAIRDROP")
def token_claim_airdrop(item: RecordItem, batch: Batch) -> None:
    """Claim airdrops and associate receivers that are not associated yet; the tokens come by transfers.

    Source: body.tokenClaimAirdrop. Rows: token_airdrop version; token_account version of new associations.
    """
    if not batch.persist.token_airdrops:
        return
    for identifier in item.body.tokenClaimAirdrop.pending_airdrops:
        ended = _change(item, batch, identifier, AirdropState.CLAIMED)
        if ended:
            batch.create_if_absent(TokenAccount, **association(item, *ended))


def _change(
    item: RecordItem, batch: Batch, identifier: Any, state: str, amount: int | None = None
) -> tuple[int, int] | None:
    """Set the state of the airdrop that a PendingAirdropId names; return receiver and token, if known."""
    receiver = batch.account(item, identifier.receiver_id, "receiver of an airdrop")
    sender = batch.account(item, identifier.sender_id, "sender of an airdrop")
    if not receiver or not sender:
        return None
    if identifier.WhichOneof("token_reference") == "non_fungible_token":
        token = entity_id.from_token(identifier.non_fungible_token.token_ID)
        serial = identifier.non_fungible_token.serial_number
    else:
        token, serial = entity_id.from_token(identifier.fungible_token_type), 0
    batch.upsert(
        TokenAirdrop,
        since=item.consensus_timestamp,
        receiver_account_id=receiver,
        sender_account_id=sender,
        serial_number=serial,
        token_id=token,
        state=state,
        amount=amount,
    )
    batch.mention(receiver, sender, token)
    return receiver, token
