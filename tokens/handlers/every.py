"""Rows of the token service that any transaction may cause: associations, transfers, fees of its record.

A transaction that ended with FAIL_INVALID may have moved tokens too, so its record counts as well.
"""

from typing import Any

from ledger.ingest.batch import Batch
from ledger.ingest.registry import Order, every_item
from ledger.stream.record.item import RecordItem
from mirror.values import entity_id
from mirror.values.transaction_types import NUMBERS
from tokens.handlers.bulk import Dissociation, dissociate_deleted
from tokens.handlers.serials import nft_transfers
from tokens.models import AssessedCustomFee, Token, TokenAccount, TokenAllowance, TokenTransfer

FAIL_INVALID = 23
CRYPTO_TRANSFER = NUMBERS["CRYPTOTRANSFER"]
TOKEN_CREATION = NUMBERS["TOKENCREATION"]
TOKEN_DISSOCIATE = NUMBERS["TOKENDISSOCIATE"]

# (token, account, amount) of a transfer.
Requested = tuple[int, int, int]


@every_item(Order.TOKEN_TRANSFERS)
def automatic_associations(item: RecordItem, batch: Batch) -> None:
    """Relationships the transaction started by itself; those of a new token start with its creation.

    Source: record.automatic_token_associations. Rows: token_account version.
    """
    associations = item.record.automatic_token_associations
    if not associations or not batch.persist.tokens or item.transaction_type == TOKEN_CREATION:
        return
    if not (item.successful or item.result == FAIL_INVALID):
        return
    at = item.consensus_timestamp
    for association in associations:
        account = entity_id.of_account(association.account_id)
        token = entity_id.of_token(association.token_id)
        batch.upsert(
            TokenAccount,
            since=at,
            account_id=account,
            token_id=token,
            associated=True,
            automatic_association=True,
            balance=0,
            balance_timestamp=at,
            created_timestamp=at,
        )
        batch.mention(account, token)


@every_item(Order.TOKEN_TRANSFERS)
def token_transfers(item: RecordItem, batch: Batch) -> None:
    """The tokens moved, in their smallest units, and the allowances used up by it.

    Source: record.tokenTransferLists; body.cryptoTransfer for what was approved.
    Rows: token_transfer insert; token_account balance and token_allowance amount, silently; those of
    `nft_transfers`.
    """
    lists = item.record.tokenTransferLists
    transfers_tokens = item.transaction_type == CRYPTO_TRANSFER and item.body.cryptoTransfer.tokenTransfers
    if not (lists or transfers_tokens) or not batch.persist.tokens:
        return
    if not (item.successful or item.result == FAIL_INVALID):
        return
    approved = _approved(item) if transfers_tokens else []
    serials = False
    for transfer_list in lists:
        if transfer_list.transfers:
            _fungible_transfers(item, batch, transfer_list, approved)
        serials = serials or bool(transfer_list.nftTransfers)
    if serials:
        nft_transfers(item, batch)
    if approved and batch.persist.track_allowance:
        _use_allowances(item, batch, approved)


def _fungible_transfers(
    item: RecordItem, batch: Batch, transfer_list: Any, approved: list[Requested]
) -> None:
    token, transfers = entity_id.of_token(transfer_list.token), transfer_list.transfers
    at, payer, track_balance = item.consensus_timestamp, item.payer_account_id, batch.persist.track_balance
    # Of a deleted token the account's units are gone; of an expired one they return to the treasury.
    deleted = item.transaction_type == TOKEN_DISSOCIATE and len(transfers) == 1
    batch.mention(token)
    for transfer in transfers:
        account, amount = entity_id.of_account(transfer.accountID), transfer.amount
        is_approval = bool(approved) and _is_approval(item, transfer, (token, account, amount), approved)
        if deleted:
            batch.afterwards(dissociate_deleted, Dissociation(at, account, token, amount, payer))
            batch.upsert(Token, token_id=token, total_supply=amount)
        else:
            batch.insert(
                TokenTransfer,
                account_id=account,
                amount=amount,
                consensus_timestamp=at,
                is_approval=is_approval,
                payer_account_id=payer,
                token_id=token,
            )
        batch.mention(account)
        if track_balance:
            batch.upsert(
                TokenAccount,
                account_id=account,
                token_id=token,
                associated=True,
                balance=amount,
                balance_timestamp=at,
            )


def _approved(item: RecordItem) -> list[Requested]:
    """The transfers of the body that ask for an allowance; an account given by alias is 0 and matches
    none.
    """
    return [
        (entity_id.of_token(transfer_list.token), entity_id.of_account(transfer.accountID), transfer.amount)
        for transfer_list in item.body.cryptoTransfer.tokenTransfers
        for transfer in transfer_list.transfers
        if transfer.is_approval
    ]


def _is_approval(item: RecordItem, transfer: Any, moved: Requested, approved: list[Requested]) -> bool:
    """Whether the debit was made under an allowance.

    The very transfer of the body tells; without it (fees are part of the amount) any approved one of the
    account does.
    """
    if moved[2] >= 0 or not any(moved[:2] == requested[:2] for requested in approved):
        return False
    return bool(transfer.is_approval) or not any(
        transfer == requested and moved[0] == entity_id.of_token(transfer_list.token)
        for transfer_list in item.body.cryptoTransfer.tokenTransfers
        for requested in transfer_list.transfers
    )


def _use_allowances(item: RecordItem, batch: Batch, approved: list[Requested]) -> None:
    """The spender is the payer, or the account in whose name a contract moved the tokens."""
    spender = item.payer_account_id
    if item.record.WhichOneof("body") == "contractCallResult":
        spender = entity_id.of_account(item.record.contractCallResult.sender_id)
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
    """The custom fees charged, in the smallest unit of `token_id` or, without it, in tinybars.

    Source: record.assessed_custom_fees. Rows: assessed_custom_fee insert.
    """
    fees = item.record.assessed_custom_fees
    if not fees or not (item.successful or item.result == FAIL_INVALID):
        return
    for fee in fees:
        collector = entity_id.of_account(fee.fee_collector_account_id)
        token = entity_id.of_token(fee.token_id)
        payers = [entity_id.of_account(account) for account in fee.effective_payer_account_id]
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
