"""Contracts where tables are distributed: ids first, then the rows."""

from mirror.core.db.reading.sql import Row, fetch
from mirror.core.db.sql.query import Query


def contracts(query: Query, columns: str) -> list[Row]:
    """Return the columns of a page of entities e and contracts c by id."""
    # Indexes: entity__type_id (type, id); then the primary keys (id), on the machines of these ids.
    page = f"""
        select id from entity where type = any('{{CONTRACT}}'::entity_type[]) {query.where.and_sql}
        order by type {query.direction}, id {query.direction} limit {query.limit:d}
    """
    ids = [number for (number,) in fetch(page, query.where.values)]
    if not ids:
        return []
    statement = f"""
        select {columns} from entity e left join contract c on c.id = e.id
        where e.id = any(%s) order by e.id {query.direction}
    """
    return fetch(statement, (ids,))


def id_of(evm_address: bytes) -> int | None:
    """Return the id of the one contract that has an EVM address now."""
    # Index: entity__evm_address (evm_address).
    rows = fetch("select id from entity where evm_address = %s limit 2", (evm_address,))
    return rows[0][0] if len(rows) == 1 else None
