"""State changes of a transaction and its children, unwound from the last to the first.

A block tells the state after a top level transaction and all of its children. The state after each of them
follows by going backwards: the last one to create an entity created the one with the greatest number, and the
total after an earlier transaction is the total after the next one less what that one added.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from google.protobuf.message import Message

from ledger.stream.record_file import GenesisState
from mirror.core.values import entity_id

# The states of a network that readers and writers of blocks know: enum StateIdentifier.
ACCOUNTS, STORAGE, BYTECODE, FILES, TOKENS = 2, 4, 5, 6, 7
NODES, TOPICS, BLOCK_STREAM_INFO, PENDING_AIRDROPS = 20, 21, 24, 25
HOOK_STORAGE, REGISTERED_NODES = 52, 56

_SLOT_LENGTH = 32
# The fields that a key of a state may be in.
_KEYS = {
    BYTECODE: ("contract_id_key",),
    FILES: ("file_id_key",),
    HOOK_STORAGE: ("evm_hook_slot_key",),
    NODES: ("entity_number_key", "node_id_key"),
    PENDING_AIRDROPS: ("pending_airdrop_id_key",),
    REGISTERED_NODES: ("entity_number_key", "node_id_key"),
    STORAGE: ("slot_key_key",),
    TOKENS: ("token_id_key",),
    TOPICS: ("topic_id_key",),
}
_NUMBERS = {FILES: entity_id.from_file, TOKENS: entity_id.from_token, TOPICS: entity_id.from_topic}

Hook = tuple[int, int]  # encoded id of the owner, number of its hook
Storage = int | Hook  # of a contract, by its encoded id, or of a hook
Slot = tuple[Storage, bytes]  # the key has 32 bytes


def slot_of(storage: Storage, key: bytes) -> Slot:
    """Return a slot by its key, which may have lost leading zeros."""
    return storage, key.rjust(_SLOT_LENGTH, b"\0")


def hook_of(hook_id: Any) -> Hook:
    owner = hook_id.entity_id
    if owner.HasField("contract_id"):
        return entity_id.from_contract(owner.contract_id), hook_id.hook_id
    return entity_id.from_account(owner.account_id), hook_id.hook_id


class StateAfter:
    """The changes of one top level transaction and its children; `take_*` rely on going backwards."""

    def __init__(self, changes: Iterable[Any]) -> None:
        """`changes` are StateChange messages in block order; the last of a key counts."""
        self._accounts: dict[bytes, Any] = {}
        #: The addresses of changed contracts that have one besides their number.
        self.evm_addresses: dict[int, bytes] = {}
        self._nonces: dict[int, int] = {}
        self._code: dict[int, bytes] = {}
        self._storage: dict[Slot, bytes | None] = {}
        self._written: set[Slot] = set()
        self._slots: dict[Storage, list[bytes]] = {}
        self._changed: defaultdict[int, dict[int, Any]] = defaultdict(dict)
        self._airdrops: dict[bytes, int] = {}
        self._supplies: dict[int, int] = {}
        self._topics: dict[int, tuple[int, bytes]] = {}
        for change in changes:
            if change.state_id == ACCOUNTS:
                # Nearly all are of these.
                self._account(change.map_update.value.account_value)
            elif change.HasField("map_update"):
                self._updated(change.state_id, change.map_update)
            elif change.HasField("map_delete"):
                self._deleted(change.state_id, change.map_delete.key)

    def _deleted(self, state: int, key: Any) -> None:
        """A slot that is deleted has been set to nothing."""
        kind = key.WhichOneof("key_choice")
        if state in (STORAGE, HOOK_STORAGE) and kind in _KEYS[state]:
            self._set_slot(kind, getattr(key, kind), b"")

    def _updated(self, state: int, update: Any) -> None:
        key, value = update.key, update.value
        field = key.WhichOneof("key_choice")
        if field not in _KEYS.get(state, ()):
            return
        if state in (STORAGE, HOOK_STORAGE):
            written = value.slot_value_value.value if value.HasField("slot_value_value") else None
            self._set_slot(field, getattr(key, field), written, identical=update.identical)
        elif state == BYTECODE:
            if value.HasField("bytecode_value"):
                self._code[entity_id.from_contract(key.contract_id_key)] = value.bytecode_value.code
        elif state == PENDING_AIRDROPS:
            pending = value.account_pending_airdrop_value
            if pending.HasField("pending_airdrop_value"):
                self._airdrops[_key(key.pending_airdrop_id_key)] = pending.pending_airdrop_value.amount
        elif state in (NODES, REGISTERED_NODES):
            number = key.node_id_key.id if field == "node_id_key" else key.entity_number_key.value
            self._change(state, update, number, number)
        else:
            entity = getattr(key, field)
            number = _NUMBERS[state](entity)
            self._change(state, update, number, entity)
            if state == TOPICS:
                self._topics[number] = value.topic_value.sequence_number, value.topic_value.running_hash
            elif state == TOKENS and value.HasField("token_value"):
                self._supplies[number] = value.token_value.total_supply

    def _account(self, account: Any) -> None:
        if not account.HasField("account_id"):
            return
        nonce, alias = account.ethereum_nonce, account.alias
        if nonce and not account.smart_contract:
            self._nonces[entity_id.from_account(account.account_id)] = nonce
        if not alias:
            return
        self._accounts[alias] = account.account_id
        if account.smart_contract:
            self.evm_addresses[entity_id.from_account(account.account_id)] = alias

    def _set_slot(self, field: str, slot_key: Any, value: bytes | None, *, identical: bool = False) -> None:
        """Note the value of a slot. One whose value is `identical` to that before has no index."""
        if field == "slot_key_key":
            storage: Storage = entity_id.from_contract(slot_key.contractID)
        else:
            storage = hook_of(slot_key.hook_id)
        slot = slot_of(storage, slot_key.key)
        if not identical and slot not in self._written:
            self._written.add(slot)
            self._slots.setdefault(storage, []).append(slot_key.key)
        self._storage[slot] = value

    def _change(self, state: int, update: Any, number: int, entity: Any) -> None:
        if not update.identical:
            self._changed[state][number] = entity

    # Accounts and contracts

    def account(self, alias: bytes) -> Any | None:
        """The AccountID with an alias, if the account was changed."""
        return self._accounts.get(alias)

    def contract_code(self, contract: int) -> bytes | None:
        """The runtime bytecode of a new contract; None when it is unknown."""
        return self._code.get(contract)

    # Created entities: every creation, the last one first, has to take its own

    def take(self, state: int) -> Any | None:
        """Return the created entity of a state with the greatest number: its id, or the number of a node."""
        changed = self._changed[state]
        return changed.pop(max(changed)) if changed else None

    def take_nonces(self) -> dict[int, int]:
        """Return the nonces of the changed accounts that have sent or delegated anything."""
        nonces, self._nonces = self._nonces, {}
        return nonces

    # Totals after a transaction; taking one turns it into the total before the transaction

    def take_supply(self, token: int, added: int) -> int | None:
        """Return a token's total supply after a transaction that added so much; None when it is unknown."""
        supply = self._supplies.get(token)
        if supply is None:
            return None
        self._supplies[token] = supply - added
        return supply

    def take_airdrop(self, airdrop: Any, added: int) -> int:
        """Return the pending amount after an airdrop that added so much; just that if it was cancelled."""
        key = _key(airdrop)
        amount = self._airdrops.get(key)
        if amount is None:
            return added
        self._airdrops[key] = amount - added
        return amount

    def end_airdrop(self, airdrop: Any, amount: int | None) -> None:
        """Note the pending amount before a claim, or None if a cancellation does not tell it."""
        if amount is None:
            self._airdrops.pop(_key(airdrop), None)
        else:
            self._airdrops[_key(airdrop)] = amount

    def take_message(self, topic: int) -> tuple[int, bytes] | None:
        """Return number and running hash of a topic's last message; earlier ones are unknown."""
        return self._topics.pop(topic, None)

    # Storage: the value a later transaction reads is what an earlier one wrote

    def written_slot(self, storage: Storage, index: int) -> bytes | None:
        """Return the key of a changed slot by its index among those of its storage."""
        slots = self._slots.get(storage, [])
        return slots[index] if 0 <= index < len(slots) else None

    def value(self, slot: Slot) -> bytes | None:
        """Return the value of a slot after the transaction; None when it is unknown."""
        return self._storage.get(slot)

    def read_before(self, slot: Slot, value: bytes) -> None:
        """Note the value that the transaction read from a slot."""
        self._storage[slot] = value


