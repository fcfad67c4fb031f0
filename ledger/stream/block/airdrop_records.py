"""Pending airdrops (HIP-904) of a block: airdropped tokens that are not transferred in the result."""

from collections.abc import Iterable, Iterator
from typing import Any

from ledger.stream.block.state_after import StateAfter
from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import PendingAirdropId, PendingAirdropRecord


def pending_airdrops(body: Any, results: Iterable[Any], state: StateAfter) -> list[Any]:
    """Return the PendingAirdropRecords of a body; `results` are the TokenTransferLists of its result."""
    received = set(_received(results))
    pending: list[Any] = []
    # Backward, as the state is unwound: one transaction may name a receiver twice.
    for transfers in reversed(body.token_transfers):
        token = transfers.token
        token_id = entity_id.from_token(token)
        sender = next((amount.accountID for amount in transfers.transfers if amount.amount < 0), None)
        for nft in reversed(transfers.nftTransfers):
            receiver = _resolved(nft.receiverAccountID, state)
            if (token_id, nft.serialNumber, entity_id.from_account(receiver)) in received:
                continue
            identifier = PendingAirdropId(
                sender_id=_resolved(nft.senderAccountID, state), receiver_id=receiver
            )
            identifier.non_fungible_token.token_ID.CopyFrom(token)
            identifier.non_fungible_token.serial_number = nft.serialNumber
            pending.append(PendingAirdropRecord(pending_airdrop_id=identifier))
        for amount in reversed(transfers.transfers):
            receiver = _resolved(amount.accountID, state)
            if sender is None or amount.amount <= 0:
                continue
            if (token_id, 0, entity_id.from_account(receiver)) in received:
                continue
            identifier = PendingAirdropId(
                sender_id=_resolved(sender, state), receiver_id=receiver, fungible_token_type=token
            )
            record = PendingAirdropRecord(pending_airdrop_id=identifier)
            record.pending_airdrop_value.amount = state.take_airdrop(identifier, amount.amount)
            pending.append(record)
    pending.reverse()
    return pending


def end_airdrops(identifiers: Iterable[Any], results: Iterable[Any], state: StateAfter) -> None:
    """Note that the airdrops of PendingAirdropIds were pending before they were claimed or cancelled.

    `results` are the TokenTransferLists of that transaction's result: a claim tells the amount, unless the
    receiver claims that of several senders at once.
    """
    credits: dict[tuple[int, int], int] = {}
    for transfers in results:
        token = entity_id.from_token(transfers.token)
        for amount in transfers.transfers:
            if amount.amount > 0:
                credits[token, entity_id.from_account(amount.accountID)] = amount.amount
    ended: dict[tuple[int, int], list[Any]] = {}
    for identifier in identifiers:
        if identifier.HasField("fungible_token_type"):
            receiver = entity_id.from_account(_resolved(identifier.receiver_id, state))
            token = entity_id.from_token(identifier.fungible_token_type)
            ended.setdefault((token, receiver), []).append(identifier)
    for credit, together in ended.items():
        for identifier in together:
            state.end_airdrop(identifier, credits.get(credit) if len(together) == 1 else None)


def _received(results: Iterable[Any]) -> Iterator[tuple[int, int, int]]:
    """Yield token, serial number (0 for amounts) and account of every credit."""
    for transfers in results:
        token = entity_id.from_token(transfers.token)
        for amount in transfers.transfers:
            if amount.amount > 0:
                yield token, 0, entity_id.from_account(amount.accountID)
        for nft in transfers.nftTransfers:
            yield token, nft.serialNumber, entity_id.from_account(nft.receiverAccountID)


def _resolved(account: Any, state: StateAfter) -> Any:
    """Return the account by its number, if it is named by an alias and was changed."""
    if account.WhichOneof("account") == "alias":
        return state.account(account.alias) or account
    return account
