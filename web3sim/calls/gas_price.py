"""The price of a unit of gas now, whatever block a call is run in.

Source: the fee schedule 0.0.111 and the exchange rates 0.0.112.
"""

from ledger.queries import system_files
from mirror.config import clock
from mirror.db.bounds import Bounds
from mirror.values.hapi import CurrentAndNextFeeSchedule, ExchangeRateSet
from mirror.values.timestamp import NANOS_PER_SECOND
from web3sim.state.cache import caches

# HederaFunctionality of a contract call.
_CONTRACT_CALL = 6

# Where the files are missing: 852 tinycents, at 12 cents for an hbar. A schedule counts in thousandths of a
# tinycent.
_PRICE_WITHOUT_SCHEDULE = 852_000
_CENTS, _HBARS = 12, 1
_SCHEDULE_UNITS_PER_TINYCENT = 1000


def gas_price() -> int:
    """Tinybars per unit of gas, at least one. Errors: psycopg.Error."""
    return caches().system_files.get_or_put("gas price", _read)


def _read() -> int:
    cents, hbars = _rate()
    return max(_price() * hbars // (cents * _SCHEDULE_UNITS_PER_TINYCENT), 1)


def _price() -> int:
    """Thousandths of a tinycent."""
    found = system_files.system_file(
        system_files.FEE_SCHEDULE, Bounds(), CurrentAndNextFeeSchedule.FromString
    )
    for each in found[0].currentFeeSchedule.transactionFeeSchedule if found else ():
        if each.hederaFunctionality == _CONTRACT_CALL and each.fees and each.fees[0].HasField("servicedata"):
            return int(each.fees[0].servicedata.gas)
    return _PRICE_WITHOUT_SCHEDULE


def _rate() -> tuple[int, int]:
    """So many cents are worth so many hbars."""
    found = system_files.system_file(system_files.EXCHANGE_RATES, Bounds(), ExchangeRateSet.FromString)
    if found is None:
        return _CENTS, _HBARS
    rate, following = found[0].currentRate, found[0].nextRate
    if rate.expirationTime.seconds * NANOS_PER_SECOND <= clock.now_ns() and following.centEquiv > 0:
        rate = following
    return (rate.centEquiv, rate.hbarEquiv) if rate.centEquiv > 0 else (_CENTS, _HBARS)
