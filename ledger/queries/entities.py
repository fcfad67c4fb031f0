"""Entities by id, alias or EVM address."""

from collections import defaultdict
from collections.abc import Sequence

from mirror.core.db.reading.sql import Where, fetch, fetch_one


def exists(entity_id: int) -> bool:
    """Return whether an entity of this id exists, of any type, deleted or not."""
    # Index: the primary key (id).
    return fetch_one("select 1 from entity where id = %s", (entity_id,)) is not None


def type_of(entity_id: int) -> str | None:
    """Return the type of an entity, such as TOPIC, deleted or not; None if it does not exist."""
    # Index: the primary key (id).
    row = fetch_one("select type::text from entity where id = %s", (entity_id,))
    return None if row is None else str(row[0])


def exists_sql(entity_id: int) -> Where:
    """Return the same as a condition of another statement."""
    return Where(("exists (select 1 from entity where id = %s)",), (entity_id,))


def ids_of_alias(alias: bytes) -> list[int]:
    """Return the ids with this alias that are not known to be deleted: at most two, as only one is valid."""
    # Index: entity__alias (alias), of the rows that have one.
    rows = fetch("select id from entity where alias = %s and deleted is not true limit 2", (alias,))
    return [row[0] for row in rows]


def ids_of_live_alias(alias: bytes) -> list[int]:
    """Return the ids with this alias that are known not to be deleted, at most two."""
    # Index: entity__alias (alias).
    rows = fetch("select id from entity where alias = %s and deleted is false limit 2", (alias,))
    return [row[0] for row in rows]


def ids_of_evm_address(evm_address: bytes) -> list[int]:
    """Return the ids with this EVM address that are known not to be deleted, at most two."""
    # Index: entity__evm_address (evm_address), of the rows that have one.
    rows = fetch("select id from entity where evm_address = %s and deleted is false limit 2", (evm_address,))
    return [row[0] for row in rows]


def ids_of_evm_addresses(evm_addresses: Sequence[bytes]) -> dict[bytes, list[int]]:
    """Return all ids of each EVM address that are known not to be deleted; unknown addresses are left out."""
    return _by_address(evm_addresses, "")


def contracts_and_accounts_of_evm_addresses(evm_addresses: Sequence[bytes]) -> dict[bytes, list[int]]:
    """Return the same of contracts and accounts alone."""
    return _by_address(evm_addresses, "and type in ('CONTRACT', 'ACCOUNT')")


def _by_address(evm_addresses: Sequence[bytes], condition: str) -> dict[bytes, list[int]]:
    # Index: entity__evm_address (evm_address), of the rows that have one.
    statement = f"""
        select evm_address, id from entity where evm_address = any(%s) and deleted is false {condition}
    """
    ids = defaultdict(list)
    for evm_address, entity_id in fetch(statement, (list(evm_addresses),)):
        ids[evm_address].append(entity_id)
    return dict(ids)