def _key(message: Message) -> bytes:
    return message.SerializeToString(deterministic=True)


def genesis_state(changes: Iterable[Any], of_transactions: Iterable[Any]) -> GenesisState | None:
    """Return what changes tell that no transaction has changed, None if nothing. Errors: ValueError."""
    state, taken = GenesisState({}, {}, {}), GenesisState({}, {}, {})
    for changed, to in ((changes, state), (of_transactions, taken)):
        for change in changed:
            _add_to_genesis(change, to)
    for initial, others in zip(state, taken, strict=True):
        for key in initial.keys() & others.keys():
            del initial[key]
    return state if any(state) else None


def _add_to_genesis(change: Any, state: GenesisState) -> None:
    """Add what a change updates, or remove what it deletes; the last change of a key counts."""
    field = change.WhichOneof("change_operation")
    if field not in ("map_update", "map_delete"):
        return
    key = getattr(change, field).key
    value = change.map_update.value if field == "map_update" else None
    if change.state_id == ACCOUNTS:
        _set(state.accounts, entity_id.from_account(key.account_id_key), value and value.account_value)
    elif change.state_id == BYTECODE:
        _set(state.code, entity_id.from_contract(key.contract_id_key), value and value.bytecode_value.code)
    elif change.state_id == FILES:
        _set(state.files, entity_id.from_file(key.file_id_key), value and value.file_value)


def _set(values: dict[int, Any], key: int, value: Any | None) -> None:
    if not key:
        raise ValueError("its first state has something without an id, or with an impossible one")
    if value is None:
        values.pop(key, None)
    else:
        values[key] = value
