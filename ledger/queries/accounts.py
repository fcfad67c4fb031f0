"""Accounts, contracts included: pages of them, one now, one as it was at a time."""

from typing import NamedTuple

from ledger.queries.account_pages import IS_ACCOUNT, Filters, page
from ledger.queries.versions_at import VersionRange, latest_version
from mirror.core.db.reading.query import Query
from mirror.core.db.reading.sql import Row, Where, fetch_one

Holdings = list[list[int]]  # pairs of token and balance

# A stand-in that older databases hold where the network's first balances are without the treasury.
NOT_SYNTHETIC = Where(("not (num = 2 and memo = 'Mirror node created synthetic treasury account')",))

_ENTITY = (
    "id", "alias", "auto_renew_period", "balance", "balance_timestamp", "created_timestamp", "decline_reward",
    "delegation_address", "deleted", "ethereum_nonce", "evm_address", "expiration_timestamp", "key",
    "max_automatic_token_associations", "memo", "receiver_sig_required", "staked_account_id",
    "staked_node_id", "stake_period_start",
)  # fmt: skip


class AccountBalance(NamedTuple):
    account_id: int
    balance: int | None
    balance_timestamp: int | None
    tokens: Holdings | None


def accounts(columns: str, query: Query, filters: Filters, *, tokens: int) -> tuple[list[Row], int | None]:
    """Return columns of entity e and entity_stake s of a page of accounts by id.

    Where `tokens` are to be shown, a last column has up to as many of them.

    With it comes the id after which the next page continues if there was no time to fill this one.
    """
    # Index of the stake: the primary key (id).
    tokens_column = f", {_tokens(tokens, query.direction)}" if tokens else ""
    return page(f"{columns}{tokens_column}", "left join entity_stake s on s.id = e.id", query, filters)


def balances(query: Query, filters: Filters, *, tokens: int) -> tuple[list[AccountBalance], int | None]:
    """Return the same page with balances alone."""
    columns = f"e.id, e.balance, e.balance_timestamp, {_tokens(tokens, query.direction)}"
    rows, continue_at = page(columns, "", query, filters)
    return [AccountBalance(*row) for row in rows], continue_at


def account(columns: str, entity_id: int, *, tokens: int) -> Row | None:
    """Return the same columns of the account as it is now, and its tokens."""
    # Index: the primary keys (id).
    statement = f"""
        select {columns}, {_tokens(tokens, "asc")}
        from entity e left join entity_stake s on s.id = e.id
        where e.id = %s and {IS_ACCOUNT} {NOT_SYNTHETIC.and_sql}
    """
    return fetch_one(statement, (entity_id,))


def account_at(columns: str, entity_id: int, versions: VersionRange) -> Row | None:
    """Return the columns of the latest version of the account within a range, with the stake of that time."""
    of_id = f"where id = %s {versions.where.and_sql}"
    state = latest_version("entity", ", ".join(_ENTITY), f"{of_id} and {IS_ACCOUNT} {NOT_SYNTHETIC.and_sql}")
    stake = latest_version("entity_stake", "id, pending_reward, end_stake_period", of_id)
    statement = f"select {columns} from ({state}) e left join ({stake}) s on s.id = e.id"
    return fetch_one(statement, (entity_id, *versions.where.values) * 4)


def _tokens(most: int, direction: str) -> str:
    """Return SQL of the tokens of account e, as an array of pairs of id and balance."""
    # Index: the primary key (account_id, token_id).
    return f"""(
        select array_agg(array[token_id, balance]) from (
            select token_id, balance from token_account
            where account_id = e.id and associated order by token_id {direction} limit {most:d}
        ) held
    )"""
