"""The throttle of simulation: requests and gas per second, of all processes of the node together.

Gas is counted in units of `web3.throttle.gasUnit`. A call takes its whole gas limit before it runs, and
returns what it did not use. A request that is refused, by these limits or before it runs, takes nothing.
"""

from mirror.core import config
from mirror.core.rest.limits.buckets import Buckets
from mirror.core.rest.limits.clients import Client

REQUESTS_EXCEEDED = "Requests per second rate limit exceeded"
GAS_EXCEEDED = "Gas per second rate limit exceeded."

_REQUESTS, _TRACES, _GAS = "requests", "traces", "gas"


class Throttled(Exception):
    """A request is rejected for now; the message says by which limit."""


def admit(buckets: Buckets, gas: int, client: Client | None = None) -> None:
    """Let a call of this gas limit pass. Errors: Throttled."""
    _count_request(buckets, client)
    units = _gas_units(gas)
    if units and not buckets.try_consume(_GAS, config.value("web3.throttle.gasPerSecond"), units, client):
        _return_request(buckets)
        raise Throttled(GAS_EXCEEDED)


def withdraw(buckets: Buckets, gas: int) -> None:
    """Return what a call took that is refused before it runs."""
    _return_request(buckets)
    restore(buckets, gas)


def admit_trace(buckets: Buckets, client: Client | None = None) -> None:
    """Let a request for a trace pass, which also counts as a call without gas. Errors: Throttled."""
    rate: int = config.value("web3.throttle.opcodeRequestsPerSecond")
    if rate and not buckets.try_consume(_TRACES, rate, 1, client):
        raise Throttled(REQUESTS_EXCEEDED)
    try:
        _count_request(buckets, client)
    except Throttled:
        _return_trace(buckets)
        raise


def withdraw_trace(buckets: Buckets) -> None:
    """Return what a request for a trace took that is refused before it runs."""
    _return_request(buckets)
    _return_trace(buckets)


def _count_request(buckets: Buckets, client: Client | None) -> None:
    if not buckets.try_consume(_REQUESTS, config.value("web3.throttle.requestsPerSecond"), 1, client):
        raise Throttled(REQUESTS_EXCEEDED)


def _return_request(buckets: Buckets) -> None:
    buckets.add_tokens(_REQUESTS, config.value("web3.throttle.requestsPerSecond"), 1)


def _return_trace(buckets: Buckets) -> None:
    if rate := config.value("web3.throttle.opcodeRequestsPerSecond"):
        buckets.add_tokens(_TRACES, rate, 1)


def restore(buckets: Buckets, gas: int) -> None:
    """Return gas that a call took and did not use."""
    if units := _gas_units(gas):
        buckets.add_tokens(_GAS, config.value("web3.throttle.gasPerSecond"), units)


def unused(gas: int, used: int | None, succeeded: bool) -> int:
    """Return how much of a call's gas limit to return; `used` is None for a call without a result."""
    max_refund = gas * int(config.value("web3.throttle.gasLimitRefundPercent")) // 100
    if used is None or (used >= gas and not succeeded):
        return max_refund
    return max(min(gas - used, max_refund), 0)


def _gas_units(gas: int) -> int:
    """Return the units that a call of this gas limit takes; a call of at most one unit takes none."""
    unit: int = config.value("web3.throttle.gasUnit")
    return gas // unit if gas > unit else 0
