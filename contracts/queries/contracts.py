"""Contracts: pages of them, and one now or as it was at a time."""

from ledger.queries.versions_at import VersionRange, latest_version
from mirror.core.db.distribution import distributable
from mirror.core.db.reading.query import Query, Statement
from mirror.core.db.reading.sql import Row, Where, fetch

_ENTITY = (
    "id", "key", "auto_renew_account_id", "auto_renew_period", "created_timestamp", "deleted", "evm_address",
    "expiration_timestamp", "max_automatic_token_associations", "memo", "ethereum_nonce", "obtainer_id",
    "permanent_removal", "proxy_account_id", "timestamp_range",
)  # fmt: skip


@distributable
def contracts(columns: str, query: Query) -> list[Row]:
    """Return columns of entity e and contract c of a page of contracts by id, deleted ones included."""
    # Indexes: entity__type_id (type, id); the primary key of contract. `any`, and order by both columns, as
    # for `type = ...` PostgreSQL may walk the primary key past all other entities.
    statement = f"""
        select {columns}
        from (
            select * from entity where type = any('{{CONTRACT}}'::entity_type[]) {query.where.and_sql}
            order by type {query.direction}, id {query.direction} limit {query.limit:d}
        ) e
        left join contract c on c.id = e.id
        order by e.id {query.direction}
    """
    return fetch(statement, query.where.values)


@distributable
def contract(columns: str, name: int | bytes, within: VersionRange | None) -> Row | None:
    """Return the same of one contract, now or in a range of time; None if an EVM address is of several."""
    # Indexes: the primary keys (id), entity__evm_address (evm_address), and for earlier versions
    # entity_history__id_lower_timestamp (id, lower(timestamp_range)). An address is looked up among current
    # rows.
    where = Where(("id = %s",), (name,))
    if isinstance(name, bytes):
        by_address = "id = any(array(select id from entity where evm_address = %s))"
        where = Where((by_address, "evm_address = %s"), (name, name))
    sql, values = _versions(where, within)
    rows = fetch(f"select {columns} from ({sql}) e left join contract c on c.id = e.id", values)
    return rows[0] if len(rows) == 1 else None


def _versions(where: Where, within: VersionRange | None) -> Statement:
    where += Where(("type = 'CONTRACT'",))
    if within is None:
        return Statement(f"select * from entity {where.sql} limit 2", where.values)
    where += within.where
    return Statement(latest_version("entity", ", ".join(_ENTITY), where.sql), where.values * 2)


# WHERE TABLES ARE DISTRIBUTED: ids first, then the rows.


@contracts.distributed
def _distributed_contracts(columns: str, query: Query) -> list[Row]:
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


@contract.distributed
def _distributed_contract(columns: str, name: int | bytes, within: VersionRange | None) -> Row | None:
    where, number = Where(("id = %s",), (name,)), name
    if isinstance(name, bytes):
        contract_id = _id_of(name)
        if contract_id is None:
            return None
        where, number = Where(("id = %s", "evm_address = %s"), (contract_id, name)), contract_id
    sql, values = _versions(where, within)
    # Each table by its id: one machine has all of these rows.
    of_id = "(select * from contract where id = %s)"
    rows = fetch(f"select {columns} from ({sql}) e left join {of_id} c on c.id = e.id", (*values, number))
    return rows[0] if len(rows) == 1 else None


def _id_of(evm_address: bytes) -> int | None:
    """Return the id of the one contract that has an EVM address now."""
    # Index: entity__evm_address (evm_address).
    rows = fetch("select id from entity where evm_address = %s limit 2", (evm_address,))
    return rows[0][0] if len(rows) == 1 else None
