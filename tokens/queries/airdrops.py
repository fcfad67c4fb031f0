"""Pending airdrops (HIP-904), by sender or by receiver, in the order of three columns."""

from collections.abc import Sequence
from typing import NamedTuple

from mirror.db.bounds import Ends
from mirror.db.query import Query
from mirror.db.sql import Comparison, Where, compare, fetch


class Airdrop(NamedTuple):
    amount: int | None
    receiver_id: int
    sender_id: int
    serial_number: int  # 0 of a fungible token
    since: int
    until: int | None
    token_id: int


def pending(account: tuple[str, int], ranges: Sequence[tuple[str, Ends]], query: Query) -> list[Airdrop]:
    """Return a page of an account's airdrops in the order of the columns of `ranges`.

    `account` is the account's column and its id.
    """
    # Indexes: token_airdrop__sender_id (sender_account_id, receiver_account_id, token_id, serial_number);
    # token_airdrop__receiver_id (receiver_account_id, sender_account_id, token_id, serial_number).
    column, account_id = account
    where = compare(column, [Comparison("eq", account_id)]) + within(ranges)
    order = ", ".join(f"{column} {query.direction}" for column, _ in ranges)
    statement = f"""
        select amount, receiver_account_id, sender_account_id, serial_number, lower(timestamp_range),
            upper(timestamp_range), token_id
        from token_airdrop {where.sql} and state = 'PENDING'
        order by {order} limit {query.limit:d}
    """
    return [Airdrop(*row) for row in fetch(statement, where.values)]


def within(ranges: Sequence[tuple[str, Ends]]) -> Where:
    """Return the condition of rows within the ranges of ordered columns.

    An equality holds for every row. Adjacent columns with bounds are compared as one row value: a bound
    counts only where the columns before it are at their own, inclusive bound.
    """
    where = Where()
    together: list[tuple[str, Ends]] = []
    for column, ends in ranges:
        if not ends.equal and (ends.lower or ends.upper):
            together.append((column, ends))
            continue
        where += _as_one(together) + compare(column, list(filter(None, ends)))
        together = []
    return where + _as_one(together)


def _as_one(ranges: Sequence[tuple[str, Ends]]) -> Where:
    lower = [(column, ends.lower) for column, ends in ranges]
    upper = [(column, ends.upper) for column, ends in ranges]
    return _side(lower) + _side(upper)


def _side(bounds: Sequence[tuple[str, Comparison | None]]) -> Where:
    columns: list[str] = []
    values: list[int] = []
    operator = ""
    for column, bound in bounds:
        if bound is None:
            break
        columns.append(column)
        values.append(bound.value)
        operator = bound.operator
        if operator in ("gt", "lt"):
            break
    if len(columns) < 2:
        return compare(columns[0], [Comparison(operator, values[0])]) if columns else Where()
    symbol = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}[operator]
    places = ", ".join(["%s"] * len(values))
    return Where((f"({', '.join(columns)}) {symbol} ({places})",), tuple(values))
