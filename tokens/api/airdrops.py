"""GET /api/v1/accounts/{id}/airdrops/outstanding and .../pending: unclaimed airdrops.

Source: token_airdrop; outstanding are those the account sent, pending those it may claim.
Amounts: int64 in the token's smallest unit. Errors: 400 malformed parameter; 404 unknown alias or EVM
address. An unknown account number has an empty list.
"""

from typing import TypedDict

from rest_framework.response import Response

from ledger.api.names.accounts import SpringOfAccount, spring_account_id
from mirror.core.db.sql.bounds import Ends
from mirror.core.db.sql.query import Query
from mirror.core.rest.paging.pairs import check_spring_range
from mirror.core.rest.parameters.entity_ids import AccountName
from mirror.core.rest.parameters.spring import (
    SpringEntityIdParameter,
    SpringLimitParameter,
    SpringNumberParameter,
    SpringOrderParameter,
    SpringParameterSet,
)
from mirror.core.values import entity_id, timestamp
from mirror.core.values.json_types import EntityId, Int64, Page, TimestampRangeJson
from tokens.queries import airdrops as queries
from tokens.queries.airdrops import Airdrop


# PARAMETERS
class OutstandingParameters(SpringParameterSet):
    limit = SpringLimitParameter()
    order = SpringOrderParameter()
    other_id = SpringEntityIdParameter("receiver.id", variable="receiverIds", help="The receiver.")
    serial_number = SpringNumberParameter(
        "serialnumber", variable="serialNumbers", help="Serial number, within those of tokens."
    )
    token_id = SpringEntityIdParameter(
        "token.id", variable="tokenIds", help="Token, within those of receivers."
    )


class PendingParameters(SpringParameterSet):
    limit = SpringLimitParameter()
    order = SpringOrderParameter()
    other_id = SpringEntityIdParameter("sender.id", variable="senderIds", help="The sender.")
    serial_number = SpringNumberParameter(
        "serialnumber", variable="serialNumbers", help="Serial number, within those of tokens."
    )
    token_id = SpringEntityIdParameter(
        "token.id", variable="tokenIds", help="Token, within those of senders."
    )


Parameters = OutstandingParameters | PendingParameters


# QUERY
def airdrops(
    parameters: Parameters, query: Query, account: AccountName, own: str, other: str
) -> list[Airdrop]:
    """`own` is the column of the account in the path, `other` that of the other party. Errors: BadRequest."""
    # Clients expect that both endpoints call the other party account.id here.
    check_spring_range("account.id", parameters.other_id)
    ranges = [
        (other, Ends.of(parameters.other_id)),
        ("token_id", Ends.of(parameters.token_id)),
        ("serial_number", Ends.of(parameters.serial_number)),
    ]
    return queries.pending((own, spring_account_id(account)), ranges, query)


# JSON
class AirdropJson(TypedDict):
    """An amount of a fungible token, or a serial of another one."""

    amount: Int64 | None
    receiver_id: EntityId | None
    sender_id: EntityId | None
    serial_number: Int64 | None
    timestamp: TimestampRangeJson
    token_id: EntityId | None


class AirdropsJson(Page):
    airdrops: list[AirdropJson]


def airdrop_json(airdrop: Airdrop) -> AirdropJson:
    return {
        "amount": airdrop.amount,
        "receiver_id": entity_id.text(airdrop.receiver_id),
        "sender_id": entity_id.text(airdrop.sender_id),
        "serial_number": airdrop.serial_number or None,
        "timestamp": timestamp.spring_range_json(airdrop.since, airdrop.until),
        "token_id": entity_id.text(airdrop.token_id),
    }


# VIEWS
class OutstandingAirdrops(SpringOfAccount):
    """List the airdrops an account sent that nobody has claimed yet.

    The sender may still cancel them.
    """

    parameters, max_age, answers = OutstandingParameters, 1, AirdropsJson
    paging = {"receiver.id": "receiver_id", "token.id": "token_id", "serialnumber": "serial_number"}

    def read(self, parameters: OutstandingParameters, account: AccountName) -> Response:
        rows = airdrops(parameters, self.query, account, "sender_account_id", "receiver_account_id")
        return self.page("airdrops", [airdrop_json(row) for row in rows])


class PendingAirdrops(SpringOfAccount):
    """List the airdrops an account may claim.

    Each was sent to it without being associated with the token.
    """

    parameters, max_age, answers = PendingParameters, 1, AirdropsJson
    paging = {"sender.id": "sender_id", "token.id": "token_id", "serialnumber": "serial_number"}

    def read(self, parameters: PendingParameters, account: AccountName) -> Response:
        rows = airdrops(parameters, self.query, account, "receiver_account_id", "sender_account_id")
        return self.page("airdrops", [airdrop_json(row) for row in rows])
