"""The record items of a block, each with the record that a record stream would have had.

A top level transaction and its children, which follow it, are made together: forward the items, with parents
and success, from the transactions' results; then backward each record is completed by its type, as
`StateAfter` is unwound from the end.
"""

from itertools import chain
from typing import Any

from ledger.stream.block.block_items import BlockContent, BlockTransaction
from ledger.stream.block.record_messages import transaction_record
from ledger.stream.block.records_by_type import complete, is_completed
from ledger.stream.block.state_after import StateAfter
from ledger.stream.record_file import item_failure
from ledger.stream.record_item import HapiVersion, RecordItem
from mirror.core.values.hapi.messages import DecodeError, SignedTransaction, Transaction
from mirror.core.values.hashes import sha384


class BlockRecordItem(RecordItem):
    """An item of a block; its record is one of `record_messages`, completed only in `record_bytes`."""

    __slots__ = ("_signed_bytes",)
    from_block = True

    def __init__(
        self,
        index: int,
        content: BlockTransaction,
        *,
        previous: RecordItem | None,
        hapi_version: HapiVersion,
    ) -> None:
        """Errors: InvalidItem, DecodeError."""
        self._signed_bytes = content.signed
        self._signed = signed = SignedTransaction.FromString(content.signed)
        record = content.result
        super().__init__(index, None, record, previous=previous, hapi_version=hapi_version)
        # A signed transaction may say that it was sent in the older form; then the hash is over that form.
        is_older = signed.use_serialized_tx_message_hash_algorithm
        record.transactionHash = sha384(self.transaction_bytes if is_older else content.signed)

    def _signed_transaction(self) -> Any:
        return self._signed

    @property
    def _status(self) -> int:
        status: int = self.record.status
        return status

    @property
    def congestion_pricing_multiplier(self) -> int | None:
        multiplier: int = self.record.congestion_pricing_multiplier
        return multiplier

    @property
    def transaction_bytes(self) -> bytes:
        signed = self._signed
        if signed.use_serialized_tx_message_hash_algorithm:
            signatures = signed.sigMap if signed.HasField("sigMap") else None
            transaction = Transaction(bodyBytes=signed.bodyBytes, sigMap=signatures)
        else:
            transaction = Transaction(signedTransactionBytes=self._signed_bytes)
        serialized: bytes = transaction.SerializeToString()
        return serialized

    @property
    def record_bytes(self) -> bytes:
        record = transaction_record(self.record)
        record.receipt.status, record.memo = self.result, self.body.memo
        record.transactionID.CopyFrom(self.body.transactionID)
        serialized: bytes = record.SerializeToString()
        return serialized


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
        # Whether a record of these items needs more than its result: not so of most transfers.
        self._is_incomplete = False
        self._top: RecordItem | None = None  # the last one that is no child of an item before
        # The EVM addresses of contracts (encoded) in the block so far.
        self._addresses: dict[int, bytes] = {}

    def advance(self) -> None:
        """Make the items of all transactions but the last, which may go on. Errors: StreamFileError."""
        if self._block.header.number:
            self._take(len(self._block.transactions) - 1)

    def finish(self) -> list[RecordItem]:
        """Return all items of a block that has been read to its end. Errors: StreamFileError."""
        self._take(len(self._block.transactions))
        if self._is_incomplete:
            self._complete_open()
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
                item = BlockRecordItem(len(items), transaction, previous=previous, hapi_version=version)
                if item.parent is None:
                    self._begin(item)
                items.append(item)
                if not self._is_incomplete:
                    self._is_incomplete = is_completed(item, transaction)
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
            if self._is_incomplete:
                self._complete_open()
            self._open, self._is_incomplete = [[]], False
        elif item.nonce:
            self._open.append([])
        else:
            self._open = [list(chain.from_iterable(self._open))]

    def _complete_open(self) -> None:
        first = len(self._items) - sum(map(len, self._open))
        for transactions in self._open:
            self._complete(first, transactions)
            first += len(transactions)

    def _complete(self, first: int, transactions: list[BlockTransaction]) -> None:
        """Complete the records of a top level transaction and its children, from the last to the `first`."""
        items = self._items[first : first + len(transactions)]
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


def _list_created_contract(item: RecordItem) -> None:
    """List a created contract in the result of the call that caused its creation, else in its own."""
    if item.result_field != "contractCreateResult" or not item.successful:
        return
    result = item.record.contractCreateResult
    caller = item.parent
    if caller is not None and caller.result_field is not None:
        result_of_caller = getattr(caller.record, caller.result_field)
    else:
        result_of_caller = result
    listed = result_of_caller.createdContractIDs
    if result.HasField("contractID") and result.contractID not in listed:
        listed.append(result.contractID)
