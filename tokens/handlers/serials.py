"""Serials of non-fungible tokens that change hands, by whatever transaction."""

from functools import partial
from typing import Any

from ledger.ingest.batch import Batch
from ledger.stream.record.item import RecordItem
from mirror.values import entity_id
from tokens.handlers.bulk import change_treasury
from tokens.models import Nft, TokenAccount

# As a serial number in a record: all serials the treasury holds, which go to the next treasury.
ALL_SERIALS = -1


def nft_transfers(item: RecordItem, batch: Batch) -> None:
    """Every serial moved is noted with the transaction; its receiver owns it, and no one may spend it.

    A mint has no sender; a burn or wipe no receiver, and its handler ends the serial.
    Source: record.tokenTransferLists; body.cryptoTransfer for what was approved.
    Rows: transaction.nft_transfer; nft version; token_account balance, silently. A change of treasury moves
    serials no one has listed, once all rows before it are written.
    """
    # BODY
    moved = _moved(item)
    # ROWS
    batch.transaction["nft_transfer"] = moved
    at = item.consensus_timestamp
    treasury_change: dict[str, Any] | None = None
    for transfer in moved:
        token, serial = transfer["token_id"], transfer["serial_number"]
        sender, receiver = transfer["sender_account_id"], transfer["receiver_account_id"]
        batch.mention(sender or 0, receiver or 0, token)
        if serial == ALL_SERIALS:
            treasury_change = treasury_change or transfer
            continue
        if receiver:
            batch.upsert(Nft, since=at, token_id=token, serial_number=serial, account_id=receiver)
        if batch.persist.track_balance and treasury_change is None:
            _move_balance(batch, sender, token, -1, at)
            _move_balance(batch, receiver, token, 1, at)
    if treasury_change:
        batch.barrier(
            partial(
                change_treasury,
                token=treasury_change["token_id"],
                previous=treasury_change["sender_account_id"],
                new=treasury_change["receiver_account_id"],
                at=at,
                track_balance=batch.persist.track_balance,
            )
        )


def _moved(item: RecordItem) -> list[dict[str, Any]]:
    """What transaction.nft_transfer says: the transfers of all tokens in the order of the record."""
    approved = _approved(item)
    moved = []
    for transfer_list in item.record.tokenTransferLists:
        if not transfer_list.nftTransfers:
            continue
        token = entity_id.of_token(transfer_list.token)
        for transfer in transfer_list.nftTransfers:
            sender = entity_id.of_account(transfer.senderAccountID)
            receiver = entity_id.of_account(transfer.receiverAccountID)
            serial = transfer.serialNumber
            moved.append(
                {
                    "is_approval": approved.get((token, serial, sender, receiver), False),
                    "receiver_account_id": receiver or None,
                    "sender_account_id": sender or None,
                    "serial_number": serial,
                    "token_id": token,
                }
            )
    return moved


def _approved(item: RecordItem) -> dict[tuple[int, int, int, int], bool]:
    """(token, serial, sender, receiver) -> is_approval of what the body asks for, the first of equal ones."""
    approved: dict[tuple[int, int, int, int], bool] = {}
    if item.body.WhichOneof("data") != "cryptoTransfer":
        return approved
    for transfer_list in item.body.cryptoTransfer.tokenTransfers:
        if not transfer_list.nftTransfers:
            continue
        token = entity_id.of_token(transfer_list.token)
        for transfer in transfer_list.nftTransfers:
            sender = entity_id.of_account(transfer.senderAccountID)
            receiver = entity_id.of_account(transfer.receiverAccountID)
            approved.setdefault((token, transfer.serialNumber, sender, receiver), transfer.is_approval)
    return approved


def _move_balance(batch: Batch, account: int | None, token: int, amount: int, at: int) -> None:
    if account:
        batch.upsert(
            TokenAccount,
            account_id=account,
            token_id=token,
            associated=True,
            balance=amount,
            balance_timestamp=at,
        )
