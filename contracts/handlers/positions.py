"""The places of contract results and logs in their block, as Ethereum tools count them.

`transaction_index` counts the transactions of a block that such a tool sees: those with a contract result,
and those with a synthetic log. What a contract causes has the position of its call. `index` counts logs.
"""

from ledger.stream.record.item import RecordItem
from mirror.values.result_codes import WRONG_NONCE
from mirror.values.transaction_types import NUMBERS

CONTRACT_CALL = NUMBERS["CONTRACTCALL"]
CONTRACT_CREATE = NUMBERS["CONTRACTCREATEINSTANCE"]
ETHEREUM = NUMBERS["ETHEREUMTRANSACTION"]
CONTRACT_TYPES = frozenset({CONTRACT_CALL, CONTRACT_CREATE, ETHEREUM})


class LogIndex:
    """The index of the next log in a file, whichever handler writes it."""

    def __init__(self) -> None:
        self._next = 0

    def take(self) -> int:
        index = self._next
        self._next = index + 1
        return index


class Positions:
    """The positions of a file's transactions, by consensus timestamp."""

    def __init__(self) -> None:
        self._taken: dict[int, int] = {}
        self._next = 0

    def of_result(self, item: RecordItem) -> int | None:
        """Return the position of a contract result; None for one that no Ethereum tool sees."""
        taken = self._taken.get(item.consensus_timestamp)
        if taken is not None:
            return taken
        if item.transaction_type not in CONTRACT_TYPES or item.result == WRONG_NONCE:
            return None
        parent = item.contract_parent
        position = self._taken.get(parent.consensus_timestamp) if parent is not None else None
        if position is None:
            return self._take(item)
        self._taken[item.consensus_timestamp] = position
        return position

    def of_log(self, item: RecordItem) -> int | None:
        """Return the position of a synthetic log: that of the call that caused it, or of its own item."""
        parent = item.contract_parent
        if parent is not None:
            return self._taken.get(parent.consensus_timestamp)
        position = self.of_result(item)
        if position is None and item.transaction_type not in CONTRACT_TYPES:
            return self._take(item)
        return position

    def _take(self, item: RecordItem) -> int:
        self._taken[item.consensus_timestamp] = position = self._next
        self._next = position + 1
        return position
