"""The current time, as every reader of it sees it."""

import time
from decimal import Decimal

from mirror import config
from mirror.values.timestamp import NANOS_PER_SECOND


def now_ns() -> int:
    """Nanoseconds since the epoch: the real time, or the moment the setting `clock.now` holds still."""
    fixed = config.value("clock.now")
    # A float of today's seconds has room for a quarter of a microsecond; its digits are what was meant.
    return time.time_ns() if fixed is None else int(Decimal(str(fixed)) * NANOS_PER_SECOND)
