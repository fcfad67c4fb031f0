"""Lookup of entities by alias and EVM address, as the ledger stands at the item being read.

Source: entity.alias, entity.evm_address of rows that are not deleted; before them the entities created
earlier in batches that are not committed yet.
"""

from typing import Any

from cachetools import LRUCache

from mirror.core import config
from mirror.core.db import statements
from mirror.core.values import alias as aliases
from mirror.core.values import entity_id

CACHE_SIZE = 100_000


class EntityLookup:
    """Resolves ids of protobuf AccountID and ContractID messages; 0 is unknown, absent or out of range."""

    def __init__(self) -> None:
        self._known: LRUCache[tuple[str, bytes], int] = LRUCache(CACHE_SIZE)
        self._deleted: set[int] = set()

    def account(self, account: Any) -> int:
        """Resolve an AccountID by number, by EVM address (a 20-byte alias) or by alias."""
        if account.WhichOneof("account") != "alias":
            return entity_id.from_account(account)
        alias = account.alias
        if len(alias) == aliases.EVM_ADDRESS_LENGTH:
            return self.evm_address(alias)
        entity = self._find("alias", alias)
        if not entity and (derived := aliases.evm_address(alias)):
            entity = self.evm_address(derived)
        return entity

    def contract(self, contract: Any) -> int:
        if contract.WhichOneof("contract") != "evm_address":
            return entity_id.from_contract(contract)
        return self.evm_address(contract.evm_address)

    def evm_address(self, address: bytes) -> int:
        """Resolve an EVM address: by the number in a long-zero address, any other by the tables."""
        number = entity_id.num_of_long_zero(address)
        if number is not None:
            return config.own_id(number) if number else 0
        return self._find("evm_address", address)

    def cache(self, entity: int, *, alias: bytes | None, evm_address: bytes | None) -> None:
        """Let later items find an entity that is not committed yet."""
        self._deleted.discard(entity)
        if alias:
            self._known["alias", alias] = entity
        if evm_address:
            self._known["evm_address", evm_address] = entity

    def delete(self, entity: int) -> None:
        """Let later items no longer find an entity by its alias or EVM address."""
        self._deleted.add(entity)

    def clear(self) -> None:
        """Forget everything after a batch was not committed: the entities it created may not exist."""
        self._known.clear()
        self._deleted.clear()

    def _find(self, column: str, value: bytes) -> int:
        key = (column, value)
        known = self._known.get(key)
        if known is not None:
            return 0 if known in self._deleted else known
        stored = self._stored(column, value)
        if not stored or stored in self._deleted:
            return 0
        self._known[key] = stored
        return stored

    def _stored(self, column: str, value: bytes) -> int:
        statement = f"select id from entity where {column} = %s and deleted <> true order by id limit 1"
        return statements.value(statement, [value]) or 0
