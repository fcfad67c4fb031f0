"""GET /api/v1/network/supply: the total and the released supply of hbar.

Source: balances of the network's own accounts in entity, or at a time in the snapshots of account_balance.
Amounts: int64 tinybars in text; with `q` plain text in hbars with eight decimals.
Errors: 400 malformed parameter, a range of times the wrong way round; 404 without any balance.
"""

from typing import Annotated, TypedDict

from rest_framework.response import Response

from mirror.config.clock import now_ns
from mirror.db.bounds import Bounds
from mirror.db.sql import MAX_INT64, Comparison
from mirror.rest.answers.errors import BadRequest, NotFound
from mirror.rest.answers.rendering import PlainTextRenderer
from mirror.rest.answers.views import ReadView
from mirror.rest.parameters.parameter_set import ParameterSet, refuse_ne
from mirror.rest.parameters.types import ChoiceParameter, TimestampParameter
from mirror.values import timestamp
from mirror.values.shapes import DecimalText, SchemaMetadata, Timestamp
from network.queries import supply as queries
from network.queries.supply import Unreleased

TOTAL = 50_000_000_000 * 10**8

_HBAR_DECIMALS = 8


# PARAMETERS
class SupplyParameters(ParameterSet):
    q = ChoiceParameter(
        "q",
        {"circulating": "circulating", "totalcoins": "totalcoins"},
        help="Answer with a single number of hbars: the circulating or the total supply.",
    )
    timestamp = TimestampParameter("timestamp", help="Time of the supply: the last snapshot counts.")


# QUERY
def unreleased(parameters: SupplyParameters) -> Unreleased | None:
    """Return the unreleased supply, now or at the request's time. Errors: BadRequest."""
    if not parameters.timestamp:
        return queries.unreleased_now()
    times = Bounds.of(
        Comparison("lte" if operator == "eq" else operator, moment)
        for operator, moment in parameters.timestamp
    )
    lower = max(times.lower or 0, 0)
    upper = now_ns() if times.upper is None else times.upper
    if lower > upper:
        raise BadRequest("Lower timestamp cannot be higher than upper timestamp")
    return None if lower > MAX_INT64 else queries.unreleased_at(lower, min(upper, MAX_INT64))


# JSON
class SupplyJson(TypedDict):
    released_supply: DecimalText
    timestamp: Timestamp | None
    total_supply: DecimalText


#: What `q` asks for.
_HBARS = Annotated[str, SchemaMetadata(pattern=r"^-?[0-9]+\.[0-9]{8}$")]


def supply_json(unreleased: Unreleased) -> SupplyJson:
    return {
        "released_supply": str(TOTAL - unreleased.balance),
        "timestamp": timestamp.text(unreleased.timestamp),
        "total_supply": str(TOTAL),
    }


def hbars(tinybars: int) -> str:
    """Return the amount in hbars, always with eight decimals."""
    sign = "-" if tinybars < 0 else ""
    digits = str(abs(tinybars)).rjust(_HBAR_DECIMALS + 1, "0")
    return f"{sign}{digits[:-_HBAR_DECIMALS]}.{digits[-_HBAR_DECIMALS:]}"


# VIEW
class Supply(ReadView):
    """The supply of hbars."""

    parameters, max_age = SupplyParameters, 60
    answers = {"application/json": SupplyJson, "text/plain": _HBARS}

    def read(self, parameters: SupplyParameters) -> SupplyJson | Response:
        refuse_ne(
            parameters.timestamp, "Invalid parameter: Not equals (ne) operator is not supported for timestamp"
        )
        found = unreleased(parameters)
        if found is None:
            raise NotFound
        if parameters.q is None:
            return supply_json(found)
        self.renderer = PlainTextRenderer()
        return Response(hbars(TOTAL if parameters.q == "totalcoins" else TOTAL - found.balance))
