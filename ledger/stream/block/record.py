"""The record items of a block, each with the TransactionRecord that a record stream would have had.

A first pass forward makes the items, with parents and success, from the transactions' results. A second pass
backward completes each record by its type, as `StateAfter` is unwound from the end.
"""

from typing import Any

from ledger.stream.block.entity import complete
from ledger.stream.block.items import BlockContent, BlockTransaction
from ledger.stream.block.state import StateAfter
from ledger.stream.errors import StreamFileError
from ledger.stream.record.item import HapiVersion, RecordItem
from ledger.stream.record.record_file import item_failure
from mirror.values.hapi import (
    DecodeError,
    SignedTransaction,
    Transaction,
    TransactionReceipt,
    TransactionRecord,
)
from mirror.values.hashes import sha384


def record_items(block: BlockContent) -> list[RecordItem]:
    """Errors: StreamFileError."""
    items: list[RecordItem] = []
    index = 0
    try:
        for index, transaction in enumerate(block.transactions):
            items.append(_item(index, transaction, items[-1] if items else None, block.hapi_version))
        states = _states(items, block.transactions)
        for index in reversed(range(len(items))):
            complete(items[index], block.transactions[index], states[_top_level(items[index]).index])
    except (DecodeError, ValueError) as error:  # a total below zero
        raise _failure(block, index, error) from error
    return items


def _failure(block: BlockContent, index: int, error: Exception) -> StreamFileError:
    return item_failure(block.name, index, block.transactions[index].position, error)


def _item(
    index: int, content: BlockTransaction, previous: RecordItem | None, hapi_version: HapiVersion
) -> RecordItem:
    transaction, transaction_hash = _transaction(content.signed)
    item = RecordItem(
        index,
        transaction,
        _record(content.result, transaction_hash),
        previous=previous,
        hapi_version=hapi_version,
        from_block=True,
        congestion_pricing_multiplier=content.result.congestion_pricing_multiplier,
    )
    item.record.memo = item.body.memo
    item.record.transactionID.CopyFrom(item.body.transactionID)
    return item


def _transaction(signed_bytes: bytes) -> tuple[Any, bytes]:
    """Return the Transaction and its hash.

    A signed transaction may say that it was sent in the older form; then the hash is over that form.
    """
    signed = SignedTransaction.FromString(signed_bytes)
    if not signed.use_serialized_tx_message_hash_algorithm:
        return Transaction(signedTransactionBytes=signed_bytes), sha384(signed_bytes)
    transaction = Transaction(bodyBytes=signed.bodyBytes)
    if signed.HasField("sigMap"):
        transaction.sigMap.CopyFrom(signed.sigMap)
    return transaction, sha384(transaction.SerializeToString())


def _record(result: Any, transaction_hash: bytes) -> Any:
    record = TransactionRecord(
        receipt=TransactionReceipt(status=result.status),
        transactionHash=transaction_hash,
        consensusTimestamp=result.consensus_timestamp,
        transactionFee=result.transaction_fee_charged,
        tokenTransferLists=result.token_transfer_lists,
        assessed_custom_fees=result.assessed_custom_fees,
        automatic_token_associations=result.automatic_token_associations,
        paid_staking_rewards=result.paid_staking_rewards,
        high_volume_pricing_multiplier=result.high_volume_pricing_multiplier,
    )
    for name, field in (
        ("parent_consensus_timestamp", "parent_consensus_timestamp"),
        ("transferList", "transfer_list"),
        ("scheduleRef", "schedule_ref"),
    ):
        if result.HasField(field):
            getattr(record, name).CopyFrom(getattr(result, field))
    return record


def _top_level(item: RecordItem) -> RecordItem:
    while item.parent is not None:
        item = item.parent
    return item


def _states(items: list[RecordItem], transactions: list[BlockTransaction]) -> dict[int, StateAfter]:
    """Return the state after each top level transaction and its children, by the transaction's index."""
    changes: dict[int, list[Any]] = {}
    for item, content in zip(items, transactions, strict=True):
        changes.setdefault(_top_level(item).index, []).extend(content.state_changes)
    return {index: StateAfter(state_changes) for index, state_changes in changes.items()}
