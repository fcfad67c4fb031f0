"""What the EVM sees of the ledger: addresses, accounts, code, storage.

One `LedgerState` serves one request: what it has read once does not change until the end, also over the many
runs of an estimate. Beneath it this process remembers what earlier requests read, for a short time.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

from mirror import config
from mirror.values import entity_id
from web3sim.engine.seam import AccountKind, AccountRecord, Address
from web3sim.state import blocks
from web3sim.state.blocks import SelectedBlock
from web3sim.state.cache import Absent, caches
from web3sim.state.current import CurrentTables
from web3sim.state.database import Reading
from web3sim.state.historical import HistoricalTables
from web3sim.state.proxies import proxy_code
from web3sim.state.tables import Entity, Nft, Tables, Token

# Numbers of the network's own entities; others are above.
_LAST_RESERVED_NUM = 1000

_KINDS = {kind.name: kind for kind in AccountKind}
_PROXIED = frozenset({AccountKind.TOKEN, AccountKind.SCHEDULE})

Answer = TypeVar("Answer")


class LedgerState:
    """A StateReader of the seam, and what the system contracts ask beyond it.

    Errors of all methods: DeadlinePassed, DatabaseUnavailable.
    """

    def __init__(self, selected: SelectedBlock, reading: Reading) -> None:
        self.block = selected.block
        self._reading = reading
        self._tables: Tables = (
            CurrentTables(reading)
            if selected.state_time is None
            else HistoricalTables(selected.state_time, reading)
        )
        self._time = selected.state_time
        self._entities: dict[Address | int, Entity | None] = {}
        self._accounts: dict[Address, AccountRecord | None] = {}
        self._slots: dict[tuple[int, int], int] = {}
        self._block_hashes: dict[int, bytes] = {}
        self._tokens: dict[tuple[Hashable, ...], Any] = {}
        self._allow_long_zero: bool = config.value("web3.evm.allowLongZeroAddresses")
        self._shard: int = config.value("common.shard")
        self._realm: int = config.value("common.realm")

    # THE SEAM

    def account(self, address: Address) -> AccountRecord | None:
        """What lives at an address. A long-zero address of what has an address of its own names nothing."""
        if address in self._accounts:
            return self._accounts[address]
        entity = self.entity_at(address)
        record = None if entity is None else self._record(address, entity)
        self._accounts[address] = record
        return record

    def slot(self, address: Address, slot: int) -> int:
        entity = self.entity_at(address)
        if entity is None or entity.type != AccountKind.CONTRACT.name:
            return 0
        value = self._slots.get((entity.id, slot))
        if value is None:
            self._read_slots(entity.id, slot)
            value = self._slots[entity.id, slot]
        return value

    def block_hash(self, number: int) -> bytes:
        """That of any stored block up to the call's own, of which the first has none."""
        if not 0 < self.block.number >= number:
            return blocks.NO_HASH
        if number not in self._block_hashes:
            self._block_hashes[number] = blocks.block_hash(number, self._reading)
        return self._block_hashes[number]

    # ENTITIES

    def load(self, addresses: Iterable[Address]) -> None:
        """Read several accounts together, before the EVM asks for them one by one."""
        self._read_entities([self._key(address) for address in addresses])

    def entity_at(self, address: Address) -> Entity | None:
        """The entity the EVM knows by an address."""
        key = self._key(address)
        entity = self._entity(key)
        if entity is None or isinstance(key, bytes) or self._allow_long_zero:
            return entity
        return entity if entity.own_address in (None, address) else None

    def account_id_at(self, address: Address) -> int | None:
        """The id of the account or contract at an address."""
        entity = self.entity_at(address)
        return None if entity is None or not _is_account(entity) else entity.id

    def entity(self, encoded: int) -> Entity | None:
        """The entity of an id, whatever its address."""
        return self._entity(encoded)

    def entity_of_any_address(self, address: Address) -> Entity | None:
        """The same as `entity_at`, but a long-zero address always names its entity."""
        return self._entity(self._key(address))

    def address_of(self, encoded: int) -> Address:
        """How the EVM names an entity, also one that is not known."""
        entity = self._entity(encoded)
        return entity_id.long_zero(encoded) if entity is None else entity.address

    def encoded(self, num: int) -> int:
        """The id of a number in the network's own shard and realm."""
        return entity_id.encode(self._shard, self._realm, num)

    def next_contract_address(self) -> Address:
        """The long-zero address of a contract that a call creates: its number is above all that exist."""
        # Index: the primary key (id).
        row = self._reading.fetch_one("select id from entity order by id desc limit 1")
        highest = 0 if row is None else entity_id.decode(row[0])[2]
        num = max(highest + int(config.value("web3.evm.entityNumBuffer")), _LAST_RESERVED_NUM) + 1
        return entity_id.long_zero(num)

    # TOKENS

    def token_at(self, address: Address) -> Token | None:
        """The token at an address."""
        entity = self.entity_at(address)
        return None if entity is None or entity.type != AccountKind.TOKEN.name else self.token(entity.id)

    def token(self, token_id: int) -> Token | None:
        return self._remembered(("token", token_id), lambda: self._tables.token(token_id))

    def total_supply(self, token: Token) -> int:
        return self._remembered(("supply", token.id), lambda: self._tables.total_supply(token))

    def token_balance(self, token: Token, account_id: int) -> int:
        """What an account holds of it, for a unique token the number of serials; 0 without a relationship."""
        key = ("balance", token.id, account_id)
        return self._remembered(key, lambda: self._tables.token_balance(token, account_id))

    def tied_to_tokens(self, account_id: int) -> bool:
        """Whether an account is a token's treasury, or holds tokens."""
        return self._remembered(("tied", account_id), lambda: self._tables.tied_to_tokens(account_id))

    def token_allowance(self, token_id: int, owner: int, spender: int) -> int:
        key = ("allowance", token_id, owner, spender)
        return self._remembered(key, lambda: self._tables.token_allowance(token_id, owner, spender))

    def nft(self, token_id: int, serial_number: int) -> Nft | None:
        key = ("nft", token_id, serial_number)
        return self._remembered(key, lambda: self._tables.nft(token_id, serial_number))

    def approved_for_all(self, token_id: int, owner: int, spender: int) -> bool:
        key = ("approved for all", token_id, owner, spender)
        return self._remembered(key, lambda: self._tables.approved_for_all(token_id, owner, spender))

    # READING

    def _remembered(self, key: tuple[Hashable, ...], read: Callable[[], Answer]) -> Answer:
        if key not in self._tokens:
            kept = caches().tokens.get((self._time, *key))
            if isinstance(kept, Absent):
                kept = read()
                caches().tokens.put((self._time, *key), kept)
            self._tokens[key] = kept
        answer: Answer = self._tokens[key]
        return answer

    def _key(self, address: Address) -> Address | int:
        num = entity_id.num_of_long_zero(address)
        return address if num is None else self.encoded(num)

    def _entity(self, key: Address | int) -> Entity | None:
        if key not in self._entities:
            self._read_entities([key])
        return self._entities[key]

    def _read_entities(self, keys: list[Address | int]) -> None:
        unknown = []
        for key in keys:
            if key in self._entities:
                continue
            kept = caches().entities.get((self._time, key))
            if isinstance(kept, Absent):
                unknown.append(key)
            else:
                self._entities[key] = kept
        if not unknown:
            return
        found = self._tables.entities(
            [key for key in unknown if isinstance(key, bytes)],
            [key for key in unknown if isinstance(key, int)],
        )
        for key in unknown:
            entity = found.by_id.get(key) if isinstance(key, int) else found.by_address.get(key)
            self._remember_entity(key, entity)
            if entity is not None:
                self._remember_entity(entity.id, entity)

    def _remember_entity(self, key: Address | int, entity: Entity | None) -> None:
        self._entities[key] = entity
        caches().entities.put((self._time, key), entity)

    def _record(self, address: Address, entity: Entity) -> AccountRecord | None:
        kind = _KINDS.get(entity.type)
        if kind is None:
            return None
        if kind in _PROXIED:
            return AccountRecord(code=proxy_code(kind, address), kind=kind, entity_id=entity.id)
        return AccountRecord(
            balance=entity.balance,
            nonce=entity.nonce,
            code=self._code(entity.id) if kind is AccountKind.CONTRACT else b"",
            kind=kind,
            entity_id=entity.id,
            receiver_signature_required=entity.receiver_signature_required,
        )

    def _code(self, contract_id: int) -> bytes:
        code: bytes | Absent = caches().code.get(contract_id)
        if isinstance(code, Absent):
            # Index: the primary key (id).
            row = self._reading.fetch_one(
                "select runtime_bytecode from contract where id = %s", (contract_id,)
            )
            code = bytes(row[0] or b"") if row is not None else b""
            # Code that is not known yet may come; what is known never changes.
            if code:
                caches().code.put(contract_id, code)
        return code

    def _read_slots(self, contract_id: int, slot: int) -> None:
        """Read a slot, and with it those that this contract used lately."""
        used: dict[int, None] | Absent = caches().used_slots.get(contract_id)
        if isinstance(used, Absent):
            used = {}
            caches().used_slots.put(contract_id, used)
        used[slot] = None
        if len(used) > config.value("web3.cache.slotsPerContract.maximumSize"):
            del used[next(iter(used))]
        kept = caches().slots.get((self._time, contract_id, slot))
        if not isinstance(kept, Absent):
            self._slots[contract_id, slot] = kept
            return
        wanted = [slot]
        if config.value("web3.cache.enableBatchContractSlotCaching"):
            wanted = [one for one in list(used) if (contract_id, one) not in self._slots]
        for one, value in self._tables.slots(contract_id, wanted).items():
            self._slots[contract_id, one] = value
            caches().slots.put((self._time, contract_id, one), value)


def _is_account(entity: Entity) -> bool:
    return entity.type in (AccountKind.ACCOUNT.name, AccountKind.CONTRACT.name)
