"""The record items of a block, each with the TransactionRecord that a record stream would have had.

A top level transaction and its children, which follow it, are made together: forward the items, with parents
and success, from the transactions' results; then backward each record is completed by its type, as
`StateAfter` is unwound from the end.
"""

from itertools import chain
from typing import Any

from ledger.stream.block.items import BlockContent, BlockTransaction
from ledger.stream.block.records.entity import complete, is_completed
from ledger.stream.block.records.state import StateAfter
from ledger.stream.record.item import HapiVersion, ItemSource, RecordItem
from ledger.stream.record.record_file import item_failure
from mirror.core.values.hapi.messages import DecodeError, RecordStreamFile, SignedTransaction
from mirror.core.values.hashes import sha384


def record_items(block: BlockContent) -> list[RecordItem]:
    """Errors: StreamFileError."""
    return RecordMaker(block).finish()


class RecordMaker:
    """Makes the record items of a block while it is still being read, as far as it has been read.

    The parts of items are removed from the block, as they are far larger. The first block of a network is
    read to its end first: its parts are needed for the initial state.
    """

    def __init__(self, block: BlockContent) -> None:
        self._block = block
        self._items: list[RecordItem] = []
        # The transactions of the last items that may have more children, each with its children so far; more
        # than one while these may be children themselves that come before their parent.
        self._open: list[list[BlockTransaction]] = []
        self._top: RecordItem | None = None  # the last one that is no child of an item before
        # Messages of their own would take four times the memory.
        self._file = RecordStreamFile()
        # The EVM addresses of contracts (encoded) in the block so far.
        self._addresses: dict[int, bytes] = {}

    def advance(self) -> None:
        """Make the items of all transactions but the last, which may go on. Errors: StreamFileError."""
        if self._block.header.number:
            self._take(len(self._block.transactions) - 1)

    def finish(self) -> list[RecordItem]:
        """Return all items of a block that has been read to its end. Errors: StreamFileError."""
        self._take(len(self._block.transactions))
        self._close()
        return self._items

    def _take(self, end: int) -> None:
        transactions, version, items = self._block.transactions, self._block.hapi_version, self._items
        previous = items[-1] if items else None
        position = 0
        try:
            for transaction in transactions[:end]:
                if transaction.result is None:
                    continue
                position = transaction.position
                item = _item(len(items), transaction, self._file.record_stream_items.add(), previous, version)
                if item.parent is None:
                    self._begin(item)
                items.append(item)
                self._open[-1].append(transaction)
                previous = item
        except (DecodeError, ValueError) as error:
            raise item_failure(self._block.name, len(items), position, error) from error
        if self._block.header.number:
            del transactions[:end]

    def _begin(self, item: RecordItem) -> None:
        """Begin with an item that is no child of an item before; its parent may follow, or be itself.

        Children that come before their parent have its transaction id, but for the nonce.
        """
        before, self._top = self._top, item
        if before is None or not before.nonce or not _same_transaction(before, item):
            self._close()
            self._open = [[]]
        elif item.nonce:
            self._open.append([])
        else:
            self._open = [list(chain.from_iterable(self._open))]

    def _close(self) -> None:
        groups, self._open = self._open, []
        first = len(self._items) - sum(map(len, groups))
        for transactions in groups:
            self._complete(first, transactions)
            first += len(transactions)

    def _complete(self, first: int, transactions: list[BlockTransaction]) -> None:
        """Complete the records of a top level transaction and its children, from the last one on.

        `first` is the index of the first of them.
        """
        items = self._items[first : first + len(transactions)]
        if not any(map(is_completed, items, transactions)):
            return
        try:
            state = StateAfter(chain.from_iterable(each.state_changes for each in transactions))
        except DecodeError as error:
            raise item_failure(self._block.name, first, transactions[0].position, error) from error
        self._addresses |= state.evm_addresses
        for item, transaction in zip(reversed(items), reversed(transactions), strict=True):
            try:
                complete(item, transaction, state, self._addresses)
            except (DecodeError, ValueError) as error:  # a total below zero
                raise item_failure(self._block.name, item.index, transaction.position, error) from error
        for item in items:
            _list_created_contract(item)


def _same_transaction(first: RecordItem, second: RecordItem) -> bool:
    one, other = first.body.transactionID, second.body.transactionID
    return (
        first.valid_start_ns == second.valid_start_ns
        and one.accountID == other.accountID
        and one.scheduled == other.scheduled
    )


def _item(
    index: int,
    content: BlockTransaction,
    streamed: Any,
    previous: RecordItem | None,
    hapi_version: HapiVersion,
) -> RecordItem:
    """Return a transaction as an item; `streamed` is an empty RecordStreamItem, which it fills."""
    signed = SignedTransaction.FromString(content.signed)
    _set_transaction(streamed, content.signed, signed)
    _set_result(streamed.record, content.result)
    item = RecordItem(
        index,
        streamed.transaction,
        streamed.record,
        previous=previous,
        hapi_version=hapi_version,
        source=ItemSource(
            signed=signed,
            from_block=True,
            congestion_pricing_multiplier=content.result.congestion_pricing_multiplier,
        ),
    )
    body, record = item.body, item.record
    if body.memo:
        record.memo = body.memo
    record.transactionID.CopyFrom(body.transactionID)
    return item


def _set_transaction(streamed: Any, signed_bytes: bytes, signed: Any) -> None:
    """Set the Transaction, and its hash in the record.

    A signed transaction may say that it was sent in the older form; then the hash is over that form.
    """
    transaction = streamed.transaction
    if not signed.use_serialized_tx_message_hash_algorithm:
        transaction.signedTransactionBytes = signed_bytes
        streamed.record.transactionHash = sha384(signed_bytes)
        return
    transaction.bodyBytes = signed.bodyBytes
    if signed.HasField("sigMap"):
        transaction.sigMap.CopyFrom(signed.sigMap)
    streamed.record.transactionHash = sha384(transaction.SerializeToString())


def _set_result(record: Any, result: Any) -> None:
    record.receipt.status = result.status
    record.consensusTimestamp.CopyFrom(result.consensus_timestamp)
    record.transactionFee = result.transaction_fee_charged
    if result.HasField("transfer_list"):
        record.transferList.CopyFrom(result.transfer_list)
    if result.HasField("parent_consensus_timestamp"):
        record.parent_consensus_timestamp.CopyFrom(result.parent_consensus_timestamp)
    if result.HasField("schedule_ref"):
        record.scheduleRef.CopyFrom(result.schedule_ref)
    for copied, field in (
        (result.token_transfer_lists, "tokenTransferLists"),
        (result.assessed_custom_fees, "assessed_custom_fees"),
        (result.automatic_token_associations, "automatic_token_associations"),
        (result.paid_staking_rewards, "paid_staking_rewards"),
    ):
        if copied:
            getattr(record, field).extend(copied)
    record.high_volume_pricing_multiplier = result.high_volume_pricing_multiplier


def _list_created_contract(item: RecordItem) -> None:
    """List a created contract in the result of the call that caused its creation, else in its own."""
    if item.result_kind != "contractCreateResult" or not item.successful:
        return
    result = item.record.contractCreateResult
    caller = item.parent
    if caller is not None and caller.result_kind is not None:
        result_of_caller = getattr(caller.record, caller.result_kind)
    else:
        result_of_caller = result
    listed = result_of_caller.createdContractIDs
    if result.HasField("contractID") and result.contractID not in listed:
        listed.append(result.contractID)
