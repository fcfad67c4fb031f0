"""The positions of contract results and logs in their block, as Ethereum tools count them.

`transaction_index` counts the transactions of a block that such a tool sees: calls, creations and Ethereum
transactions with a contract result, also those that failed their checks, and whatever has a synthetic log.
Children share the position of the call that caused them, or of their parent. `index` counts logs.
"""

from ledger.ingest.rows.batch import Batch
from ledger.stream.record_item import RecordItem
from mirror.core.values.hapi.result_codes import DUPLICATE_TRANSACTION, WRONG_NONCE
from mirror.core.values.hapi.transaction_types import NUMBERS

CONTRACT_CALL = NUMBERS["CONTRACTCALL"]
CONTRACT_CREATE = NUMBERS["CONTRACTCREATEINSTANCE"]
ETHEREUM = NUMBERS["ETHEREUMTRANSACTION"]
CONTRACT_TYPES = frozenset({CONTRACT_CALL, CONTRACT_CREATE, ETHEREUM})


def has_result(item: RecordItem) -> bool:
    """Return whether a transaction has a contract result: some have one although no contract ran."""
    if item.ran_contract or item.transaction_type in (CONTRACT_CALL, CONTRACT_CREATE):
        return True
    failed = not item.successful and item.result not in (DUPLICATE_TRANSACTION, WRONG_NONCE)
    return item.transaction_type == ETHEREUM and failed and item.ethereum is not None


class LogIndex:
    """The index of the next log in a file, whichever handler writes it."""

    def __init__(self) -> None:
        self._next = 0

    def take(self) -> int:
        index = self._next
        self._next = index + 1
        return index


class Positions:
    """The positions of a file's transactions, by consensus timestamp.

    Calls take theirs in the order of the file, also those that the settings leave out.
    """

    def __init__(self) -> None:
        self._taken: dict[int, int] = {}
        self._next = 0
        self._passed = 0

    def result_position(self, item: RecordItem, batch: Batch) -> int | None:
        """Return the position of a contract result; None for one that no Ethereum tool sees."""
        self._pass(item, batch)
        return self._taken.get(item.consensus_timestamp)

    def log_position(self, item: RecordItem, batch: Batch) -> int | None:
        """Return the position of a synthetic log: that of the call that caused it, or of its own item."""
        self._pass(item, batch)
        parent = item.contract_parent
        if parent is not None:
            return self._taken.get(parent.consensus_timestamp)
        has_none = item.consensus_timestamp not in self._taken and item.result != WRONG_NONCE
        if has_none and not self._share(item):
            self._take(item)
        return self._taken.get(item.consensus_timestamp)

    def _pass(self, item: RecordItem, batch: Batch) -> None:
        """Give positions to the calls of the file up to the item."""
        for passed in batch.items[self._passed : item.index + 1]:
            self._passed = passed.index + 1
            if passed.result == WRONG_NONCE:
                continue
            if passed.transaction_type in CONTRACT_TYPES:
                if not self._share(passed) and has_result(passed):
                    self._take(passed)
            elif passed.ran_contract:
                self._share(passed)

    def _share(self, item: RecordItem) -> bool:
        """Give a child the position of its call, or else of its parent; return whether there is one."""
        for parent in (item.contract_parent, item.parent):
            if parent is not None and parent.consensus_timestamp in self._taken:
                self._taken[item.consensus_timestamp] = self._taken[parent.consensus_timestamp]
                return True
        return False

    def _take(self, item: RecordItem) -> None:
        self._taken[item.consensus_timestamp] = self._next
        self._next += 1
