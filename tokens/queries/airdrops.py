"""Pending airdrops (HIP-904), by sender or by receiver, in the order of three columns."""

from collections.abc import Sequence
from functools import reduce

from mirror.core.db.reading.query import Ends, Query
from mirror.core.db.reading.sql import Comparison, Row, Where, compare, fetch


def pending(
    columns: str, account: tuple[str, int], ranges: Sequence[tuple[str, Ends]], query: Query
) -> list[Row]:
    """Return the columns of a page of an account's airdrops, in the order of the columns of `ranges`.

    `account` is the account's column and its id.
    """
    # Indexes: token_airdrop__sender_id (sender_account_id, receiver_account_id, token_id, serial_number);
    # token_airdrop__receiver_id (receiver_account_id, sender_account_id, token_id, serial_number).
    column, account_id = account
    where = compare(column, [Comparison("eq", account_id)]) + within(ranges)
    order = ", ".join(f"{column} {query.direction}" for column, _ in ranges)
    statement = f"""
        select {columns} from token_airdrop {where.sql} and state = 'PENDING'
        order by {order} limit {query.limit:d}
    """
    return fetch(statement, where.values)


def within(ranges: Sequence[tuple[str, Ends]]) -> Where:
    """Return the condition of rows within the ranges of ordered columns. Columns without one don't count.

    An equality holds for every row. Next to a single value of the first column all ends do. Otherwise an end
    counts only where the columns before it are at their own, inclusive end of the same side, and only if the
    first column has one.
    """
    limited = [(column, ends) for column, ends in ranges if ends.lower or ends.upper]
    where = Where()
    after_single = bool(limited) and limited[0][1].single
    if after_single:
        (column, ends), *limited = limited
        where += compare(column, list(filter(None, ends)))
    for column, ends in limited:
        if ends.equal:
            where += compare(column, list(filter(None, ends[:1])))
    others = [(column, ends) for column, ends in limited if not ends.equal]
    for side in ("lower", "upper"):
        where += _side([(column, getattr(ends, side)) for column, ends in others], after_single)
    return where


def _side(ends: Sequence[tuple[str, Comparison | None]], after_single: bool) -> Where:
    """Return the condition of the ends of one side, maybe next to a single value of the first column."""
    bounded = [(column, end) for column, end in ends if end is not None]
    if not bounded or not (after_single or ends[0][1]):
        return Where()
    # Links continue like this after a serial number. Serial numbers of the tokens that follow begin anew.
    continues = [end.operator for _, end in bounded] in (["gte", "gt"], ["lte", "lt"])
    if after_single and not continues:
        return reduce(Where.__add__, (compare(column, [end]) for column, end in bounded))
    exclusive = (place for place, (_, end) in enumerate(bounded, 1) if end.operator in ("gt", "lt"))
    bounded = bounded[: next(exclusive, None)]
    symbol = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}[bounded[-1][1].operator]
    places = ", ".join(["%s"] * len(bounded))
    columns, values = zip(*((column, end.value) for column, end in bounded), strict=True)
    return Where((f"({', '.join(columns)}) {symbol} ({places})",), values)
