"""Contracts: pages of them, and one now or as it was at a time; the content of their bytecode files."""

from collections.abc import Sequence
from typing import NamedTuple

from mirror.db.query import Query
from mirror.db.sql import MAX_INT64, MIN_INT64, fetch, fetch_one

_CREATE, _APPEND, _UPDATE = 17, 16, 19  # the types of the transactions that write files

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
    """One contract; its code only where it is asked for."""

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
    """A page of contracts by id, deleted ones included."""
    # Index: entity__type_id (type, id). By `any` and an order by both columns, as for `type = ...` PostgreSQL
    # may walk the primary key past all other entities. Of the code: the primary key (id).
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


class Moment(NamedTuple):
    """Which version is asked for: the latest that began by `until` and still held at `since` (inclusive ns).

    Versions that held at one of `excluded` don't count.
    """

    since: int = MIN_INT64
    until: int = MAX_INT64
    excluded: Sequence[int] = ()


def contract(name: int | bytes, moment: Moment | None) -> Contract | None:
    """The contract of this id or EVM address, now or at the moment; None also if an address has several."""
    # Indexes: the primary keys (id), entity__evm_address (evm_address), and for earlier versions
    # entity_history__id_lower_timestamp (id, lower(timestamp_range)). Addresses are searched among current
    # rows, as only those are indexed.
    if isinstance(name, bytes):
        known = "id = any(array(select id from entity where evm_address = %s)) and evm_address = %s"
        values: tuple[object, ...] = (name, name)
    else:
        known, values = "id = %s", (name,)
    known += " and type = 'CONTRACT'"
    if moment is None:
        found = f"select * from entity where {known} limit 2"
    else:
        known += " and lower(timestamp_range) <= %s"
        known += f" and coalesce(upper(timestamp_range) - 1, {MAX_INT64}) >= %s"
        known += " and not timestamp_range @> %s::bigint" * len(moment.excluded)
        values = (*values, moment.until, moment.since, *moment.excluded) * 2
        names = ", ".join([*_ENTITY, "timestamp_range"])
        found = f"""
            select {names} from entity where {known}
            union all
            select {names} from entity_history where {known}
            order by timestamp_range desc limit 1
        """
    rows = fetch(
        f"""
        select {_COLUMNS}, c.initcode, c.runtime_bytecode
        from ({found}) e left join contract c on c.id = e.id
        """,
        values,
    )
    return Contract(*rows[0]) if len(rows) == 1 else None


def file_content(file_id: int, until: int = MAX_INT64) -> bytes | None:
    """A file's bytes as of a time: the last creation or update that is not empty, and what was appended.

    None if nothing of that is known.
    """
    # Index: file_data__id_timestamp (entity_id, consensus_timestamp).
    row = fetch_one(
        f"""
        select string_agg(file_data, '' order by consensus_timestamp) from file_data
        where entity_id = %s and consensus_timestamp <= %s
            and transaction_type in ({_APPEND}, {_CREATE}, {_UPDATE})
            and consensus_timestamp >= (
                select consensus_timestamp from file_data
                where entity_id = %s and consensus_timestamp <= %s and (
                    transaction_type = {_CREATE} or (transaction_type = {_UPDATE} and length(file_data) > 0)
                )
                order by consensus_timestamp desc limit 1
            )
        """,
        (file_id, until, file_id, until),
    )
    return None if row is None else row[0]
