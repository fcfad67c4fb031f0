"""GET /api/v1/network/fees: the price of a unit of gas. POST: the fees of a transaction.

Source: the fee schedule 0.0.111 and the exchange rates 0.0.112, of each what is in force at the last moment
asked for: the next one once the current one has expired. Without that moment it is the time of the schedule.
Amounts: int64 tinybars per unit of gas. An estimate is made up, whatever the transaction.
Errors: 400 malformed parameter or transaction; 404 naming the file that is missing; 413; 415.
"""

from typing import Any, TypedDict

from rest_framework.request import Request
from rest_framework.response import Response

from ledger.queries import system_files
from ledger.queries.fee_schedules import SCHEDULE_UNITS_PER_TINYCENT, rate_in_force, schedule_in_force
from mirror.db.bounds import Bounds
from mirror.rest.answers.errors import BadRequest
from mirror.rest.answers.views import Answer, NewerReadView, Posted
from mirror.rest.parameters.bodies import UNREADABLE, read_body
from mirror.rest.parameters.newer import (
    NewerChoiceParameter,
    NewerOrderParameter,
    NewerParameterSet,
    NewerTimestampParameter,
    time_window,
)
from mirror.values import timestamp
from mirror.values.hapi import (
    CurrentAndNextFeeSchedule,
    DecodeError,
    ExchangeRateSet,
    SignedTransaction,
    Transaction,
)
from mirror.values.shapes import Int32, Int64, Timestamp
from network.api.exchange_rate import no_file

# The kinds of transactions that use gas, by their number in the fee schedule (HederaFunctionality).
_WITH_GAS = {6: "ContractCall", 7: "ContractCreate", 84: "EthereumTransaction"}

_PROTOBUF = ("application/protobuf", "application/x-protobuf")

_ESTIMATED_PART = {
    "base": 100_000,
    "extras": [
        {
            "charged": 1,
            "count": 2,
            "fee_per_unit": 10_000,
            "included": 1,
            "name": "Test data",
            "subtotal": 10_000,
        }
    ],
}
_ESTIMATE: Answer = {
    "network": {"multiplier": 2, "subtotal": 220_000},
    "node": _ESTIMATED_PART,
    "notes": ["This API is not yet implemented and only returns stubbed test data"],
    "service": _ESTIMATED_PART,
    "total": 440_000,
}


# PARAMETERS
class FeeParameters(NewerParameterSet):
    timestamp = NewerTimestampParameter(help="Time of the fees.")
    order = NewerOrderParameter()


class EstimateParameters(NewerParameterSet):
    mode = NewerChoiceParameter(
        "mode",
        ("intrinsic", "state"),
        "intrinsic",
        help="Basis of the estimate: the transaction alone, or also the state of the network.",
    )


# QUERY
def current(num: int, times: Bounds, message_class: Any) -> tuple[Any, int]:
    """Return a system file as a message, and its time. Errors: NotFound."""
    version = system_files.system_file(num, times, message_class.FromString)
    if version is None:
        raise no_file(num)
    return version


# JSON
class FeeJson(TypedDict):
    gas: Int64
    transaction_type: str


class FeesJson(TypedDict):
    fees: list[FeeJson]
    timestamp: Timestamp | None


class FeeExtraJson(TypedDict):
    charged: Int32
    count: Int32
    fee_per_unit: Int64
    included: Int32
    name: str
    subtotal: Int64


class EstimatedPartJson(TypedDict):
    base: Int64
    extras: list[FeeExtraJson]


class EstimatedNetworkJson(TypedDict):
    multiplier: Int32
    subtotal: Int64


class EstimateJson(TypedDict):
    network: EstimatedNetworkJson
    node: EstimatedPartJson
    notes: list[str]
    service: EstimatedPartJson
    total: Int64


def fees_json(schedule: Any, rate: Any) -> list[FeeJson]:
    """Return the prices of the schedule at that rate; none if the rate makes hbars worthless."""
    return [
        {
            "gas": max(_tinycents(each) * rate.hbarEquiv // rate.centEquiv, 1),
            "transaction_type": _WITH_GAS[each.hederaFunctionality],
        }
        for each in schedule.transactionFeeSchedule
        if rate.centEquiv
        and each.hederaFunctionality in _WITH_GAS
        and each.fees
        and each.fees[0].HasField("servicedata")
    ]


def _tinycents(priced: Any) -> int:
    """Return the whole tinycents that a unit of gas costs, before they become tinybars."""
    return int(priced.fees[0].servicedata.gas) // SCHEDULE_UNITS_PER_TINYCENT


# VIEW
class Fees(NewerReadView):
    """The price of gas; with POST the fees of a transaction."""

    parameters, max_age, answers = FeeParameters, 60, FeesJson
    posted = Posted(EstimateParameters, _PROTOBUF, bytes, EstimateJson)
    actions = {"get": "answer", "post": "estimate"}

    def read(self, parameters: FeeParameters) -> FeesJson:
        times = time_window(parameters.timestamp)
        schedules, at = current(system_files.FEE_SCHEDULE, times, CurrentAndNextFeeSchedule)
        rates, _ = current(system_files.EXCHANGE_RATES, times, ExchangeRateSet)
        seconds = (at if times.upper is None else times.upper) // timestamp.NANOS_PER_SECOND
        fees = fees_json(schedule_in_force(schedules, seconds), rate_in_force(rates, seconds))
        fees.sort(key=lambda fee: fee["transaction_type"].lower(), reverse=parameters.descending)
        return {"fees": fees, "timestamp": timestamp.newer_text(at)}

    def estimate(self, request: Request) -> Response:
        """POST: an estimate for the serialized Transaction in the body."""
        body = read_body(request, _PROTOBUF)
        try:
            if not body:
                raise DecodeError
            transaction = Transaction.FromString(body)
        except DecodeError:
            raise BadRequest(UNREADABLE) from None
        EstimateParameters(EstimateParameters.split_query(request.META.get("QUERY_STRING", "")))
        try:
            SignedTransaction.FromString(transaction.signedTransactionBytes)
        except DecodeError:
            raise BadRequest("Unable to parse SignedTransaction") from None
        return self.success(_ESTIMATE)
