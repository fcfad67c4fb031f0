"""Entities by what requests call them: id, alias or EVM address."""

from collections import defaultdict
from collections.abc import Sequence

from mirror.db.sql import Where, fetch, fetch_one


def exists(entity_id: int) -> bool:
    """Whether there is an entity of this id, of whatever type, deleted or not."""
    # Index: the primary key (id).
    return fetch_one("select 1 from entity where id = %s", (entity_id,)) is not None


def exists_sql(entity_id: int) -> Where:
    """The same as a condition of another statement."""
    return Where(("exists (select 1 from entity where id = %s)",), (entity_id,))


def ids_of_alias(alias: bytes) -> list[int]:
    """Entities with the alias that are not known to be deleted; two at most, where one is right."""
    # Index: entity__alias (alias), of the rows that have one.
    rows = fetch("select id from entity where alias = %s and deleted is not true limit 2", (alias,))
    return [row[0] for row in rows]


def ids_of_live_alias(alias: bytes) -> list[int]:
    """The same, of the entities that are known not to be deleted."""
    # Index: entity__alias (alias).
    rows = fetch("select id from entity where alias = %s and deleted is false limit 2", (alias,))
    return [row[0] for row in rows]


def ids_of_evm_address(evm_address: bytes) -> list[int]:
    """Entities with the EVM address that are known not to be deleted; two at most, where one is right."""
    # Index: entity__evm_address (evm_address), of the rows that have one.
    rows = fetch("select id from entity where evm_address = %s and deleted is false limit 2", (evm_address,))
    return [row[0] for row in rows]


def ids_of_evm_addresses(evm_addresses: Sequence[bytes]) -> dict[bytes, list[int]]:
    """The same for several addresses, all entities of each; without those that nobody bears."""
    return _by_address(evm_addresses, "")


def contracts_of_evm_addresses(evm_addresses: Sequence[bytes]) -> dict[bytes, list[int]]:
    """The same, contracts alone."""
    return _by_address(evm_addresses, "and type = 'CONTRACT'")


def _by_address(evm_addresses: Sequence[bytes], condition: str) -> dict[bytes, list[int]]:
    # Index: entity__evm_address (evm_address), of the rows that have one.
    statement = f"""
        select evm_address, id from entity where evm_address = any(%s) and deleted is false {condition}
    """
    found = defaultdict(list)
    for evm_address, entity_id in fetch(statement, (list(evm_addresses),)):
        found[evm_address].append(entity_id)
    return dict(found)
