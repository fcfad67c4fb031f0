"""GET /api/v1/network/exchangerate: the price of an hbar in US cents, in this hour and the next.

Source: the file 0.0.112, an ExchangeRateSet. A rate is that so many hbars equal so many cents.
Errors: 400 malformed parameter; 404 if there is no readable version of the file at the time.
"""

from typing import Any, TypedDict

from ledger.api import not_loaded
from ledger.queries import system_files
from mirror.core import config
from mirror.core.db.reading.query import Bounds
from mirror.core.rest.answers.errors import NotFound
from mirror.core.rest.parameters import spring
from mirror.core.rest.views import SpringReadView
from mirror.core.values import entity_id, timestamp
from mirror.core.values.hapi.messages import ExchangeRateSet
from mirror.core.values.json_types import Int32, Int64, Timestamp


# PARAMETERS
class ExchangeRateParameters(spring.ParameterSet):
    timestamp = spring.Timestamp(help="Time of the rates.")


# QUERY
def rates_within(times: Bounds) -> tuple[Any, int]:
    """Return the last ExchangeRateSet within these times, and its time. Errors: NotFound."""
    version = system_files.system_file(system_files.EXCHANGE_RATES, times, ExchangeRateSet.FromString)
    if version is None:
        raise no_file(system_files.EXCHANGE_RATES)
    return version


# JSON
class RateJson(TypedDict):
    """So many hbars are so many US cents."""

    cent_equivalent: Int32
    expiration_time: Int64 | None
    hbar_equivalent: Int32


class ExchangeRateJson(TypedDict):
    current_rate: RateJson | None
    next_rate: RateJson | None
    timestamp: Timestamp | None


def rate_json(rates: Any, name: str) -> RateJson | None:
    """Return one rate of the set; None if the set doesn't have it."""
    if not rates.HasField(name):
        return None
    rate = getattr(rates, name)
    return {
        "cent_equivalent": rate.centEquiv,
        "expiration_time": rate.expirationTime.seconds if rate.HasField("expirationTime") else None,
        "hbar_equivalent": rate.hbarEquiv,
    }


# VIEW
class ExchangeRate(SpringReadView):
    """Get the current and the next exchange rate of hbars and cents.

    With `timestamp` those in force at that time.
    """

    parameters, max_age, answers = ExchangeRateParameters, 60, ExchangeRateJson

    def read(self, parameters: ExchangeRateParameters) -> ExchangeRateJson:
        rates, at = rates_within(spring.time_window(parameters.timestamp))
        return {
            "current_rate": rate_json(rates, "currentRate"),
            "next_rate": rate_json(rates, "nextRate"),
            "timestamp": timestamp.spring_text(at),
        }


def no_file(num: int) -> NotFound:
    return NotFound(f"File {entity_id.text(config.own_id(num))} not found", detail=not_loaded.entity())
