"""Alias and EVM address -> entity id, as far as the ledger is known up to the item being read.

Source: entity.alias, entity.evm_address of rows that are not deleted; before them the entities created
earlier in batches that are not committed yet.
"""

from collections import OrderedDict
from typing import Any

from django.db import connection

from mirror import config
from mirror.values import alias as aliases
from mirror.values import entity_id

CACHE_SIZE = 100_000


class EntityLookup:
    """Resolves the ids of protobuf AccountID and ContractID messages; 0 is unknown, absent or impossible."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, bytes], int] = OrderedDict()
        self._deleted: set[int] = set()

    def account(self, account: Any) -> int:
        """An AccountID by number, by EVM address (a 20-byte alias) or by alias."""
        if account.WhichOneof("account") != "alias":
            return entity_id.of_account(account)
        alias = account.alias
        if len(alias) == aliases.EVM_ADDRESS_LENGTH:
            return self.evm_address(alias)
        found = self._find("alias", alias)
        if not found and (derived := aliases.evm_address(alias)):
            found = self.evm_address(derived)
        return found

    def contract(self, contract: Any) -> int:
        """A ContractID by number or by EVM address."""
        if contract.WhichOneof("contract") != "evm_address":
            return entity_id.of_contract(contract)
        return self.evm_address(contract.evm_address)

    def evm_address(self, address: bytes) -> int:
        """A long-zero address is the number it carries; any other is looked up."""
        number = entity_id.num_of_long_zero(address)
        if number is not None:
            shard, realm = config.value("common.shard"), config.value("common.realm")
            return entity_id.encode(shard, realm, number) if number else 0
        return self._find("evm_address", address)

    def remember(self, entity: int, *, alias: bytes | None, evm_address: bytes | None) -> None:
        """Let later items find an entity that is not committed yet."""
        self._deleted.discard(entity)
        if alias:
            self._put(("alias", alias), entity)
        if evm_address:
            self._put(("evm_address", evm_address), entity)

    def delete(self, entity: int) -> None:
        """A deleted entity is no longer found by its alias or EVM address."""
        self._deleted.add(entity)

    def forget(self) -> None:
        """After a batch was not committed: what it created may not exist."""
        self._known.clear()
        self._deleted.clear()

    def _find(self, column: str, value: bytes) -> int:
        key = (column, value)
        found = self._known.get(key)
        if found is not None:
            self._known.move_to_end(key)
            return 0 if found in self._deleted else found
        stored = self._stored(column, value)
        if not stored or stored in self._deleted:
            return 0
        self._put(key, stored)
        return stored

    def _stored(self, column: str, value: bytes) -> int:
        with connection.cursor() as cursor:
            cursor.execute(
                f"select id from entity where {column} = %s and deleted <> true order by id limit 1", [value]
            )
            row = cursor.fetchone()
        return int(row[0]) if row else 0

    def _put(self, key: tuple[str, bytes], entity: int) -> None:
        self._known[key] = entity
        self._known.move_to_end(key)
        if len(self._known) > CACHE_SIZE:
            self._known.popitem(last=False)
