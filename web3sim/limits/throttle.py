"""The throttle of simulation: requests and gas per second, of all processes of the node together.

Gas is counted in units of `web3.throttle.gasUnit`. A call takes its whole gas limit before it runs, and
returns what it did not use.
"""

from mirror.core import config
from web3sim.limits.buckets import Buckets

REQUESTS_EXCEEDED = "Requests per second rate limit exceeded"
GAS_EXCEEDED = "Gas per second rate limit exceeded."

_REQUESTS, _TRACES, _GAS = "requests", "traces", "gas"


class Throttled(Exception):
    """A request is rejected for now; the message says by which limit."""


def admit(buckets: Buckets, gas: int) -> None:
    """Let a call of this gas limit pass. Errors: Throttled."""
    _count_request(buckets)
    units = _gas_units(gas)
    if units and not buckets.try_consume(_GAS, config.value("web3.throttle.gasPerSecond"), units):
        raise Throttled(GAS_EXCEEDED)


def admit_trace(buckets: Buckets) -> None:
    """Let a request for a trace pass, which also counts as a call without gas. Errors: Throttled."""
    rate: int = config.value("web3.throttle.opcodeRequestsPerSecond")
    if rate and not buckets.try_consume(_TRACES, rate, 1):
        raise Throttled(REQUESTS_EXCEEDED)
    _count_request(buckets)


def _count_request(buckets: Buckets) -> None:
    if not buckets.try_consume(_REQUESTS, config.value("web3.throttle.requestsPerSecond"), 1):
        raise Throttled(REQUESTS_EXCEEDED)


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
