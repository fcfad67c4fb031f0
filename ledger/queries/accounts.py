"""Accounts and contracts as accounts: pages of them, one now, one as it was at a time."""

from collections.abc import Sequence
from typing import NamedTuple

from mirror.db.query import Query
from mirror.db.sql import MAX_INT64, MIN_INT64, Where, fetch, fetch_one

Holdings = list[list[int]]  # pairs of token and balance

_IS_ACCOUNT = "type in ('ACCOUNT', 'CONTRACT')"
# A stand-in, made when the network's first balances don't name the treasury.
NOT_SYNTHETIC = Where(("not (num = 2 and memo = 'Mirror node created synthetic treasury account')",))

_ENTITY = (
    "id", "alias", "auto_renew_period", "balance", "balance_timestamp", "created_timestamp", "decline_reward",
    "deleted", "ethereum_nonce", "evm_address", "expiration_timestamp", "key",
    "max_automatic_token_associations", "memo", "receiver_sig_required", "staked_account_id",
    "staked_node_id", "stake_period_start",
)  # fmt: skip
_STAKE = ("id", "pending_reward", "end_stake_period")
_COLUMNS = ", ".join([*(f"e.{name}" for name in _ENTITY), *(f"s.{name}" for name in _STAKE[1:])])


class Account(NamedTuple):
    """One account; its tokens only where they are asked for, the staking figures only if there are any."""

    id: int
    alias: bytes | None
    auto_renew_period: int | None
    balance: int | None
    balance_timestamp: int | None
    created_timestamp: int | None
    decline_reward: bool
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


def accounts(query: Query, *, by_key: bool, tokens: int) -> list[Account]:
    """A page of accounts by id, each with so many tokens."""
    # Index of the stake: the primary key (id).
    page = _page(query, by_key=by_key)
    held = f", {_held(tokens, query.direction)}" if tokens else ""
    statement = f"""
        select {_COLUMNS} {held} from ({page.sql}) e left join entity_stake s on s.id = e.id {page.order}
    """
    return [Account(*row) for row in fetch(statement, page.values)]


def balances(query: Query, *, by_key: bool, tokens: int) -> list[AccountBalance]:
    """The same page with balances alone."""
    page = _page(query, by_key=by_key)
    statement = f"""
        select e.id, e.balance, e.balance_timestamp, {_held(tokens, query.direction)}
        from ({page.sql}) e {page.order}
    """
    return [AccountBalance(*row) for row in fetch(statement, page.values)]


def account(entity_id: int, *, tokens: int) -> Account | None:
    # Index: the primary keys (id).
    statement = f"""
        select {_COLUMNS}, {_held(tokens, "asc")}
        from entity e left join entity_stake s on s.id = e.id
        where e.id = %s and {_IS_ACCOUNT} {NOT_SYNTHETIC.and_sql}
    """
    row = fetch_one(statement, (entity_id,))
    return None if row is None else Account(*row)


class Moment(NamedTuple):
    """Which version is asked for: the latest that began by `until` and still held at `since` (inclusive ns).

    Versions that held at one of `excluded` don't count.
    """

    since: int = MIN_INT64
    until: int = MAX_INT64
    excluded: Sequence[int] = ()


def account_at(entity_id: int, moment: Moment) -> Account | None:
    """The version of the account at the moment, with the staking figures of that moment."""
    state = _versions("entity", _ENTITY, moment, f"and {_IS_ACCOUNT} {NOT_SYNTHETIC.and_sql}")
    stake = _versions("entity_stake", _STAKE, moment)
    values = (entity_id, moment.until, moment.since, *moment.excluded)
    statement = f"select {_COLUMNS} from ({state}) e left join ({stake}) s on s.id = e.id"
    row = fetch_one(statement, values * 4)
    return None if row is None else Account(*row)


def _versions(table: str, columns: Sequence[str], moment: Moment, more: str = "") -> str:
    """The latest version, from the table of current rows and that of earlier ones."""
    # Indexes: the primary key (id) and {table}_history__id_lower_timestamp (id, lower(timestamp_range)).
    # Versions of one id follow each other, so the latest start is the greatest range.
    excluded = " and not timestamp_range @> %s::bigint" * len(moment.excluded)
    versions = f"""
        where id = %s and lower(timestamp_range) <= %s
            and coalesce(upper(timestamp_range) - 1, {MAX_INT64}) >= %s {excluded} {more}
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


class _Page(NamedTuple):
    sql: str
    values: tuple[object, ...]
    order: str


def _page(query: Query, *, by_key: bool) -> _Page:
    """The entities of a page; `by_key` if the conditions ask for one public key."""
    order = f"order by e.id {query.direction} limit {query.limit:d}"
    if by_key:
        # Index: entity__public_key_type (public_key, type). Few rows have the same key; materialized, as the
        # order and limit would otherwise lead PostgreSQL along the primary key, through the whole table.
        keyed = f"select * from entity {query.where.sql} and {_IS_ACCOUNT}"
        return _Page(
            f"with keyed as materialized ({keyed}) select * from keyed e {order}", query.where.values, order
        )
    # Index: entity__type_id (type, id), once per type, so that other entities between don't count. By `any`
    # and an order by both columns, as for `type = ...` PostgreSQL may walk the primary key past all others.
    parts = (
        f"""(
            select * from entity where type = any('{{{kind}}}'::entity_type[]) {query.where.and_sql}
            order by type {query.direction}, id {query.direction} limit {query.limit:d}
        )"""
        for kind in ("ACCOUNT", "CONTRACT")
    )
    return _Page(f"select * from ({' union all '.join(parts)}) e {order}", query.where.values * 2, order)


def _held(most: int, direction: str) -> str:
    """The tokens of the account e, as an array of pairs of id and balance."""
    # Index: the primary key (account_id, token_id).
    return f"""(
        select array_agg(array[token_id, balance]) from (
            select token_id, balance from token_account
            where account_id = e.id and associated order by token_id {direction} limit {most:d}
        ) held
    )"""
