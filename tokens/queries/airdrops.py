"""Pending airdrops (HIP-904), by sender or by receiver, in the order of three columns."""

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

from mirror.core.db.reading.sql import Comparison, Where, compare, fetch
from mirror.core.db.sql.bounds import Ends
from mirror.core.db.sql.query import Query


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
    """Return the condition of rows within the ranges of ordered columns. Columns without one don't count.

    An equality holds for every row. Next to a single value of the first column all ends do. Otherwise an end
    counts only where the columns before it are at their own, inclusive end of the same side, and only if the
    first column has one.
    """
    given = [(column, ends) for column, ends in ranges if ends.lower or ends.upper]
    where = Where()
    beside_one = bool(given) and given[0][1].single
    if beside_one:
        (column, ends), *given = given
        where += compare(column, list(filter(None, ends)))
    for column, ends in given:
        if ends.equal:
            where += compare(column, list(filter(None, ends[:1])))
    others = [(column, ends) for column, ends in given if not ends.equal]
    for side in ("lower", "upper"):
        where += _side([(column, getattr(ends, side)) for column, ends in others], beside_one)
    return where


def _side(ends: Sequence[tuple[str, Comparison | None]], beside_one: bool) -> Where:
    """Return the condition of the ends of one side, maybe next to a single value of the first column."""
    found = [(column, end) for column, end in ends if end is not None]
    if not found or not (beside_one or ends[0][1]):
        return Where()
    # Links go on like this after a serial number. Serial numbers of the tokens that follow begin anew.
    goes_on = [end.operator for _, end in found] in (["gte", "gt"], ["lte", "lt"])
    if beside_one and not goes_on:
        return reduce(Where.__add__, (compare(column, [end]) for column, end in found))
    exclusive = (place for place, (_, end) in enumerate(found, 1) if end.operator in ("gt", "lt"))
    found = found[: next(exclusive, None)]
    symbol = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}[found[-1][1].operator]
    places = ", ".join(["%s"] * len(found))
    columns, values = zip(*((column, end.value) for column, end in found), strict=True)
    return Where((f"({', '.join(columns)}) {symbol} ({places})",), values)
