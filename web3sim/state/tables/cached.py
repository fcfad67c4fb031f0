"""The tables of one state, cached for a request, and for longer in the process.

A row that a request has read does not change until its end, also over the many runs of an estimate. The
contracts and slots that a contract used recently are read together when it is used again.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from mirror.core import config
from web3sim.engine.interface import AccountKind, Address
from web3sim.state.cache import Absent, ExpiringCache, caches
from web3sim.state.database import Reading
from web3sim.state.tables.current import CurrentTables
from web3sim.state.tables.rows import Entity, SlotKey

# Its own address, or its encoded id.
EntityKey = Address | int

_CONTRACT = AccountKind.CONTRACT.name
_CACHED_TYPES = (_CONTRACT, AccountKind.TOKEN.name)
# Recently used contracts and tokens, of each that was called.
_MAX_ENTITIES = 100

Value = TypeVar("Value")
Key = TypeVar("Key", bound=Hashable)
Use = TypeVar("Use", bound=Hashable)


class CachedTables:
    """Errors of all methods: those of `reading`."""

    def __init__(self, tables: CurrentTables, reading: Reading) -> None:
        self._tables, self._reading, self._time = tables, reading, tables.time
        self._entities: dict[EntityKey, Entity | None] = {}
        self._codes: dict[int, bytes] = {}
        self._slots: dict[SlotKey, int] = {}
        self._cached_rows: dict[tuple[Hashable, ...], Any] = {}
        self._used_entities: dict[EntityKey, None] | None = None
        self._uses_batches: bool = config.value("web3.cache.enableBatchContractSlotCaching")
        self._max_slots: int = config.value("web3.cache.slotsPerContract.maximumSize")

    def begin(
        self, callee: EntityKey, others: Iterable[EntityKey], *, also: Callable[[], EntityKey] | None = None
    ) -> None:
        """Read what a call needs, with what such calls used recently, in few statements.

        The entity of `also` is only read if others have to be.
        """
        self._used_entities = _recently_used(caches().used_entities, callee)
        keys = [callee, *self._used_entities]
        self.load([*keys, *others], also=also)
        entities = [entity for key in keys if (entity := self._entities[key]) is not None]
        contracts = [entity.id for entity in entities if entity.type == _CONTRACT]
        self._read_codes(contracts)
        if self._uses_batches:
            self._read_batches(contracts)

    def _read_batches(self, contract_ids: list[int]) -> None:
        """Read the slots that the first contracts used recently, about as many as one contract may have."""
        keys: list[SlotKey] = []
        for contract_id in contract_ids:
            if len(keys) < self._max_slots:
                keys += self._batch(contract_id)
        self._read_slots(keys)

    def entity(self, key: EntityKey) -> Entity | None:
        if key not in self._entities:
            self.load([key])
            entity = self._entities[key]
            # Accounts come from arguments, different ones each time.
            is_cached_type = entity is not None and entity.type in _CACHED_TYPES
            if is_cached_type and self._used_entities is not None:
                _mark_used(self._used_entities, key, limit=_MAX_ENTITIES)
        return self._entities[key]

    def load(self, keys: Iterable[EntityKey], *, also: Callable[[], EntityKey] | None = None) -> None:
        """Read several entities in one statement, with the one of `also` if there are any to read."""
        missing = self._missing(caches().entities, self._entities, keys)
        if not missing:
            return
        if also is not None:
            missing_also = self._missing(caches().entities, self._entities, [also()])
            missing = list(dict.fromkeys([*missing, *missing_also]))
        entities = self._tables.entities(
            [key for key in missing if isinstance(key, bytes)],
            [key for key in missing if isinstance(key, int)],
        )
        for key in missing:
            entity = entities.by_id.get(key) if isinstance(key, int) else entities.by_address.get(key)
            self._put_entity(key, entity)
            if entity is not None:
                self._put_entity(entity.id, entity)

    def _missing(
        self, cache: ExpiringCache[Any, Any], values: dict[Key, Any], keys: Iterable[Key]
    ) -> list[Key]:
        """Add what the process has cached to `values`; return the keys of which it has nothing."""
        missing = []
        for key in dict.fromkeys(keys):
            if key not in values:
                cached = cache.get((self._time, key))
                if isinstance(cached, Absent):
                    missing.append(key)
                else:
                    values[key] = cached
        return missing

    def _put_entity(self, key: EntityKey, entity: Entity | None) -> None:
        self._entities[key] = entity
        caches().entities.put((self._time, key), entity)

    def code(self, contract_id: int) -> bytes:
        """Runtime code; empty if it is not known."""
        if contract_id not in self._codes:
            self._read_codes([contract_id])
        return self._codes[contract_id]

    def _read_codes(self, contract_ids: list[int]) -> None:
        missing = []
        for contract_id in contract_ids:
            cached = caches().code.get(contract_id)
            if isinstance(cached, Absent):
                missing.append(contract_id)
            else:
                self._codes[contract_id] = cached
        if not missing:
            return
        # Index: the primary key (id).
        rows = self._reading.fetch("select id, runtime_bytecode from contract where id = any(%s)", (missing,))
        self._codes |= dict.fromkeys(missing, b"")
        for contract_id, code in rows:
            # Missing code may still be loaded; known code never changes.
            if code:
                self._codes[contract_id] = code
                caches().code.put(contract_id, code)

    def nonce(self, entity: Entity) -> int:
        if self._time is None or entity.type != _CONTRACT:
            return entity.nonce
        # Of the past it takes a statement.
        return self.cached(("nonce", entity.id), lambda tables: tables.nonce(entity))

    def slot(self, contract_id: int, slot: int) -> int:
        key = (contract_id, slot)
        value = self._slots.get(key)
        if value is None:
            _mark_used(_recently_used(caches().used_slots, contract_id), slot, limit=self._max_slots)
            self._read_slots([key])
            value = self._slots[key]
        return value

    def _read_slots(self, keys: list[SlotKey]) -> None:
        missing = dict.fromkeys(self._missing(caches().slots, self._slots, keys))
        if not missing:
            return
        if self._uses_batches:
            for contract_id in {contract_id for contract_id, _ in missing}:
                missing |= dict.fromkeys(self._batch(contract_id))
        for key, value in self._tables.slots(list(missing)).items():
            self._slots[key] = value
            caches().slots.put((self._time, key), value)

    def _batch(self, contract_id: int) -> list[SlotKey]:
        """Return the slots a contract used recently; none while those read last time are cached."""
        if not isinstance(caches().batches.get((self._time, contract_id)), Absent):
            return []
        caches().batches.put((self._time, contract_id), None)
        used = ((contract_id, slot) for slot in list(_recently_used(caches().used_slots, contract_id)))
        return [key for key in used if key not in self._slots]

    def cached(self, key: tuple[Hashable, ...], read: Callable[[CurrentTables], Value]) -> Value:
        """Return anything else that is read of the tables, by a key of its own."""
        if key not in self._cached_rows:
            self._cached_rows[key] = caches().tokens.get_or_put((self._time, key), lambda: read(self._tables))
        answer: Value = self._cached_rows[key]
        return answer

    def cached_all(
        self, keys: Sequence[tuple[Hashable, ...]], read: Callable[[CurrentTables], Sequence[Any]]
    ) -> None:
        """Read several answers in one statement, unless all are cached; `read` returns one for each key."""
        if not self._missing(caches().tokens, self._cached_rows, keys):
            return
        for key, answer in zip(keys, read(self._tables), strict=True):
            self._cached_rows.setdefault(key, answer)
            caches().tokens.put((self._time, key), answer)


def _recently_used(cache: ExpiringCache[Hashable, dict[Use, None]], key: Hashable) -> dict[Use, None]:
    """Return what a contract used recently; the caller may add to it."""
    return cache.get_or_put(key, dict)


def _mark_used(used: dict[Use, None], item: Use, *, limit: int) -> None:
    used[item] = None
    if len(used) > limit:
        del used[next(iter(used))]
