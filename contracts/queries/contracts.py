"""Contracts: pages of them, and one now or as it was at a time."""

from typing import NamedTuple

from contracts.queries.distributed import contracts as distributed
from ledger.queries.versions_at import VersionRange
from mirror.core.db.distribution import is_distributed
from mirror.core.db.reading.sql import Where, fetch
from mirror.core.db.sql.query import Query

_ENTITY = (
    "id", "key", "auto_renew_account_id", "auto_renew_period", "created_timestamp", "deleted", "evm_address",
    "expiration_timestamp", "max_automatic_token_associations", "memo", "ethereum_nonce", "obtainer_id",
    "permanent_removal", "proxy_account_id",
)  # fmt: skip
_COLUMNS = ", ".join(
    [
        *(f"e.{name}" for name in _ENTITY),
        *("lower(e.timestamp_range)", "upper(e.timestamp_range)", "c.file_id"),
    ]
)


class Contract(NamedTuple):
    """One contract; its code only where a query reads it."""

    id: int
    key: bytes | None
    auto_renew_account_id: int | None
    auto_renew_period: int | None
    created_timestamp: int | None
    deleted: bool | None
    evm_address: bytes | None
    expiration_timestamp: int | None
    max_automatic_token_associations: int | None
    memo: str
    ethereum_nonce: int | None
    obtainer_id: int | None
    permanent_removal: bool | None
    proxy_account_id: int | None
    since: int
    until: int | None
    file_id: int | None
    initcode: bytes | None = None
    runtime_bytecode: bytes | None = None


def contracts(query: Query) -> list[Contract]:
    """Return a page of contracts by id, deleted ones included."""
    # Indexes: entity__type_id (type, id); the primary key of contract. `any`, and order by both columns, as
    # for `type = ...` PostgreSQL may walk the primary key past all other entities.
    if is_distributed():
        return [Contract(*row) for row in distributed.contracts(query, _COLUMNS)]
    statement = f"""
        select {_COLUMNS}
        from (
            select * from entity where type = any('{{CONTRACT}}'::entity_type[]) {query.where.and_sql}
            order by type {query.direction}, id {query.direction} limit {query.limit:d}
        ) e
        left join contract c on c.id = e.id
        order by e.id {query.direction}
    """
    return [Contract(*row) for row in fetch(statement, query.where.values)]


def contract(name: int | bytes, within: VersionRange | None) -> Contract | None:
    """Return the contract of an id or EVM address, now or in a range of time; None if it has several."""
    # Indexes: the primary keys (id), entity__evm_address (evm_address), and for earlier versions
    # entity_history__id_lower_timestamp (id, lower(timestamp_range)). An address is looked up among current
    # rows.
    known = name
    if isinstance(name, bytes) and is_distributed():
        contract_id = distributed.id_of(name)
        if contract_id is None:
            return None
        known = contract_id
        where = Where(("id = %s", "evm_address = %s"), (contract_id, name))
    elif isinstance(name, bytes):
        by_address = "id = any(array(select id from entity where evm_address = %s))"
        where = Where((by_address, "evm_address = %s"), (name, name))
    else:
        where = Where(("id = %s",), (name,))
    where += Where(("type = 'CONTRACT'",))
    values = where.values
    if within is None:
        versions = f"select * from entity {where.sql} limit 2"
    else:
        where += within.where
        values = where.values * 2
        names = ", ".join([*_ENTITY, "timestamp_range"])
        versions = f"""
            select {names} from entity {where.sql}
            union all
            select {names} from entity_history {where.sql}
            order by timestamp_range desc limit 1
        """
    table = "contract"
    if is_distributed():
        # Each table by its id: one machine has all of these rows.
        table, values = "(select * from contract where id = %s)", (*values, known)
    rows = fetch(
        f"""
        select {_COLUMNS}, c.initcode, c.runtime_bytecode
        from ({versions}) e left join {table} c on c.id = e.id
        """,
        values,
    )
    return Contract(*rows[0]) if len(rows) == 1 else None
