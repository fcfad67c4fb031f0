"""The holders of a token, now and at the time of a snapshot."""

from collections.abc import Sequence
from typing import NamedTuple

from mirror.db.query import Query
from mirror.db.sql import Comparison, Where, compare, fetch


class Holders(NamedTuple):
    """The choice of a page's holders. `public_key` selects accounts that have it now."""

    token_id: int
    accounts: Sequence[Comparison] = ()
    balances: Sequence[Comparison] = ()
    public_key: str | None = None


class Holding(NamedTuple):
    account_id: int
    balance: int
    balance_timestamp: int | None
    decimals: int | None


def holders_now(selection: Holders, query: Query) -> list[Holding]:
    """Return a page of the accounts associated with the token, with the time of each balance."""
    order = f"order by account_id {query.direction} limit {query.limit:d}"
    keyed = _keyed(selection)
    # Index: token_account__token_id_account_id (token_id, account_id); for the accounts of a key the primary
    # key (account_id, token_id).
    holdings = compare("token_id", [Comparison("eq", selection.token_id)]) + Where(("associated",))
    balances = compare("balance", selection.balances, any_equal=False)
    columns = "account_id, balance, balance_timestamp"
    if keyed is None:
        where = holdings + compare("account_id", selection.accounts, any_equal=False) + balances
        page = f"select {columns} from token_account {where.sql} {order}"
        return _with_decimals(page, where.values, selection, query)
    where = holdings + balances
    page = f"""
        with keyed as materialized (select id from entity {keyed.sql})
        select {columns} from keyed cross join lateral (
            select {columns} from token_account where account_id = keyed.id {where.and_sql} limit 1
        ) holding {order}
    """
    return _with_decimals(page, (*keyed.values, *where.values), selection, query)


def holders_at(selection: Holders, rows: Where, query: Query) -> list[Holding]:
    """Return a page of the accounts in the snapshots, each with the balance of its latest row.

    `rows` is the condition of the snapshots' rows in token_balance.
    """
    rows = compare("token_id", [Comparison("eq", selection.token_id)]) + rows
    balances = compare("balance", selection.balances, any_equal=False)
    keyed = _keyed(selection)
    if keyed is None and balances.conditions:
        # Index: token_balance__token_account_timestamp (token_id, account_id, consensus_timestamp), in its
        # order until the page is full: a balance is known only once the account's latest row is.
        where = rows + compare("account_id", selection.accounts, any_equal=False)
        page = f"""
            select * from (
                select distinct on (account_id) account_id, balance, null::bigint as balance_timestamp
                from token_balance {where.sql}
                order by account_id {query.direction}, consensus_timestamp desc
            ) latest {balances.sql} order by account_id {query.direction} limit {query.limit:d}
        """
        return _with_decimals(page, where.values + balances.values, selection, query)
    if keyed is None:
        known, values = _known(selection, rows, query)
    else:
        known, values = f"with known as materialized (select id from entity {keyed.sql})", keyed.values
    # Index: the same, for one account at a time.
    page = f"""
        {known}
        select known.id as account_id, balance, null::bigint as balance_timestamp
        from known cross join lateral (
            select balance from token_balance {rows.sql} and account_id = known.id
            order by consensus_timestamp desc limit 1
        ) latest {balances.sql}
        order by known.id {query.direction} limit {query.limit:d}
    """
    return _with_decimals(page, (*values, *rows.values, *balances.values), selection, query)


def _known(selection: Holders, rows: Where, query: Query) -> tuple[str, tuple[object, ...]]:
    """Return SQL of `with known (id)`, the accounts of the page.

    It goes from each account straight to the next, as a busy account has a row per snapshot.
    """
    where = rows + compare("account_id", selection.accounts, any_equal=False)
    next_row = f"order by account_id {query.direction} limit 1"
    return (
        f"""
        with recursive known (id, number) as (
            (select account_id, 1 from token_balance {where.sql} {next_row})
            union all
            select following.account_id, known.number + 1
            from known cross join lateral (
                select account_id from token_balance
                {where.sql} and account_id {"<" if query.descending else ">"} known.id {next_row}
            ) following
            where known.number < {query.limit:d}
        )
        """,
        where.values * 2,
    )


def _keyed(selection: Holders) -> Where | None:
    """Return the condition of the accounts with the public key, if one is selected."""
    if selection.public_key is None:
        return None
    # Index: entity__public_key_type (public_key, type).
    where = compare("public_key", [Comparison("eq", selection.public_key)]) + Where(("type = 'ACCOUNT'",))
    return where + compare("id", selection.accounts, any_equal=False)


def _with_decimals(page: str, values: Sequence[object], selection: Holders, query: Query) -> list[Holding]:
    # Index: the primary key of token.
    statement = f"""
        select account_id, balance, balance_timestamp, (select decimals from token where token_id = %s)
        from ({page}) page order by account_id {query.direction}
    """
    return [Holding(*row) for row in fetch(statement, (selection.token_id, *values))]
