"""NFTs: pages of a token's serials, one serial, and its history of transactions."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ledger.queries.account_pages import ends_of
from mirror.core.db.reading.sql import Comparison, Row, Where, compare, fetch, fetch_one
from mirror.core.db.sql.bounds import Bounds
from mirror.core.db.sql.query import Query
from mirror.core.db.sql.windowed_scan import FIRST_IDS, walk


class Transaction(NamedTuple):
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
        return ends_of("nft", "serial_number", of_token)

    if all(operator == "eq" for operator, _ in owners):
        return read(Bounds()), None
    # The owners of a range may have few serials among many of others.
    return walk(read, Bounds.of(serials), query, ends=ends, first=FIRST_IDS)


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
_NFT = """
    select account_id, created_timestamp, delegating_spender,
        deleted or coalesce((select deleted from entity where id = %s), false), metadata,
        lower(timestamp_range), serial_number, spender, token_id
    from nft
"""


def transactions(token_id: int, serial_number: int, query: Query) -> list[Transaction]:
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
    return [Transaction(*row) for row in fetch(statement, values)]
