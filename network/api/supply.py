"""GET /api/v1/network/supply: the total and the released supply of hbar.

Source: balances of the network's own accounts in entity, or at a time in the snapshots of account_balance.
Amounts: int64 tinybars in text; with `q` plain text in hbars with eight decimals.
Errors: 400 malformed parameter, a range of times the wrong way round; 404 without any balance.
"""

from typing import Annotated, TypedDict

from rest_framework.response import Response

from ledger.api import not_loaded
from mirror.core.db.reading.sql import MAX_INT64
from mirror.core.rest.answers.errors import BadRequest
from mirror.core.rest.answers.response import PlainTextRenderer
from mirror.core.rest.answers.views import SpringReadView
from mirror.core.rest.parameters import spring
from mirror.core.values import timestamp
from mirror.core.values.json_types import DecimalText, SchemaMetadata, Timestamp
from network.queries import supply as queries
from network.queries.supply import Unreleased

TOTAL = 50_000_000_000 * 10**8

_HBAR_DECIMALS = 8


# PARAMETERS
class SupplyParameters(spring.ParameterSet):
    timestamp = spring.Timestamp(help="Time of the supply: the last snapshot counts.")
    q = spring.Choice(
        "q",
        ("circulating", "totalcoins"),
        "",
        help="Answer with a single number of hbars: the circulating or the total supply.",
    )


# QUERY
def unreleased(parameters: SupplyParameters) -> Unreleased | None:
    """Return the unreleased supply, now or at the request's time. Errors: BadRequest."""
    if not parameters.timestamp:
        return queries.unreleased_now()
    times = spring.time_window(parameters.timestamp)
    # A lower bound alone ends with the largest timestamp: the month before it has no snapshots.
    lower, upper = times.lower or 0, MAX_INT64 if times.upper is None else times.upper
    if lower > upper:
        raise BadRequest("Invalid range provided for timestamp")
    return queries.unreleased_at(lower, upper)


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
        "timestamp": timestamp.spring_text(unreleased.timestamp),
        "total_supply": str(TOTAL),
    }


def hbars(tinybars: int) -> str:
    """Return the amount in hbars, always with eight decimals."""
    sign = "-" if tinybars < 0 else ""
    digits = str(abs(tinybars)).rjust(_HBAR_DECIMALS + 1, "0")
    return f"{sign}{digits[:-_HBAR_DECIMALS]}.{digits[-_HBAR_DECIMALS:]}"


# VIEW
class Supply(SpringReadView):
    """Get the total and the released supply of hbars.

    In tinybars; with `q` the circulating or the total supply alone, as plain text in hbars.
    """

    parameters, max_age = SupplyParameters, 60
    answers = {"application/json": SupplyJson, "text/plain": _HBARS}

    def read(self, parameters: SupplyParameters) -> SupplyJson | Response:
        balances = not_loaded.found(unreleased(parameters), "Network supply not found")
        if not parameters.q:
            return supply_json(balances)
        self.renderer = PlainTextRenderer()
        return Response(hbars(TOTAL if parameters.q == "totalcoins" else TOTAL - balances.balance))
