"""Transfers of tokens, and what ends where an account dissociates from a deleted token."""

from typing import Any, NamedTuple

from django.db.backends.utils import CursorWrapper

from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import Order, every_item
from ledger.stream.record_item import RecordItem
from mirror.core.values import entity_id
from mirror.core.values.hapi.transaction_types import NUMBERS
from tokens.handlers.nft import MAX_LISTED, NFT_COLUMNS, nft_transfers
from tokens.handlers.relationship import FAIL_INVALID, move_balance
from tokens.models import AssessedCustomFee, Token, TokenAllowance, TokenTransfer


class Dissociation(NamedTuple):
    """An account gives up a deleted token, and with it `amount` units or serials (negative)."""

    consensus_timestamp: int
    account_id: int
    token_id: int
    amount: int
    payer_account_id: int


def dissociate_deleted(cursor: CursorWrapper, dissociations: list[Dissociation]) -> None:
    """Delete the serials the accounts held; where there were none, store a transfer of units.

    A serial can't change again after that, so this may wait for the end of the batch.
    Rows: nft and nft_history; transaction.nft_transfer, with each serial, or if they are too many with the
    amount in place of a serial number; token_transfer.
    """
    history = NFT_COLUMNS.replace("timestamp_range", "int8range(lower(timestamp_range), consensus_timestamp)")
    cursor.execute(
        f"""
        with dissociated as (
            select * from unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
                as d (consensus_timestamp, account_id, token_id, amount, payer_account_id)
        ), held as materialized (
            select n.*, d.consensus_timestamp from nft n join dissociated d using (account_id, token_id)
            where lower(n.timestamp_range) < d.consensus_timestamp
        ), archived as (
            insert into nft_history ({NFT_COLUMNS}) select {history} from held
        ), ended as (
            update nft n set account_id = null, deleted = true, delegating_spender = null, spender = null,
                timestamp_range = int8range(h.consensus_timestamp, null)
            from held h where n.token_id = h.token_id and n.serial_number = h.serial_number
        ), noted as (
            update transaction t set nft_transfer = ended.transfers
            from (
                select consensus_timestamp, jsonb_agg(jsonb_build_object(
                    'is_approval', false, 'receiver_account_id', null, 'sender_account_id', account_id,
                    'serial_number', serial_number, 'token_id', token_id) order by token_id, serial_number
                ) as transfers
                from (
                    select distinct consensus_timestamp, account_id, token_id,
                        case when count(*) over listed > {MAX_LISTED:d} then amount else serial_number end
                            as serial_number
                    from dissociated join held using (consensus_timestamp, account_id, token_id)
                    window listed as (partition by consensus_timestamp)
                ) moved
                group by consensus_timestamp
            ) ended
            where t.consensus_timestamp = ended.consensus_timestamp
        )
        insert into token_transfer
            (account_id, amount, consensus_timestamp, is_approval, payer_account_id, token_id)
        select account_id, amount, consensus_timestamp, false, payer_account_id, token_id from dissociated d
        where not exists (select 1 from held h where h.token_id = d.token_id
            and h.consensus_timestamp = d.consensus_timestamp)
        """,
        [list(column) for column in zip(*dissociations, strict=True)],
    )


CRYPTO_TRANSFER = NUMBERS["CRYPTOTRANSFER"]
TOKEN_DISSOCIATE = NUMBERS["TOKENDISSOCIATE"]


# (token, account, amount) of a transfer.
Transfer = tuple[int, int, int]


@every_item(Order.TOKEN_TRANSFERS)
def token_transfers(item: RecordItem, batch: Batch) -> None:
    """Store the tokens moved, in their smallest units, and lower the allowances they used up.

    Source: record.tokenTransferLists; body.cryptoTransfer for approvals.
    Rows: token_transfer insert; token_account balance and token_allowance amount, silently; those of
    `nft_transfers`.
    """
    lists = item.record.tokenTransferLists
    requests_tokens = item.transaction_type == CRYPTO_TRANSFER and item.body.cryptoTransfer.tokenTransfers
    if not (lists or requests_tokens) or not batch.persist.tokens:
        return
    if not (item.successful or item.result == FAIL_INVALID):
        return
    approved = _approved(item) if requests_tokens else []
    has_serials = False
    for transfer_list in lists:
        if transfer_list.transfers:
            _fungible_transfers(item, batch, transfer_list, approved)
        has_serials = has_serials or bool(transfer_list.nftTransfers)
    if has_serials:
        nft_transfers(item, batch)
    if approved and batch.persist.track_allowance:
        _use_allowances(item, batch, approved)


