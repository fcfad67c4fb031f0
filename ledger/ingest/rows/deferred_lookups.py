"""Lookups of a prefetched file, made before the files before it are stored.

They return what is stored by then, and note every key. A result counts when no file between has changed the
key; otherwise the file is read again in stream order.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Set
from itertools import count

from cachetools import LRUCache
from django.db.backends.utils import CursorWrapper

from ledger.ingest.rows.lookups import Chunk, EntityLookup, EvmAddresses, FileContents

# An alias or EVM address (bytes), an entity whose address or deletion matters (number), or a file.
LookupKey = Hashable
MAX_CACHED_ENTITIES = 100_000
# Readers outlive a run, and must not confuse the batches of two runs.
_run_numbers, _BATCHES_PER_RUN = count(), 1 << 32


def file_key(file: int) -> LookupKey:
    return "file", file


class DirtyKeys:
    """The keys that each batch changes, until every reader reads what that batch has committed."""

    def __init__(self) -> None:
        self._current: set[LookupKey] = set()
        self._submitted: deque[tuple[int, set[LookupKey]]] = deque()
        # The last batch that is committed: a lookup made now sees it.
        self.committed = self._number = next(_run_numbers) * _BATCHES_PER_RUN

    def add(self, keys: Iterable[LookupKey]) -> None:
        """Note what the file being added changes."""
        self._current.update(keys)

    def submit(self) -> None:
        self._number += 1
        self._submitted.append((self._number, self._current))
        self._current = set()

    def commit(self) -> None:
        self.committed = self._number

    def discard_until(self, number_committed: int) -> None:
        """Drop the batches that every lookup to come sees."""
        while self._submitted and self._submitted[0][0] <= number_committed:
            self._submitted.popleft()

    def changed_since(self, committed: int, keys: Set[LookupKey]) -> bool:
        """Return whether a key was changed by a batch after the first `committed` ones."""
        if not keys.isdisjoint(self._current):
            return True
        return any(number > committed and not keys.isdisjoint(dirty) for number, dirty in self._submitted)


class PrefetchedEntities(EntityLookup):
    """Entities as they are stored, and those that the file being read creates."""

    def __init__(self) -> None:
        super().__init__()
        self.lookup_keys: set[LookupKey] = set()
        # What the file did: entity, its alias and EVM address, and whether it is deleted.
        self.changes: list[tuple[int, bytes | None, bytes | None, bool]] = []
        self._cached: LRUCache[tuple[str, bytes], int] = LRUCache(MAX_CACHED_ENTITIES)

    def begin_file(self, *, clear_cache: bool) -> None:
        """Forget the file before; `clear_cache` also clears the cached lookups, as more is stored by now."""
        self.clear()
        self.lookup_keys, self.changes = set(), []
        if clear_cache:
            self._cached.clear()

    def cache(self, entity: int, *, alias: bytes | None, evm_address: bytes | None) -> None:
        super().cache(entity, alias=alias, evm_address=evm_address)
        self.changes.append((entity, alias, evm_address, False))

    def delete(self, entity: int) -> None:
        super().delete(entity)
        self.changes.append((entity, None, None, True))

    def _stored(self, column: str, value: bytes) -> int:
        key = (column, value)
        entity = self._cached.get(key)
        if entity is None:
            entity = self._cached[key] = super()._stored(column, value)
        self.lookup_keys.add(value)
        if entity:
            self.lookup_keys.add(entity)
        return entity


class PrefetchedEvmAddresses(EvmAddresses):
    """The EVM addresses of accounts of one file, as they are stored; an address never changes."""

    def __init__(self, addresses: dict[int, bytes], missing: set[int], lookup_keys: set[LookupKey]) -> None:
        """`addresses` are those that were read before, `missing` accounts that had none."""
        super().__init__()
        self._cached_addresses, self._missing, self._lookup_keys = addresses, missing, lookup_keys

    def _addresses(self, cursor: CursorWrapper, accounts: set[int]) -> dict[int, bytes]:
        unknown = accounts - self._cached_addresses.keys() - self._missing
        if unknown:
            self._cached_addresses.update(super()._addresses(cursor, unknown))
            self._missing |= unknown - self._cached_addresses.keys()
        self._lookup_keys |= accounts & self._missing
        return self._cached_addresses


class PrefetchedFileContents(FileContents):
    """Contents of files as they are stored, and the chunks of the file being read."""

    def __init__(self) -> None:
        super().__init__()
        self.lookup_keys: set[LookupKey] = set()
        self.chunks: list[tuple[int, Chunk]] = []

    def begin_file(self, lookup_keys: set[LookupKey]) -> None:
        self.clear()
        self.lookup_keys, self.chunks = lookup_keys, []

    def add(self, file: int, chunk: Chunk) -> None:
        super().add(file, chunk)
        self.chunks.append((file, chunk))

    def _stored(self, file: int, before: int) -> list[bytes]:
        self.lookup_keys.add(file_key(file))
        return super()._stored(file, before)


# IN STREAM ORDER


class OrderedEntities(EntityLookup):
    """Entities at the item being read; notes what prefetched lookups may have missed."""

    def __init__(self, dirty: DirtyKeys) -> None:
        super().__init__()
        self._dirty = dirty

    def cache(self, entity: int, *, alias: bytes | None, evm_address: bytes | None) -> None:
        lookup_keys: list[LookupKey] = [name for name in (alias, evm_address) if name]
        if evm_address or entity in self._deleted:
            lookup_keys.append(entity)
        self._dirty.add(lookup_keys)
        super().cache(entity, alias=alias, evm_address=evm_address)

    def delete(self, entity: int) -> None:
        self._dirty.add((entity,))
        super().delete(entity)


class OrderedFileContents(FileContents):
    """Contents of files at the item being read; notes what prefetched lookups may have missed."""

    def __init__(self, dirty: DirtyKeys) -> None:
        super().__init__()
        self._dirty = dirty

    def add(self, file: int, chunk: Chunk) -> None:
        self._dirty.add((file_key(file),))
        super().add(file, chunk)
