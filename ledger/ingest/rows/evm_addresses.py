"""EVM addresses of accounts, filled into the rows of a batch when it is written.

An entity gets its EVM address when it is created, for good. So the address of an account at the item being
read is the one it was created with earlier in the batch, else the one stored before the batch. One query
answers for all accounts of a batch, and the answer does not depend on the size of the batch.
"""

from typing import Any

from django.db.backends.utils import CursorWrapper


class EvmAddresses:
    """The accounts of one batch whose address is wanted."""

    def __init__(self) -> None:
        self._created: dict[int, bytes] = {}
        self._wanted: list[tuple[dict[str, Any], str, int]] = []

    def created(self, entity: int, evm_address: bytes) -> None:
        """Note the address of an entity that the item being read creates."""
        self._created.setdefault(entity, evm_address)

    def fill(self, row: dict[str, Any], column: str, account: int) -> None:
        """Set `column` of an inserted row to the account's address without leading zeros, if it has one."""
        address = self._created.get(account)
        if address is None:
            self._wanted.append((row, column, account))
        else:
            row[column] = address.lstrip(b"\0")

    def write(self, cursor: CursorWrapper) -> None:
        """Fill in the stored addresses, before anything of the batch is written."""
        if not self._wanted:
            return
        addresses = self._addresses(cursor, {account for _, _, account in self._wanted})
        for row, column, account in self._wanted:
            row[column] = addresses.get(account, row[column])

    def _addresses(self, cursor: CursorWrapper, accounts: set[int]) -> dict[int, bytes]:
        cursor.execute(
            "select id, evm_address from entity where id = any(%s) and evm_address is not null",
            [list(accounts)],
        )
        return {entity: bytes(address).lstrip(b"\0") for entity, address in cursor.fetchall()}
