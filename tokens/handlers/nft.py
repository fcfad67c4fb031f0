"""NFTs: serials that change hands in any transaction, or get new metadata.

Mint, burn and wipe are in `token.py`.
"""

import json
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from django.db.backends.utils import CursorWrapper

from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import handles
from ledger.stream.record_item import RecordItem
from mirror.core.values import entity_id
from tokens.handlers.relationship import move_balance
from tokens.models import Nft
from tokens.models.nft import KEEP

# This serial number in a record stands for all serials of the treasury, which go to the next treasury.
ALL_SERIALS = -1
# A transaction that moves more serials at once than this does not list them: its row would be too long.
MAX_LISTED = 10_000

# The columns of nft and nft_history.
NFT_COLUMNS = """account_id, created_timestamp, deleted, delegating_spender, metadata, serial_number, spender,
    token_id, timestamp_range"""


@handles("TOKENUPDATENFTS")
def token_update_nfts(item: RecordItem, batch: Batch) -> None:
    """Replace the metadata of serials (HIP-657). Source: body.token_update_nfts. Rows: nft versions."""
    # BODY
    body = item.body.token_update_nfts
    if not body.HasField("metadata") or not batch.persist.tokens:
        return
    # ROWS
    for serial in body.serial_numbers:
        batch.upsert(
            Nft,
            since=item.consensus_timestamp,
            token_id=item.entity_id,
            serial_number=serial,
            metadata=body.metadata.value,
            delegating_spender=KEEP,
            spender=KEEP,
        )


def nft_transfers(item: RecordItem, batch: Batch) -> None:
    """Give serials to their receivers, and store the transfers with the transaction; spenders are cleared.

    A mint has no sender. A burn or wipe has no receiver; its handler deletes the serial.
    Source: record.tokenTransferLists; body.cryptoTransfer for approvals.
    Rows: transaction.nft_transfer; nft version; token_account balance, silently. A change of treasury lists
    and moves the serials once all rows before it are written.
    """
    # BODY
    transfers = _transfers(item)
    # ROWS
    batch.amend_transaction("nft_transfer", transfers)
    timestamp = item.consensus_timestamp
    treasury_change: dict[str, Any] | None = None
    for transfer in transfers:
        token, serial = transfer["token_id"], transfer["serial_number"]
        sender, receiver = transfer["sender_account_id"], transfer["receiver_account_id"]
        batch.mention(token)
        batch.mention_nft_parties(sender or 0, receiver or 0)
        if serial == ALL_SERIALS:
            treasury_change = treasury_change or transfer
            continue
        if receiver:
            batch.upsert(Nft, since=timestamp, token_id=token, serial_number=serial, account_id=receiver)
        if batch.persist.track_balance and treasury_change is None:
            if sender:
                move_balance(batch, sender, token, -1, timestamp)
            if receiver:
                move_balance(batch, receiver, token, 1, timestamp)
    if treasury_change:
        batch.defer(list_serials, TreasuryChange(timestamp, transfers, treasury_change))
        batch.barrier(
            partial(
                _change_treasury,
                token=treasury_change["token_id"],
                previous=treasury_change["sender_account_id"],
                new=treasury_change["receiver_account_id"],
                time=timestamp,
                track_balance=batch.persist.track_balance,
            )
        )


def _transfers(item: RecordItem) -> list[dict[str, Any]]:
    """Return transaction.nft_transfer: the transfers of all tokens in the order of the record."""
    approvals: dict[_Move, bool] = {}
    if item.body.HasField("cryptoTransfer"):
        for move, is_approval in _moves(item.body.cryptoTransfer.tokenTransfers):
            # The first of equal ones counts.
            approvals.setdefault(move, is_approval)
    return [
        {
            "is_approval": approvals.get(move, False),
            "receiver_account_id": move.receiver or None,
            "sender_account_id": move.sender or None,
            "serial_number": move.serial,
            "token_id": move.token,
        }
        for move, _ in _moves(item.record.tokenTransferLists)
    ]


class TreasuryChange(NamedTuple):
    """The transfers of a record, and the one of them that stands for all serials of the treasury."""

    consensus_timestamp: int
    transfers: list[dict[str, Any]]
    of_all: dict[str, Any]


def list_serials(cursor: CursorWrapper, changes: list[TreasuryChange]) -> None:
    """List each serial that a change of treasury moves. Rows: transaction.nft_transfer."""
    for timestamp, transfers, of_all in changes:
        cursor.execute(
            "select serial_number from nft where account_id = %s and token_id = %s order by 1 limit %s",
            [of_all["sender_account_id"], of_all["token_id"], MAX_LISTED + 1],
        )
        serials = [serial for (serial,) in cursor.fetchall()]
        if len(serials) > MAX_LISTED:
            continue
        listed = [transfer for transfer in transfers if transfer["serial_number"] != ALL_SERIALS]
        listed += [of_all | {"serial_number": serial} for serial in serials]
        cursor.execute(
            "update transaction set nft_transfer = %s::jsonb where consensus_timestamp = %s",
            [json.dumps(listed), timestamp],
        )


class _Move(NamedTuple):
    token: int
    serial: int
    sender: int
    receiver: int


def _moves(lists: Iterable[Any]) -> Iterator[tuple[_Move, bool]]:
    """Yield the serials that TokenTransferList messages move, and is_approval of each."""
    for transfers in lists:
        token = entity_id.from_token(transfers.token)
        for each in transfers.nftTransfers:
            sender, receiver = map(entity_id.from_account, (each.senderAccountID, each.receiverAccountID))
            yield _Move(token, each.serialNumber, sender, receiver), each.is_approval


def _change_treasury(
    cursor: CursorWrapper,
    *,
    token: int,
    previous: int | None,
    new: int | None,
    time: int,
    track_balance: bool,
) -> None:
    """Move the previous treasury's serials, without spenders. Rows: nft, nft_history, token_account."""
    cursor.execute(
        f"""
        insert into nft_history ({NFT_COLUMNS})
        select {NFT_COLUMNS.replace("timestamp_range", "int8range(lower(timestamp_range), %s)")}
        from nft where account_id = %s and token_id = %s
        """,
        [time, previous, token],
    )
    cursor.execute(
        """
        update nft set account_id = %s, delegating_spender = null, spender = null,
            timestamp_range = int8range(%s, null)
        where account_id = %s and token_id = %s
        """,
        [new, time, previous, token],
    )
    if track_balance:
        moved = cursor.rowcount
        # The balance of a token from before a start in the middle counts also serials that were never seen.
        cursor.execute(
            """
            select balance from token_account
            where account_id = %s and token_id = %s
                and (select created_timestamp from entity where id = %s) is null
            """,
            [previous, token, token],
        )
        (balance,) = cursor.fetchone() or (None,)
        cursor.execute(
            """
            update token_account
            set balance = case when account_id = %s then 0 else balance + %s end, balance_timestamp = %s
            where account_id in (%s, %s) and token_id = %s
            """,
            [previous, max(moved, balance or 0), time, previous, new, token],
        )
