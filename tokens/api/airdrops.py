"""GET /api/v1/accounts/{id}/airdrops/outstanding and .../pending: unclaimed airdrops.

Source: token_airdrop; outstanding are those the account sent, pending those it may claim.
Amounts: int64 in the token's smallest unit. Errors: 400 malformed parameter; 404 unknown alias or EVM
address. An unknown account number has an empty list.
"""

from collections.abc import Sequence
from functools import reduce
from typing import ClassVar, TypedDict

from rest_framework.response import Response

from ledger.api.account_names import SpringOfAccount, spring_account_id
from mirror.core.db.reading.query import Ends, Query
from mirror.core.db.reading.sql import Comparison, Row, Where, compare, fetch
from mirror.core.rest.answers.records import Record
from mirror.core.rest.paging.pairs import check_spring_range
from mirror.core.rest.parameters import spring
from mirror.core.rest.parameters.entity_ids import AccountName
from mirror.core.values.json_types import EntityId, Int64, TimestampRangeJson, page_type


# PARAMETERS
class OutstandingParameters(spring.ParameterSet):
    limit = spring.Limit()
    order = spring.Order()
    other_id = spring.EntityId("receiver.id", variable="receiverIds", help="The receiver.")
    serial_number = spring.Number(
        "serialnumber", variable="serialNumbers", help="Serial number, within those of tokens."
    )
    token_id = spring.EntityId("token.id", variable="tokenIds", help="Token, within those of receivers.")


class PendingParameters(spring.ParameterSet):
    limit = spring.Limit()
    order = spring.Order()
    other_id = spring.EntityId("sender.id", variable="senderIds", help="The sender.")
    serial_number = spring.Number(
        "serialnumber", variable="serialNumbers", help="Serial number, within those of tokens."
    )
    token_id = spring.EntityId("token.id", variable="tokenIds", help="Token, within those of senders.")


Parameters = OutstandingParameters | PendingParameters


# QUERY
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


# JSON
class AirdropJson(TypedDict):
    """An amount of a fungible token, or a serial of another one."""

    amount: Int64 | None
    receiver_id: EntityId | None
    sender_id: EntityId | None
    serial_number: Int64 | None
    timestamp: TimestampRangeJson
    token_id: EntityId | None


AIRDROP = Record(
    AirdropJson,
    spring=True,
    receiver_id="receiver_account_id",
    sender_id="sender_account_id",
    serial_number="nullif(serial_number, 0)",
)


# VIEWS
class OutstandingAirdrops(SpringOfAccount):
    """List the airdrops an account sent that nobody has claimed yet.

    The sender may still cancel them.
    """

    parameters: ClassVar[type[Parameters]] = OutstandingParameters
    max_age, answers = 1, page_type("Airdrops", airdrops=AirdropJson)
    paging = {"receiver.id": "receiver_id", "token.id": "token_id", "serialnumber": "serial_number"}
    #: The columns of the account in the path and of the other party.
    own, other = "sender_account_id", "receiver_account_id"

    def read(self, parameters: Parameters, account: AccountName) -> Response:
        # Clients expect that both endpoints call the other party account.id here.
        check_spring_range("account.id", parameters.other_id)
        ranges = [
            (self.other, Ends.combine(parameters.other_id)),
            ("token_id", Ends.combine(parameters.token_id)),
            ("serial_number", Ends.combine(parameters.serial_number)),
        ]
        own = (self.own, spring_account_id(account))
        rows = pending(AIRDROP.columns, own, ranges, self.query)
        return self.page("airdrops", [AIRDROP.json(row) for row in rows])


class PendingAirdrops(OutstandingAirdrops):
    """List the airdrops an account may claim.

    Each was sent to it without being associated with the token.
    """

    parameters = PendingParameters
    paging = {"sender.id": "sender_id", "token.id": "token_id", "serialnumber": "serial_number"}
    own, other = "receiver_account_id", "sender_account_id"
