"""GET /api/v1/accounts/{id}/airdrops/outstanding and .../pending: unclaimed airdrops.

Source: token_airdrop; outstanding are those the account sent, pending those it may claim.
Amounts: int64 in the token's smallest unit. Errors: 400 malformed parameter; 404 unknown alias or EVM
address. An unknown account number has an empty list.
"""

from typing import ClassVar, TypedDict

from rest_framework.response import Response

from ledger.api.names.accounts import SpringOfAccount, spring_account_id
from mirror.core.db.reading.query import Ends
from mirror.core.rest.answers.records import Record
from mirror.core.rest.paging.pairs import check_spring_range
from mirror.core.rest.parameters import spring
from mirror.core.rest.parameters.entity_ids import AccountName
from mirror.core.values.json_types import EntityId, Int64, TimestampRangeJson, page_type
from tokens.queries import airdrops as queries


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
        rows = queries.pending(AIRDROP.columns, own, ranges, self.query)
        return self.page("airdrops", [AIRDROP.json(row) for row in rows])


class PendingAirdrops(OutstandingAirdrops):
    """List the airdrops an account may claim.

    Each was sent to it without being associated with the token.
    """

    parameters = PendingParameters
    paging = {"sender.id": "sender_id", "token.id": "token_id", "serialnumber": "serial_number"}
    own, other = "receiver_account_id", "sender_account_id"
