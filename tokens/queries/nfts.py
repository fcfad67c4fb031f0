"""NFTs: pages of a token's serials, one serial, and its history of transactions."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import psycopg

from ledger.queries.account_pages import min_max
from mirror.core.db.distribution import distributable
from mirror.core.db.reading.query import Bounds, Query
from mirror.core.db.reading.scans import FIRST_IDS, distinct_values, walk
from mirror.core.db.reading.sql import Comparison, Row, Where, compare, fetch, fetch_one

# Finding so many owners takes as long as reading some hundred serials.
_FEW_OWNERS = 100


class NftTransaction(NamedTuple):
    consensus_timestamp: int
    nonce: int
    payer_account_id: int
    valid_start_ns: int
    type: int
    nft_transfer: list[dict[str, Any]] | None


def nfts(
    token_id: int, query: Query, *, owners: Sequence[Comparison], serials: Sequence[Comparison]
) -> tuple[list[Row], int | None]:
    """Return a page of the token's serials by number, with the columns of `nft`.

    The query has the conditions of owners and serials. With the page comes the serial after which the next
    one continues if there was no time to fill this one.
    """
    # Index: the primary key (token_id, serial_number); for the serials of one account
    # nft__account_token_serialnumber (account_id, token_id, serial_number).
    of_token = compare("token_id", [Comparison("eq", token_id)])
    end = f"order by serial_number {query.direction} limit {query.limit:d}"

    def read(window: Bounds) -> list[Row]:
        where = of_token + query.where + Bounds(window.lower, window.upper).where("serial_number")
        return fetch(f"{_NFT} {where.sql} {end}", (token_id, *where.values))

    def ends() -> tuple[int, int] | None:
        return min_max("nft", "serial_number", of_token)

    if all(operator == "eq" for operator, _ in owners):
        return read(Bounds()), None
    # In a slow database the walk comes further, and its page may be short.
    with suppress(psycopg.errors.QueryCanceled):
        rows = _page_of_owners(of_token, query, owners, serials)
        if rows is not None:
            return rows, None
    return walk(read, Bounds.combine(serials), query, ends=ends, first=FIRST_IDS)


@distributable
def _page_of_owners(
    of_token: Where, query: Query, owners: Sequence[Comparison], serials: Sequence[Comparison]
) -> list[Row] | None:
    """Return a page of the serials of a range of owners; None if they are many, and few of the first serials
    are theirs.
    """
    token_id = of_token.values[0]
    where = of_token + query.where
    end = f"order by serial_number {query.direction} limit {query.limit:d}"
    # Index: the primary key. Most pages are full after some serials.
    first = of_token + Bounds.combine(serials).where("serial_number")
    some = f"(select * from nft {first.sql} order by serial_number {query.direction} limit {FIRST_IDS:d}) nft"
    rows = fetch(f"{_COLUMNS} from {some} {where.sql} {end}", (token_id, *first.values, *where.values))
    if len(rows) == query.limit:
        return rows
    # Index: nft__account_token_serialnumber, for the owners and then for the serials of each.
    few = distinct_values("nft", "account_id", Bounds.combine(owners), _FEW_OWNERS)
    if few is None:
        return None
    of_owner = f"{_NFT} where account_id = owner.id {where.and_sql} {end}"
    statement = (
        f"select found.* from unnest(%s::bigint[]) owner (id) cross join lateral ({of_owner}) found {end}"
    )
    return fetch(statement, (few, token_id, *where.values))


_page_of_owners.distributed(lambda *_, **__: None)


def nft(token_id: int, serial_number: int) -> Row | None:
    """Return one serial.

    Columns: account_id, created_timestamp, delegating_spender, deleted, metadata, start of the version,
    serial_number, spender, token_id.
    """
    # Index: the primary key (token_id, serial_number).
    return fetch_one(
        f"{_NFT} where token_id = %s and serial_number = %s", (token_id, token_id, serial_number)
    )


# Index of the one entity: the primary key (id).
_COLUMNS = """
    select account_id, created_timestamp, delegating_spender,
        deleted or coalesce((select deleted from entity where id = %s), false), metadata,
        lower(timestamp_range), serial_number, spender, token_id
"""
_NFT = f"{_COLUMNS} from nft"


def transactions(token_id: int, serial_number: int, query: Query) -> list[NftTransaction]:
    """Return a page of a serial's history: the transactions that started a version or deleted the token."""
    # Indexes: the primary key of nft, nft_history__token_serial_lower_timestamp (token_id, serial_number,
    # lower(timestamp_range)) and the primary key of entity; then the primary key of transaction.
    serial = compare("token_id", [Comparison("eq", token_id)])
    serial += compare("serial_number", [Comparison("eq", serial_number)])
    entity = compare("id", [Comparison("eq", token_id)]) + Where(("deleted",))
    order = f"{query.direction} limit {query.limit:d}"
    current, history, deleted = (
        f"select lower(timestamp_range) as at from {table} {(where + query.where).sql}"
        for table, where in (("nft", serial), ("nft_history", serial), ("entity", entity))
    )
    statement = f"""
        with page as materialized (
            select at from (
                {current} union ({history} order by lower(timestamp_range) {order}) union {deleted}
            ) version order by at {order}
        )
        select consensus_timestamp, nonce, payer_account_id, valid_start_ns, type, nft_transfer
        from transaction
        where consensus_timestamp = any(array(select at from page))
        order by consensus_timestamp {order}
    """
    since = query.where.values
    values = (*serial.values, *since) * 2 + (*entity.values, *since)
    return [NftTransaction(*row) for row in fetch(statement, values)]
