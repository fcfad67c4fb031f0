"""GET /api/v1/network/supply: the total and the released supply of hbar.

Source: balances of the network's own accounts in entity, or at a time in the snapshots of account_balance.
Amounts: int64 tinybars in text; with `q` plain text in hbars with eight decimals.
Errors: 400 malformed parameter, a range of times the wrong way round; 404 without any balance.
"""

from typing import Annotated, NamedTuple, TypedDict

from rest_framework.response import Response

from ledger.api import not_loaded
from mirror.core import config
from mirror.core.db.reading.query import Bounds
from mirror.core.db.reading.sql import MAX_INT64, fetch_one
from mirror.core.rest.answers.errors import BadRequest
from mirror.core.rest.answers.response import PlainTextRenderer
from mirror.core.rest.parameters import spring
from mirror.core.rest.views import SpringReadView
from mirror.core.values import timestamp
from mirror.core.values.json_types import DecimalText, SchemaMetadata, Timestamp
from mirror.core.values.timestamp import month_start

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
class Unreleased(NamedTuple):
    """The sum of the balances in tinybars, and the time of the latest."""

    balance: int
    timestamp: int


def unreleased_now() -> Unreleased | None:
    """Return the sum of the current balances."""
    # Index: the primary key (id) of entity. The ids stand in the text, so that PostgreSQL knows how few.
    ranges = " or ".join(f"id between {first:d} and {last:d}" for first, last in _unreleased_accounts())
    return _fetch(f"select sum(balance)::bigint, max(balance_timestamp) from entity where {ranges}")


def unreleased_at(lower: int, upper: int) -> Unreleased | None:
    """Return the sum of each account's latest balance in snapshots from the month before `upper` on."""
    # Index: the primary key (account_id, consensus_timestamp), from its end for each account. The months
    # stand in the text, so that PostgreSQL plans for the two partitions.
    lower = max(lower, month_start(upper, -1))
    months = f"consensus_timestamp >= {month_start(lower):d}"
    if (next_month := month_start(upper, 1)) <= MAX_INT64:
        months += f" and consensus_timestamp < {next_month:d}"
    within = Bounds(lower, upper).where("consensus_timestamp")
    ranges = " union all ".join(
        f"select generate_series({first:d}::bigint, {last:d}::bigint)"
        for first, last in _unreleased_accounts()
    )
    return _fetch(
        f"""
        select sum(balance)::bigint, max(consensus_timestamp)
        from ({ranges}) as account (id) cross join lateral (
            select balance, consensus_timestamp from account_balance
            where account_id = account.id and {months} {within.and_sql}
            order by consensus_timestamp desc limit 1
        ) latest
        """,
        within.values,
    )


def _unreleased_accounts() -> list[tuple[int, int]]:
    """Return the first and last encoded id of each range."""
    ranges = (text.partition("-") for text in config.value("rest.network.unreleasedSupplyAccounts"))
    return [(config.own_id(int(first)), config.own_id(int(last or first))) for first, _, last in ranges]


def _fetch(statement: str, values: tuple[object, ...] = ()) -> Unreleased | None:
    row = fetch_one(statement, values)
    if row is None or None in row:
        return None
    return Unreleased(*row)


def unreleased(parameters: SupplyParameters) -> Unreleased | None:
    """Return the unreleased supply, now or at the request's time. Errors: BadRequest."""
    if not parameters.timestamp:
        return unreleased_now()
    times = spring.time_window(parameters.timestamp)
    # A lower bound alone ends with the largest timestamp: the month before it has no snapshots.
    lower, upper = times.lower or 0, MAX_INT64 if times.upper is None else times.upper
    if lower > upper:
        raise BadRequest("Invalid range provided for timestamp")
    return unreleased_at(lower, upper)


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