def _fungible_transfers(item: RecordItem, batch: Batch, transfer_list: Any, approved: list[Transfer]) -> None:
    token, transfers = entity_id.from_token(transfer_list.token), transfer_list.transfers
    time, payer, track_balance = item.consensus_timestamp, item.payer_account_id, batch.persist.track_balance
    # The units of a deleted token are gone; those of an expired one return to the treasury.
    deleted = item.transaction_type == TOKEN_DISSOCIATE and len(transfers) == 1
    batch.mention(token)
    add = batch.rows_for(TokenTransfer).append
    for transfer in transfers:
        account, amount = entity_id.from_account(transfer.accountID), transfer.amount
        is_approval = bool(approved) and _is_approval(item, transfer, (token, account, amount), approved)
        if deleted:
            batch.defer(dissociate_deleted, Dissociation(time, account, token, amount, payer))
            batch.upsert(Token, token_id=token, total_supply=amount)
        else:
            add((token, account, time, amount, payer, is_approval))
        batch.mention(account)
        if track_balance:
            move_balance(batch, account, token, amount, time)


def _approved(item: RecordItem) -> list[Transfer]:
    """Return the requested transfers out of an allowance; an account given by alias is 0 and matches none."""
    return [
        (
            entity_id.from_token(transfer_list.token),
            entity_id.from_account(transfer.accountID),
            transfer.amount,
        )
        for transfer_list in item.body.cryptoTransfer.tokenTransfers
        for transfer in transfer_list.transfers
        if transfer.is_approval
    ]


def _is_approval(item: RecordItem, transfer: Any, key: Transfer, approved: list[Transfer]) -> bool:
    """Return whether a debit was made out of an allowance.

    If the body has the very same transfer, that one decides. If it has not (the amount includes fees), any
    approved transfer of the account and token does.
    """
    if key[2] >= 0 or not any(key[:2] == other[:2] for other in approved):
        return False
    return bool(transfer.is_approval) or not any(
        transfer == requested and key[0] == entity_id.from_token(transfer_list.token)
        for transfer_list in item.body.cryptoTransfer.tokenTransfers
        for requested in transfer_list.transfers
    )


def _use_allowances(item: RecordItem, batch: Batch, approved: list[Transfer]) -> None:
    """Lower allowances; the spender is the payer, or the account for which a contract moved the tokens."""
    spender = item.spender_account_id
    for token, owner, amount in approved:
        if amount < 0:
            batch.upsert(
                TokenAllowance,
                owner=owner,
                spender=spender,
                token_id=token,
                amount=amount,
                payer_account_id=item.payer_account_id,
            )


@every_item(Order.TOKEN_TRANSFERS)
def assessed_custom_fees(item: RecordItem, batch: Batch) -> None:
    """Store the custom fees charged, in the smallest unit of `token_id`, or without it in tinybars.

    Source: record.assessed_custom_fees. Rows: assessed_custom_fee insert.
    """
    fees = item.record.assessed_custom_fees
    if not fees or not (item.successful or item.result == FAIL_INVALID):
        return
    for fee in fees:
        collector = entity_id.from_account(fee.fee_collector_account_id)
        token = entity_id.from_token(fee.token_id)
        payers = [entity_id.from_account(account) for account in fee.effective_payer_account_id]
        batch.insert(
            AssessedCustomFee,
            amount=fee.amount,
            collector_account_id=collector,
            consensus_timestamp=item.consensus_timestamp,
            effective_payer_account_ids=payers,
            payer_account_id=item.payer_account_id,
            token_id=token or None,
        )
        batch.mention(collector, token, *payers)
