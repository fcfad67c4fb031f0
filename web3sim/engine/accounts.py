"""The accounts of one call: loaded at their first use, changed in memory, restored by an undo list.

Everything that a revert restores is a dictionary entry: balances, nonces, codes, slots, what is warm
(EIP-2929), transient storage (EIP-1153). Each write records the entry before it; going back to a checkpoint
restores the entries recorded since. A checkpoint costs nothing, a revert only what was written.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from eth_typing import Address, Hash32

from mirror.core.values.hashes import keccak256
from web3sim.engine.interface import AccessList, AccountRecord, SlotChange, StateReader

_MISSING: Any = object()


class Accounts:
    """What the library uses of an account database, over a `StateReader`: no tries and no state root.

    Values that were read stay: the first value of each slot is the one before the call, which prices SSTORE.
    """

    def __init__(self, reader: StateReader) -> None:
        self._reader = reader
        self._undo: list[tuple[dict[Any, Any], Any, Any]] = []
        self._records: dict[Address, AccountRecord | None] = {}
        self._exist: dict[Address, bool] = {}
        self._balances: dict[Address, int] = {}
        self._nonces: dict[Address, int] = {}
        self._codes: dict[Address, bytes] = {}
        self._slots: dict[Address, dict[int, int]] = {}
        self._slots_before: dict[Address, dict[int, int]] = {}
        self._wiped: dict[Address, bool] = {}
        self._written: dict[tuple[Address, int], bool] = {}
        self._transient: dict[tuple[Address, int], bytes] = {}
        # The accounts and rows that system contracts have written.
        self._added: dict[Address, AccountRecord] = {}
        self._rows: dict[Hashable, Any] = {}
        # The accounts whose balance was raised to the least one, or is above it anyway.
        self._funded: dict[Address, bool] = {}
        self._warm_addresses: dict[Address, bool] = {}
        self._warm_slots: dict[tuple[Address, int], bool] = {}
        self._code_hashes: dict[bytes, bytes] = {}
        self._block_hashes: dict[int, bytes] = {}

    # READING

    def original(self, address: Address) -> AccountRecord | None:
        """The account as it was before the call; None when there was none."""
        try:
            return self._records[address]
        except KeyError:
            return self._load(address)

    def current(self, address: Address) -> AccountRecord | None:
        """Return what a system contract has added at an address, else the account before the call."""
        try:
            return self._added.get(address) or self._records[address]
        except KeyError:
            return self._load(address)

    def block_hash(self, number: int) -> bytes:
        if number not in self._block_hashes:
            self._block_hashes[number] = self._reader.block_hash(number)
        return self._block_hashes[number]

    def _load(self, address: Address) -> AccountRecord | None:
        record = self._reader.account(address)
        known = record or AccountRecord()
        self._records[address] = record
        self._exist[address] = record is not None
        self._balances[address] = known.balance
        self._nonces[address] = known.nonce
        self._codes[address] = known.code
        self._slots[address] = {}
        self._slots_before[address] = {}
        return record

    def _set(self, entries: dict[Any, Any], key: Any, value: Any) -> None:
        self._undo.append((entries, key, entries.get(key, _MISSING)))
        entries[key] = value

    def _ensure_loaded(self, address: Address) -> None:
        if address not in self._records:
            self._load(address)

    def begin(self, sender: Address, warm: Iterable[Address], balance: int | None) -> int:
        """Mark accounts as warm, increment the sender's nonce, and return its value before; never undone.

        The sender has this balance, if one is given.
        """
        self._ensure_loaded(sender)
        if balance is not None:
            self._balances[sender], self._funded[sender] = balance, True
        nonce = self._nonces[sender]
        self._nonces[sender] = nonce + 1
        self._warm_addresses.update(dict.fromkeys(warm, True))
        return nonce

    def warm(self, access_list: AccessList) -> None:
        """Mark addresses and slots as warm; never undone."""
        for address, slots in access_list:
            self._warm_addresses[Address(address)] = True
            self._warm_slots.update(dict.fromkeys(((Address(address), slot) for slot in slots), True))

    # CHECKPOINTS

    def checkpoint(self) -> int:
        return len(self._undo)

    def revert_to(self, checkpoint: int) -> None:
        undo = self._undo
        for _ in range(len(undo) - checkpoint):
            entries, key, value = undo.pop()
            if value is _MISSING:
                del entries[key]
            else:
                entries[key] = value

    # WHAT SYSTEM CONTRACTS CHANGE

    def add_account(self, address: Address, record: AccountRecord) -> None:
        self._ensure_loaded(address)
        self._set(self._added, address, record)
        self._set(self._codes, address, record.code)
        self._mark_existing(address)

    def row(self, key: Hashable, default: Any = None) -> Any:
        return self._rows.get(key, default)

    def put_row(self, key: Hashable, row: Any) -> None:
        self._set(self._rows, key, row)

    def rows(self) -> Mapping[Hashable, Any]:
        return self._rows

    # STORAGE

    def get_storage(self, address: Address, slot: int, from_journal: bool = True) -> int:
        """The current value; without `from_journal` the one from before the call."""
        self._ensure_loaded(address)
        try:
            value = self._slots[address][slot]
        except KeyError:
            value = self._load_slot(address, slot)
        if from_journal:
            return value
        return 0 if address in self._wiped else self._slots_before[address][slot]

    def _load_slot(self, address: Address, slot: int) -> int:
        if slot not in self._slots_before[address]:
            missing = self.original(address) is None
            self._slots_before[address][slot] = 0 if missing else self._reader.slot(address, slot)
        value = 0 if address in self._wiped else self._slots_before[address][slot]
        self._slots[address][slot] = value
        return value

    def set_storage(self, address: Address, slot: int, value: int) -> None:
        self.get_storage(address, slot)
        self._set(self._slots[address], slot, value)
        if (address, slot) not in self._written:
            self._set(self._written, (address, slot), True)

    def delete_storage(self, address: Address) -> None:
        self._ensure_loaded(address)
        self._set(self._slots, address, {})
        self._set(self._wiped, address, True)

    def is_storage_warm(self, address: Address, slot: int) -> bool:
        return (address, slot) in self._warm_slots

    def mark_storage_warm(self, address: Address, slot: int) -> None:
        if (address, slot) not in self._warm_slots:
            self._set(self._warm_slots, (address, slot), True)

    def get_transient_storage(self, address: Address, slot: int) -> bytes:
        return self._transient.get((address, slot), b"")

    def set_transient_storage(self, address: Address, slot: int, value: bytes) -> None:
        self._set(self._transient, (address, slot), value)

    # ACCOUNTS

    def get_balance(self, address: Address) -> int:
        self._ensure_loaded(address)
        return self._balances[address]

    def set_balance(self, address: Address, balance: int) -> None:
        self._ensure_loaded(address)
        if balance != self._balances[address]:
            self._set(self._balances, address, balance)
            self._mark_existing(address)

    def fund(self, address: Address) -> None:
        """Raise the balance of an account to its least balance, the first time that the call loads it."""
        record = self.original(address)
        if record is not None and record.min_balance and address not in self._funded:
            self._set(self._funded, address, True)
            self.set_balance(address, max(self._balances[address], record.min_balance))

    def get_nonce(self, address: Address) -> int:
        self._ensure_loaded(address)
        return self._nonces[address]

    def set_nonce(self, address: Address, nonce: int) -> None:
        self._ensure_loaded(address)
        self._set(self._nonces, address, nonce)
        self._mark_existing(address)

    def increment_nonce(self, address: Address) -> None:
        self.set_nonce(address, self.get_nonce(address) + 1)

    def get_code(self, address: Address) -> bytes:
        self._ensure_loaded(address)
        return self._codes[address]

    def set_code(self, address: Address, code: bytes) -> None:
        self._ensure_loaded(address)
        self._set(self._codes, address, code)
        self._mark_existing(address)

    def get_code_hash(self, address: Address) -> Hash32:
        code = self.get_code(address)
        if code not in self._code_hashes:
            self._code_hashes[code] = keccak256(code)
        return Hash32(self._code_hashes[code])

    def delete_code(self, address: Address) -> None:
        self.set_code(address, b"")

    def _mark_existing(self, address: Address) -> None:
        if not self._exist[address]:
            self._set(self._exist, address, True)

    def account_exists(self, address: Address) -> bool:
        self._ensure_loaded(address)
        return self._exist[address]

    def account_is_empty(self, address: Address) -> bool:
        """No balance, nonce or code (EIP-161), whether it exists or not."""
        self._ensure_loaded(address)
        return not (self._balances[address] or self._nonces[address] or self._codes[address])

    def account_has_code_or_nonce(self, address: Address) -> bool:
        self._ensure_loaded(address)
        return bool(self._nonces[address] or self._codes[address])

    def delete_account(self, address: Address) -> None:
        self.delete_storage(address)
        self._set(self._balances, address, 0)
        self._set(self._nonces, address, 0)
        self._set(self._codes, address, b"")
        self._set(self._exist, address, False)

    def touch_account(self, address: Address) -> None:
        """Nothing: an account that was only touched is still missing (EIP-161)."""

    def is_address_warm(self, address: Address) -> bool:
        return address in self._warm_addresses

    def mark_address_warm(self, address: Address) -> None:
        if address not in self._warm_addresses:
            self._set(self._warm_addresses, address, True)

    # RESULTS

    def slots(self) -> dict[tuple[bytes, int], SlotChange]:
        """Every slot that was read; also those that only a reverted frame read."""
        changes: dict[tuple[bytes, int], SlotChange] = {}
        for address, before in self._slots_before.items():
            now = self._slots[address]
            for slot, value in before.items():
                written = now.get(slot, 0) if (address, slot) in self._written else None
                changes[address, slot] = SlotChange(read=value, written=written)
        return changes

    def slots_so_far(self) -> dict[int, int]:
        """Return the slots that the call has written so far, of all contracts, in their order."""
        written = {slot: self._slots[address].get(slot, 0) for address, slot in self._written}
        return dict(sorted(written.items()))

    def balances(self) -> dict[bytes, int]:
        """The balances that differ from before the call."""
        return {
            address: balance
            for address, balance in self._balances.items()
            if balance != (record.balance if (record := self._records[address]) else 0)
        }
