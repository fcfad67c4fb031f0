"""The current time."""

import time
from decimal import Decimal

from mirror.core import config
from mirror.core.values.timestamp import NANOS_PER_SECOND


def now_ns() -> int:
    """Return the nanoseconds since the epoch, or the fixed time of the setting `clock.now`."""
    fixed = config.value("clock.now")
    # A float holds the seconds to a quarter of a microsecond; its shortest digits are those of the setting.
    return time.time_ns() if fixed is None else int(Decimal(str(fixed)) * NANOS_PER_SECOND)
