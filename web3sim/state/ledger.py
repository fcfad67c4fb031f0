"""The ledger as the EVM sees it: addresses, accounts, code, storage, tokens."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property, partial
from typing import TypeVar, TypeVarTuple

from mirror.core import config
from mirror.core.db.distribution import choose
from mirror.core.values import entity_id
from mirror.core.values.timestamp import NANOS_PER_SECOND
from web3sim.engine.interface import AccountKind, AccountRecord, Address, delegation_to
from web3sim.engine.versions import V070
from web3sim.state import blocks
from web3sim.state.blocks import BlockHashes, SelectedBlock
from web3sim.state.database import Reading
from web3sim.state.evm_version import evm_version
from web3sim.state.proxy_code import TOKEN_SERVICE, proxy_code
from web3sim.state.tables.cached import CachedTables, EntityKey
from web3sim.state.tables.current import CurrentTables
from web3sim.state.tables.distributed import DistributedHistoricalTables
from web3sim.state.tables.historical import HistoricalTables
from web3sim.state.tables.rows import Entity, Relationship, Token

# Numbers of the network's own entities; others are above.
_LAST_RESERVED_NUM = 1000
# How far above the highest stored number and the buffer the first new one is, as in the original.
_FIRST_NEW_OFFSET = 2

# Names of kinds: an attribute of an enumeration takes as long as a row from a cache.
_KINDS = {kind.name: kind for kind in AccountKind}
_ACCOUNT, _CONTRACT = AccountKind.ACCOUNT.name, AccountKind.CONTRACT.name
_PROXIED = (AccountKind.TOKEN.name, AccountKind.SCHEDULE.name)
_ACCOUNTS = (_ACCOUNT, _CONTRACT)

Arguments = TypeVarTuple("Arguments")
Answer = TypeVar("Answer")

# Each call needs them.
_first_id = cache(partial(entity_id.encode, num=0))
_reserved = cache(partial(Entity, type=_ACCOUNT))


def tables_at(time: int | None, reading: Reading) -> CurrentTables:
    """Return the state just after a time (ns); None is the current one."""
    if time is None:
        return CurrentTables(reading)
    tables: type[HistoricalTables] = choose(HistoricalTables, distributed=DistributedHistoricalTables)
    return tables(time, reading)


def _cached(
    kind: str, read: Callable[[CurrentTables, *Arguments], Answer]
) -> Callable[["LedgerState", *Arguments], Answer]:
    """Return a method that reads the tables once for each combination of arguments."""
    name = read.__name__

    def cached(state: "LedgerState", /, *arguments: *Arguments) -> Answer:
        answer: Answer = state._tables.cached(
            (kind, *arguments), lambda tables: getattr(tables, name)(*arguments)
        )
        return answer

    return cached


class LedgerState:
    """The StateReader of engines, and what system contracts read beyond it. It serves one request.

    Errors of all methods: DeadlinePassed, DatabaseUnavailable; of `block_hash` also NotSupported.
    """

    def __init__(self, selected: SelectedBlock, reading: Reading) -> None:
        self.block = selected.block
        self._reading = reading
        self.check_deadline = reading.check_deadline
        self._tables = CachedTables(tables_at(selected.state_time, reading), reading)
        self._accounts: dict[Address, AccountRecord | None] = {}
        self._block_hashes = BlockHashes(reading)
        self.version = evm_version(selected)
        #: The time by which schedules expire, in seconds: of the block on a network, of the clock in a
        #: simulation, whose block is past.
        self.now_seconds = self.block.consensus_start // NANOS_PER_SECOND
        #: The least balance of accounts once the call loads them: a simulation doesn't fail for lack of hbar.
        self.min_balance = 0
        #: The numbers of the tokens and schedules that the call makes, if they are known, in their order.
        self.known_numbers: Sequence[int] = ()
        self._allow_long_zero: bool = config.value("web3.evm.allowLongZeroAddresses")
        self._shard: int = config.value("common.shard")
        self._realm: int = config.value("common.realm")
        # A number only fills the lowest bits.
        self._id_offset = _first_id(self._shard, self._realm)

    def begin(self, to: Address, others: Iterable[Address] = ()) -> None:
        """Read together what a call to an address needs, and what such calls used lately."""
        # The code of tokens calls their service, which is an account of the network as well.
        self._tables.begin(self._key(to), map(self._key, others), also=lambda: self._key(TOKEN_SERVICE))

    # THE ENGINE INTERFACE

    def account(self, address: Address) -> AccountRecord | None:
        """Return the account at an address; none at the long-zero address of one with its own address."""
        if address in self._accounts:
            return self._accounts[address]
        entity = self.entity_at(address)
        record = None if entity is None else self._record(address, entity)
        self._accounts[address] = record
        return record

    def slot(self, address: Address, slot: int) -> int:
        entity = self.entity_at(address)
        if entity is None or entity.type != _CONTRACT:
            return 0
        return self._tables.slot(entity.id, slot)

    def block_hash(self, number: int) -> bytes:
        """Return the hash of any stored block up to the call's own; zeros in block 0."""
        if not 0 < self.block.number >= number:
            return blocks.NO_HASH
        return self._block_hashes.get(number)

    def _record(self, address: Address, entity: Entity) -> AccountRecord | None:
        account_kind = _KINDS.get(entity.type)
        if account_kind is None:
            return None
        if entity.type in _PROXIED:
            code = proxy_code(account_kind, address, self.version)
            return AccountRecord(code=code, kind=account_kind, entity_id=entity.id)
        delegate, delegation = entity.delegation_address, b""
        if delegate and any(delegate) and self.version >= V070:
            delegation = delegation_to(delegate)
        return AccountRecord(
            balance=entity.balance,
            nonce=self._tables.nonce(entity),
            code=self._tables.code(entity.id) if entity.type == _CONTRACT else delegation,
            kind=account_kind,
            entity_id=entity.id,
            min_balance=self.min_balance if entity.type == _ACCOUNT else 0,
        )

    # ENTITIES

    def load(self, addresses: Iterable[Address]) -> None:
        """Read several accounts in one statement."""
        self._tables.load([self._key(address) for address in addresses])

    def entity_at(self, address: Address) -> Entity | None:
        """The entity the EVM knows by an address."""
        key = self._key(address)
        entity = self._entity(key)
        if entity is None or isinstance(key, bytes) or self._allow_long_zero:
            return entity
        return entity if entity.own_address in (None, address) else None

    def account_id_at(self, address: Address) -> int | None:
        entity = self.entity_at(address)
        return None if entity is None or entity.type not in _ACCOUNTS else entity.id

    def entity(self, encoded: int) -> Entity | None:
        """The entity of an id, whatever its address."""
        return self._entity(encoded)

    def _entity(self, key: EntityKey) -> Entity | None:
        """Return an entity; every number of the network's own has an account, stored or not."""
        entity = self._tables.entity(key)
        if entity is None and isinstance(key, int) and 0 < key - self._id_offset < _LAST_RESERVED_NUM:
            return _reserved(key)
        return entity

    def entity_at_any_address(self, address: Address) -> Entity | None:
        """Return the same as `entity_at`, but a long-zero address always names its entity."""
        return self._entity(self._key(address))

    def called_address(self, address: Address) -> Address:
        """Return where a transaction to an address calls: the own address of an account or contract.

        A transaction names its contract by number, so its long-zero address is no address in the EVM.
        """
        entity = self.entity_at_any_address(address)
        return entity.address if entity is not None and entity.type in _ACCOUNTS else address

    def address_of(self, encoded: int) -> Address:
        """Return the EVM address of an entity, also of one that is not known."""
        entity = self._entity(encoded)
        return entity_id.long_zero(encoded) if entity is None else entity.address

    def encoded(self, num: int) -> int:
        """The id of a number in the network's own shard and realm."""
        return entity_id.encode(self._shard, self._realm, num)

    def next_contract_address(self) -> Address:
        """The long-zero address of a contract that a call creates."""
        return entity_id.long_zero(self.next_num)

    @cached_property
    def next_num(self) -> int:
        """The number of the first entity that a call creates: above all that exist."""
        # Index: the primary key (id).
        row = self._reading.fetch_one("select id from entity order by id desc limit 1")
        highest = 0 if row is None else entity_id.decode(row[0])[2]
        buffer: int = config.value("web3.evm.entityNumBuffer")
        return max(highest + buffer + _FIRST_NEW_OFFSET, _LAST_RESERVED_NUM + 1)

    def _key(self, address: Address) -> EntityKey:
        num = entity_id.num_of_long_zero(address)
        return address if num is None else self._id_offset + num

    # TOKENS

    def token_at(self, address: Address) -> Token | None:
        entity = self.entity_at(address)
        return None if entity is None or entity.type != AccountKind.TOKEN.name else self.token(entity.id)

    token = _cached("token", CurrentTables.token)
    deleted_token = _cached("deleted token", CurrentTables.deleted_token)
    custom_fees = _cached("custom fees", CurrentTables.custom_fees)
    newest_serial = _cached("newest serial", CurrentTables.newest_serial)
    nft = _cached("nft", CurrentTables.nft)
    associations = _cached("associations", CurrentTables.associations)
    tying_tokens = _cached("tying", CurrentTables.tying_tokens)
    allowances = _cached("allowances", CurrentTables.allowances)
    hbar_allowance = _cached("hbar allowance", CurrentTables.hbar_allowance)
    token_allowance = _cached("allowance", CurrentTables.token_allowance)
    approved_for_all = _cached("approved for all", CurrentTables.approved_for_all)
    pending_airdrop = _cached("airdrop", CurrentTables.pending_airdrop)
    schedule = _cached("schedule", CurrentTables.schedule)
    signatories = _cached("signatories", CurrentTables.signatories)

    def total_supply(self, token: Token) -> int:
        return self._tables.cached(("supply", token.id), lambda tables: tables.total_supply(token))

    def relationship(self, token: Token, account_id: int) -> Relationship | None:
        """Return the relationship of an account with a token; None unless it is associated."""
        key = ("relationship", token.id, account_id)
        return self._tables.cached(key, lambda tables: tables.relationship(token, account_id))

    def load_token(self, token_id: int, serial_number: int | None = None) -> None:
        """Read a token, its custom fees and a serial of it in one statement."""
        keys: list[tuple[str | int, ...]] = [("token", token_id), ("custom fees", token_id)]
        if serial_number is not None:
            keys.append(("nft", token_id, serial_number))
        self._tables.cached_all(keys, lambda tables: tables.token_facts(token_id, serial_number)[: len(keys)])
