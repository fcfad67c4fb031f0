"""State changes of a transaction and its children, unwound from the last to the first.

A block tells the state after a top level transaction and all of its children. The state after each of them
follows by going backwards: the last one to create an entity created the one with the greatest number, and the
total after an earlier transaction is the total after the next one less what that one added.
"""

from collections.abc import Iterable
from typing import Any

from google.protobuf.message import Message

from mirror.values import entity_id

# enum StateIdentifier
_ACCOUNTS, _STORAGE, _BYTECODE, _FILES = 2, 4, 5, 6
_TOKENS, _NODES, _TOPICS, _PENDING_AIRDROPS, _REGISTERED_NODES = 7, 20, 21, 25, 56
_SLOT_LENGTH = 32

Slot = tuple[int, bytes]  # encoded contract id, 32 bytes


def slot_of(contract_id: Any, key: bytes) -> Slot:
    """Return the slot of a contract by its key, which may have lost leading zeros."""
    return entity_id.of_contract(contract_id), key.rjust(_SLOT_LENGTH, b"\0")


class StateAfter:
    """The changes of one top level transaction and its children; `take_*` rely on going backwards."""

    def __init__(self, changes: Iterable[Any]) -> None:
        """`changes` are StateChange messages in block order; the last of a key counts."""
        self._accounts: dict[bytes, Any] = {}
        self._addresses: dict[int, bytes] = {}
        self._nonces: dict[int, int] = {}
        self._code: dict[int, bytes] = {}
        self._storage: dict[Slot, bytes] = {}
        self._slots: dict[int, list[bytes]] = {}
        self._changed: dict[int, dict[int, Any]] = {
            state: {} for state in (_FILES, _TOKENS, _NODES, _TOPICS, _REGISTERED_NODES)
        }
        self._airdrops: dict[bytes, int] = {}
        self._supplies: dict[int, int] = {}
        self._topics: dict[int, tuple[int, bytes]] = {}
        for change in changes:
            if change.HasField("map_update"):
                self._updated(change.state_id, change.map_update)
            elif change.HasField("map_delete") and change.state_id == _STORAGE:
                self._set_slot(change.map_delete.key.slot_key_key, b"")

    def _updated(self, state: int, update: Any) -> None:
        key, value = update.key, update.value
        if state == _ACCOUNTS:
            self._account(value.account_value)
        elif state == _STORAGE:
            self._set_slot(key.slot_key_key, value.slot_value_value.value)
        elif state == _BYTECODE:
            self._code[entity_id.of_contract(key.contract_id_key)] = value.bytecode_value.code
        elif state == _PENDING_AIRDROPS:
            amount = value.account_pending_airdrop_value.pending_airdrop_value.amount
            self._airdrops[_key(key.pending_airdrop_id_key)] = amount
        elif state == _FILES:
            self._change(state, update, entity_id.of_file(key.file_id_key), key.file_id_key)
        elif state == _NODES:
            number = key.entity_number_key.value or key.node_id_key.id
            self._change(state, update, number, number)
        elif state == _REGISTERED_NODES:
            number = key.entity_number_key.value
            self._change(state, update, number, number)
        elif state == _TOKENS:
            token = entity_id.of_token(key.token_id_key)
            self._change(state, update, token, key.token_id_key)
            self._supplies[token] = value.token_value.total_supply
        elif state == _TOPICS:
            topic = entity_id.of_topic(key.topic_id_key)
            self._change(state, update, topic, key.topic_id_key)
            self._topics[topic] = value.topic_value.sequence_number, value.topic_value.running_hash

    def _account(self, account: Any) -> None:
        if account.ethereum_nonce and not account.smart_contract:
            self._nonces[entity_id.of_account(account.account_id)] = account.ethereum_nonce
        if not account.alias:
            return
        self._accounts[account.alias] = account.account_id
        if account.smart_contract:
            self._addresses[entity_id.of_account(account.account_id)] = account.alias

    def _set_slot(self, key: Any, value: bytes) -> None:
        slot = slot_of(key.contractID, key.key)
        if slot not in self._storage:
            self._slots.setdefault(slot[0], []).append(key.key)
        self._storage[slot] = value

    def _change(self, state: int, update: Any, number: int, entity: Any) -> None:
        if not update.identical:
            self._changed[state][number] = entity

    # Accounts and contracts

    def account(self, alias: bytes) -> Any | None:
        """The AccountID with an alias, if the account was changed."""
        return self._accounts.get(alias)

    def evm_address(self, contract: int) -> bytes | None:
        """The address of a contract that has one besides its number."""
        return self._addresses.get(contract)

    def contract_code(self, contract: int) -> bytes:
        """The runtime bytecode of a new contract; empty when there is none."""
        return self._code.get(contract, b"")

    # Created entities: every creation, the last one first, has to take its own

    def take_file(self) -> Any | None:
        return self._take(_FILES)

    def take_node(self) -> int | None:
        number: int | None = self._take(_NODES)
        return number

    def take_registered_node(self) -> int | None:
        number: int | None = self._take(_REGISTERED_NODES)
        return number

    def take_token(self) -> Any | None:
        return self._take(_TOKENS)

    def take_topic(self) -> Any | None:
        return self._take(_TOPICS)

    def _take(self, state: int) -> Any | None:
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
        """Return the pending amount of a fungible token after an airdrop that added so much.

        If the airdrop was cancelled or claimed at once, the state does not have it: then it is what was
        added.
        """
        key = _key(airdrop)
        amount = self._airdrops.get(key, added)
        self._airdrops[key] = amount - added
        return amount

    def take_message(self, topic: int) -> tuple[int, bytes] | None:
        """Return sequence number and running hash of a topic's last message; those of earlier ones are
        unknown.
        """
        return self._topics.pop(topic, None)

    # Contract storage: the value a later transaction reads is what an earlier one wrote

    def written_slot(self, contract: int, index: int) -> bytes | None:
        """Return the key of a contract's changed slot by its index."""
        slots = self._slots.get(contract, [])
        return slots[index] if 0 <= index < len(slots) else None

    def value(self, slot: Slot) -> bytes | None:
        """Return the value of a slot after the transaction; None when it is unknown."""
        return self._storage.get(slot)

    def read_before(self, slot: Slot, value: bytes) -> None:
        """Note the value that the transaction read from a slot."""
        self._storage[slot] = value


def _key(message: Message) -> bytes:
    return message.SerializeToString(deterministic=True)
