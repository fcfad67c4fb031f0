"""GET /api/v1/network/fees: the price of a unit of gas. POST: the fees of a transaction.

Source of prices: the fee schedule 0.0.111, or 0.0.113 where that is missing, and the exchange rate 0.0.112 in
force at the last moment of `timestamp`, or else at the time of the schedule; the next one counts once the
current one has expired.
Source of an estimate: the schedule 0.0.113 or the built-in one; in mode STATE also token and custom_fee.
Amounts: int64 tinybars per unit of gas; int64 tinycents in an estimate.
Errors: 400 malformed parameter or transaction; 404 naming the file that is missing; 413; 415.
"""

from typing import Any, ClassVar, TypedDict

from google.protobuf.unknown_fields import UnknownFieldSet
from rest_framework.request import Request
from rest_framework.response import Response

from ledger.queries import system_files
from ledger.queries.fee_schedules import (
    SCHEDULE_UNITS_PER_TINYCENT,
    WITH_GAS,
    fee_schedules,
    rate_in_force,
    schedule_in_force,
)
from mirror.core.db.reading.sql import MAX_INT64
from mirror.core.rest.answers.errors import BadRequest
from mirror.core.rest.parameters import spring
from mirror.core.rest.parameters.bodies import UNREADABLE, read_body
from mirror.core.rest.parameters.parameter_set import ONLY_EQ
from mirror.core.rest.views import PostedBody, SpringReadView
from mirror.core.values import timestamp
from mirror.core.values.hapi.messages import (
    DecodeError,
    SignedTransaction,
    Transaction,
    TransactionBody,
)
from mirror.core.values.json_types import Int64, Timestamp
from network.api.exchange_rate import no_file, rates_within
from network.fees.estimate import MAX_UTILIZATION, ONCE, Estimate, FeePart
from network.fees.usage import UnknownType, named_ids
from network.queries import simple_fees

_PROTOBUF = ("application/protobuf", "application/x-protobuf")

# A transaction that creates an account; all its bytes are ASCII.
_EXAMPLES = {
    "create account": '*4\n22\nAn accountZ$\n"\x12 0123456789abcdef0123456789abcdef',
}


# PARAMETERS
class FeeParameters(spring.ParameterSet):
    timestamp = spring.Timestamp(help="Time of the fees.")
    order = spring.Order()


class ThrottleParameter(spring.Parameter):
    """The utilization of the network by high volumes, in ten-thousandths."""

    schema = {"type": "integer", "minimum": 0, "maximum": MAX_UTILIZATION}
    many: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__(
            "high_volume_throttle",
            operators=ONLY_EQ,
            help="How busy the network is with high volumes, in ten-thousandths of what it can do.",
        )

    def read(self, text: str) -> int:
        return spring.read_int32(text)

    def absent(self) -> int:
        return 0

    def violations(self, value: int) -> list[str]:
        if value < 0:
            return ["highVolumeThrottle must be greater than or equal to 0"]
        if value > MAX_UTILIZATION:
            return [f"highVolumeThrottle must be less than or equal to {MAX_UTILIZATION}"]
        return []


class EstimateParameters(spring.ParameterSet):
    mode = spring.Choice(
        "mode",
        ("intrinsic", "state"),
        "intrinsic",
        help="Basis of the estimate: the transaction alone, or also the state of the network.",
    )
    throttle = ThrottleParameter()


# JSON
class FeeJson(TypedDict):
    gas: Int64
    transaction_type: str


class FeesJson(TypedDict):
    fees: list[FeeJson]
    timestamp: Timestamp | None


class FeeExtraJson(TypedDict):
    """An extra of which a transaction uses more than is included."""

    charged: Int64
    count: Int64
    fee_per_unit: Int64
    included: Int64
    name: str
    subtotal: Int64


class EstimatedPartJson(TypedDict):
    base: Int64
    extras: list[FeeExtraJson]


class EstimatedNetworkJson(TypedDict):
    """A multiple of the node's fee."""

    multiplier: Int64
    subtotal: Int64


class EstimateJson(TypedDict):
    """A fee in tinycents, in its parts. The multiplier for a high volume is in them already."""

    high_volume_multiplier: Int64
    network: EstimatedNetworkJson
    node: EstimatedPartJson
    service: EstimatedPartJson
    total: Int64


def estimate_json(estimate: Estimate) -> EstimateJson:
    return {
        "high_volume_multiplier": estimate.multiplier // ONCE,
        "network": {"multiplier": estimate.network_multiplier, "subtotal": estimate.network},
        "node": part_json(estimate.node),
        "service": part_json(estimate.service),
        "total": estimate.total,
    }


