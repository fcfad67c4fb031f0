"""The price of a unit of gas.

Source: the fee schedule 0.0.111 and the exchange rates 0.0.112, of which those in force at the beginning of
the hour count. A version that can't be decoded is passed over.
"""

from ledger.queries import system_files
from ledger.queries.fee_schedules import SCHEDULE_UNITS_PER_TINYCENT, rate_in_force, schedule_in_force
from mirror import config
from mirror.config import clock
from mirror.db.bounds import Bounds
from mirror.values.hapi import CurrentAndNextFeeSchedule, ExchangeRateSet
from mirror.values.timestamp import NANOS_PER_SECOND
from web3sim.state.blocks import SelectedBlock
from web3sim.state.cache import caches

# HederaFunctionality of a contract call.
_CONTRACT_CALL = 6
_SECONDS_PER_HOUR = 3600

# Where the files are missing: 852 tinycents, at 12 cents for an hbar. A schedule counts in thousandths of a
# tinycent.
_PRICE_WITHOUT_SCHEDULE = 852_000
_CENTS, _HBARS = 12, 1

_ATTEMPTS = "web3.evm.maxFileAttempts"


def gas_price(selected: SelectedBlock) -> int:
    """Tinybars per unit of gas now, at least one, whatever block a call is run in. Errors: psycopg.Error.

    A call on the current state asks again for each block: a new rate counts from its block on.
    """
    hour = _hour(clock.now_ns())
    number = selected.block.number if selected.state_time is None else None
    key = ("gas price", hour, number)
    return caches().system_files.get_or_put(key, lambda: _price(Bounds(), hour))


def gas_price_at(time: int) -> int:
    """Tinybars per unit of gas at a time (ns) in the past, at least one. Errors: psycopg.Error."""
    return _price(Bounds(upper=time), _hour(time))


def _hour(time: int) -> int:
    """The second in which the hour of a time (ns) began."""
    seconds = time // NANOS_PER_SECOND
    return seconds - seconds % _SECONDS_PER_HOUR


def _price(times: Bounds, seconds: int) -> int:
    cents, hbars = _rate(times, seconds)
    return max(_scheduled(times, seconds) * hbars // (cents * SCHEDULE_UNITS_PER_TINYCENT), 1)


def _scheduled(times: Bounds, seconds: int) -> int:
    """Thousandths of a tinycent."""
    found = system_files.system_file(
        system_files.FEE_SCHEDULE,
        times,
        CurrentAndNextFeeSchedule.FromString,
        attempts=config.value(_ATTEMPTS),
    )
    if found is not None:
        for each in schedule_in_force(found[0], seconds).transactionFeeSchedule:
            is_call = each.hederaFunctionality == _CONTRACT_CALL
            if is_call and each.fees and each.fees[0].HasField("servicedata"):
                return int(each.fees[0].servicedata.gas)
    return _PRICE_WITHOUT_SCHEDULE


def _rate(times: Bounds, seconds: int) -> tuple[int, int]:
    """So many cents are worth so many hbars."""
    found = system_files.system_file(
        system_files.EXCHANGE_RATES, times, ExchangeRateSet.FromString, attempts=config.value(_ATTEMPTS)
    )
    rate = None if found is None else rate_in_force(found[0], seconds)
    return (rate.centEquiv, rate.hbarEquiv) if rate is not None and rate.centEquiv > 0 else (_CENTS, _HBARS)
