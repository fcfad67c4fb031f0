"""Reads that are made once: what the first run of an estimate read answers the runs that follow."""

from web3sim.engine.seam import AccountRecord, Address, StateReader


class RecordedReads:
    """A `StateReader` that asks another one at most once for each account, slot and block."""

    def __init__(self, reader: StateReader) -> None:
        self._reader = reader
        self._accounts: dict[Address, AccountRecord | None] = {}
        self._slots: dict[tuple[Address, int], int] = {}
        self._block_hashes: dict[int, bytes] = {}

    def account(self, address: Address) -> AccountRecord | None:
        if address not in self._accounts:
            self._accounts[address] = self._reader.account(address)
        return self._accounts[address]

    def slot(self, address: Address, slot: int) -> int:
        key = (address, slot)
        if key not in self._slots:
            self._slots[key] = self._reader.slot(address, slot)
        return self._slots[key]

    def block_hash(self, number: int) -> bytes:
        if number not in self._block_hashes:
            self._block_hashes[number] = self._reader.block_hash(number)
        return self._block_hashes[number]