def part_json(part: FeePart) -> EstimatedPartJson:
    extras: list[FeeExtraJson] = [
        {
            "charged": charge.charged,
            "count": charge.used,
            "fee_per_unit": charge.fee_per_unit,
            "included": charge.included,
            "name": charge.name,
            "subtotal": charge.subtotal,
        }
        for charge in part.charges
    ]
    return {"base": part.base, "extras": extras}


def fees_json(schedule: Any, rate: Any) -> list[FeeJson]:
    """Return the prices of the schedule at that rate; none if the rate makes hbars worthless."""
    return [
        {
            "gas": min(max(_tinycents(entry) * rate.hbarEquiv // rate.centEquiv, 1), MAX_INT64),
            "transaction_type": WITH_GAS[entry.hederaFunctionality],
        }
        for entry in schedule.transactionFeeSchedule
        if rate.centEquiv
        and entry.hederaFunctionality in WITH_GAS
        and entry.fees
        and entry.fees[0].HasField("servicedata")
    ]


def _tinycents(entry: Any) -> int:
    """Return the whole tinycents that a unit of gas costs by an entry of the schedule."""
    return int(entry.fees[0].servicedata.gas) // SCHEDULE_UNITS_PER_TINYCENT


# VIEW
class Fees(SpringReadView):
    """Get the price of gas for calls and creations.

    In tinybars; with `timestamp` as it was at that time.
    """

    parameters, max_age, answers = FeeParameters, 60, FeesJson
    posted = PostedBody(EstimateParameters, _PROTOBUF, bytes, EstimateJson, _EXAMPLES)
    actions = {"get": "retrieve", "post": "estimate"}

    def read(self, parameters: FeeParameters) -> FeesJson:
        times = spring.time_window(parameters.timestamp)
        schedule = fee_schedules(times)
        if schedule is None:
            raise no_file(system_files.FEE_SCHEDULE)
        schedules, at = schedule
        rates, _ = rates_within(times)
        # Rounded up: any time after the second of an expiry is beyond it.
        seconds = -(-(at if times.upper is None else times.upper) // timestamp.NANOS_PER_SECOND)
        fees = fees_json(schedule_in_force(schedules, seconds), rate_in_force(rates, seconds))
        fees.sort(key=lambda fee: fee["transaction_type"].lower(), reverse=parameters.descending)
        return {"fees": fees, "timestamp": timestamp.spring_text(at)}

    def estimate(self, request: Request) -> Response:
        """Estimate the fee of a transaction.

        The body is the serialized Transaction, signed or not.
        """
        body = read_body(request, _PROTOBUF)
        if not body:
            raise BadRequest(UNREADABLE)
        parameters = EstimateParameters(EstimateParameters.split_query(request.META.get("QUERY_STRING", "")))
        if parameters.unknown:
            self.headers["warning"] = spring.warning(parameters.unknown)
        transaction_body, size, signatures = parsed(body)
        data = transaction_body.WhichOneof("data")
        state = None
        if parameters.mode == "state":
            ids = named_ids(data, getattr(transaction_body, data)) if data else ()
            state = simple_fees.facts(ids, of_topics=data == "consensusSubmitMessage")
        try:
            estimate = simple_fees.schedule().estimate(
                transaction_body,
                size=size,
                signatures=signatures,
                state=state,
                busy=parameters.throttle,
            )
        except UnknownType:
            raise BadRequest("Unknown transaction type") from None
        return self.success(estimate_json(estimate))


def parsed(serialized: bytes) -> tuple[Any, int, int]:
    """Return body, size of the known fields and signatures of a Transaction. Errors: BadRequest."""
    try:
        transaction = _message(Transaction, serialized)
        if transaction.signedTransactionBytes:
            signed = _message(SignedTransaction, transaction.signedTransactionBytes)
        elif transaction.bodyBytes:
            signed = transaction
        else:
            raise BadRequest("Transaction must contain body bytes or signed transaction bytes")
        body = _message(TransactionBody, signed.bodyBytes)
    except DecodeError:
        raise BadRequest("Unable to parse transaction") from None
    return body, transaction.ByteSize(), len(signed.sigMap.sigPair)


def _message(of: Any, serialized: bytes) -> Any:
    """Return a message without unknown fields. Errors: DecodeError, also for a field of another type."""
    message, known = of.FromString(serialized), of.FromString(serialized)
    known.DiscardUnknownFields()
    if known.ByteSize() < message.ByteSize():
        # Looking at every message of a large one takes a second.
        _check_types(message)
    return known


def _check_types(message: Any) -> None:
    known, unknown = message.DESCRIPTOR.fields_by_number, UnknownFieldSet(message)
    if any(unknown[index].field_number in known for index in range(len(unknown))):
        raise DecodeError(f"a field of {message.DESCRIPTOR.name} has another type than its own")
    for field, content in message.ListFields():
        if field.message_type is not None:
            for each in content if field.is_repeated else (content,):
                _check_types(each)
