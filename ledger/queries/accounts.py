"""Accounts, contracts included: pages of them, one now, one as it was at a time."""

from collections.abc import Sequence
from typing import NamedTuple

from ledger.queries.account_pages import IS_ACCOUNT, Filters, page
from ledger.queries.versions_at import VersionRange
from mirror.core.db.reading.sql import Where, fetch_one
from mirror.core.db.sql.query import Query

Holdings = list[list[int]]  # pairs of token and balance

# A stand-in that older databases hold where the network's first balances are without the treasury.
NOT_SYNTHETIC = Where(("not (num = 2 and memo = 'Mirror node created synthetic treasury account')",))

_ENTITY = (
    "id", "alias", "auto_renew_period", "balance", "balance_timestamp", "created_timestamp", "decline_reward",
    "delegation_address", "deleted", "ethereum_nonce", "evm_address", "expiration_timestamp", "key",
    "max_automatic_token_associations", "memo", "receiver_sig_required", "staked_account_id",
    "staked_node_id", "stake_period_start",
)  # fmt: skip
_STAKE = ("id", "pending_reward", "end_stake_period")
_COLUMNS = ", ".join([*(f"e.{name}" for name in _ENTITY), *(f"s.{name}" for name in _STAKE[1:])])


class Account(NamedTuple):
    """One account; `tokens` only where a query reads them, the stake only if there is one."""

    id: int
    alias: bytes | None
    auto_renew_period: int | None
    balance: int | None
    balance_timestamp: int | None
    created_timestamp: int | None
    decline_reward: bool
    delegation_address: bytes | None
    deleted: bool | None
    ethereum_nonce: int | None
    evm_address: bytes | None
    expiration_timestamp: int | None
    key: bytes | None
    max_automatic_token_associations: int | None
    memo: str
    receiver_sig_required: bool | None
    staked_account_id: int | None
    staked_node_id: int | None
    stake_period_start: int | None
    pending_reward: int | None
    end_stake_period: int | None
    tokens: Holdings | None = None


class AccountBalance(NamedTuple):
    account_id: int
    balance: int | None
    balance_timestamp: int | None
    tokens: Holdings | None


def accounts(query: Query, filters: Filters, *, tokens: int) -> tuple[list[Account], int | None]:
    """Return a page of accounts by id, each with up to `tokens` tokens.

    With it comes the id after which the next page continues if there was no time to fill this one.
    """
    # Index of the stake: the primary key (id).
    held = f", {_held(tokens, query.direction)}" if tokens else ""
    rows, continue_at = page(f"{_COLUMNS}{held}", "left join entity_stake s on s.id = e.id", query, filters)
    return [Account(*row) for row in rows], continue_at


def balances(query: Query, filters: Filters, *, tokens: int) -> tuple[list[AccountBalance], int | None]:
    """Return the same page with balances alone."""
    columns = f"e.id, e.balance, e.balance_timestamp, {_held(tokens, query.direction)}"
    rows, continue_at = page(columns, "", query, filters)
    return [AccountBalance(*row) for row in rows], continue_at


def account(entity_id: int, *, tokens: int) -> Account | None:
    """Return the account as it is now."""
    # Index: the primary keys (id).
    statement = f"""
        select {_COLUMNS}, {_held(tokens, "asc")}
        from entity e left join entity_stake s on s.id = e.id
        where e.id = %s and {IS_ACCOUNT} {NOT_SYNTHETIC.and_sql}
    """
    row = fetch_one(statement, (entity_id,))
    return None if row is None else Account(*row)


def account_at(entity_id: int, versions: VersionRange) -> Account | None:
    """Return the latest version of the account within a range, with the stake of that time."""
    state = _version("entity", _ENTITY, versions.where, f"and {IS_ACCOUNT} {NOT_SYNTHETIC.and_sql}")
    stake = _version("entity_stake", _STAKE, versions.where)
    statement = f"select {_COLUMNS} from ({state}) e left join ({stake}) s on s.id = e.id"
    row = fetch_one(statement, (entity_id, *versions.where.values) * 4)
    return None if row is None else Account(*row)


def _version(table: str, columns: Sequence[str], valid: Where, more: str = "") -> str:
    """Return SQL of the latest version in the current table and its history."""
    # Indexes: the primary key (id) and {table}_history__id_lower_timestamp (id, lower(timestamp_range)).
    versions = f"""
        where id = %s {valid.and_sql} {more}
        order by lower(timestamp_range) desc limit 1
    """
    names = ", ".join([*columns, "timestamp_range"])
    return f"""
        select * from (
            (select {names} from {table} {versions})
            union all
            (select {names} from {table}_history {versions})
        ) version
        order by lower(timestamp_range) desc limit 1
    """


def _held(most: int, direction: str) -> str:
    """Return SQL of the tokens of account e, as an array of pairs of id and balance."""
    # Index: the primary key (account_id, token_id).
    return f"""(
        select array_agg(array[token_id, balance]) from (
            select token_id, balance from token_account
            where account_id = e.id and associated order by token_id {direction} limit {most:d}
        ) held
    )"""
