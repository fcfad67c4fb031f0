"""The current time, as every reader of it sees it."""

import time

from mirror import config
from mirror.values.timestamp import NANOS_PER_SECOND


def now_ns() -> int:
    """Nanoseconds since the epoch: the real time, or the moment the setting `clock.now` holds still."""
    fixed = config.value("clock.now")
    return time.time_ns() if fixed is None else round(fixed * NANOS_PER_SECOND)
