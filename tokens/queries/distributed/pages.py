"""Pages of serials and relationships where tables are distributed: the page first, then facts of its tokens.

An outer join of a page with a distributed table would bring the whole table to the coordinator.
"""

from collections.abc import Sequence
from typing import Any

from mirror.core.db.reading.sql import Row, fetch

_SERIAL = (
    "account_id, created_timestamp, delegating_spender, deleted, metadata, lower(timestamp_range), "
    "serial_number, spender, token_id"
)


def serials(page: str, direction: str, values: Sequence[Any]) -> list[Row]:
    """Return the serials of a page of nft, each as deleted if its token is."""
    order = f"order by token_id {direction}, serial_number {direction}"
    rows = fetch(f"select {_SERIAL} from ({page}) n {order}", values)
    tokens = sorted({row[-1] for row in rows})
    # Index: the primary key (id).
    gone = tokens and fetch("select id from entity where id = any(%s) and deleted", (tokens,))
    deleted = {token_id for (token_id,) in gone}
    return [(*row[:3], row[-1] in deleted or row[3], *row[4:]) for row in rows]


def relationships(page: str, direction: str, values: Sequence[Any]) -> list[Row]:
    """Return the relationships of a page of token_account, with what their tokens say."""
    rows = fetch(
        f"""
        select automatic_association, balance, created_timestamp, token_id, freeze_status, kyc_status
        from ({page}) a order by token_id {direction}
        """,
        values,
    )
    # Index: the primary key (token_id).
    tokens: Sequence[Row] = rows and fetch(
        "select token_id, decimals, freeze_status, kyc_status from token where token_id = any(%s)",
        ([row[3] for row in rows],),
    )
    facts = {token_id: tuple(others) for token_id, *others in tokens}
    relationships = []
    for automatic, balance, created, token_id, freeze, kyc in rows:
        decimals, token_freeze, token_kyc = facts.get(token_id, (None, None, None))
        relationships.append(
            (
                *(automatic, balance, created, decimals, token_id),
                token_freeze if freeze is None else freeze,
                token_kyc if kyc is None else kyc,
            )
        )
    return relationships
