"""Times: int nanoseconds since the epoch, as the text `seconds.nnnnnnnnn` or a HAPI Timestamp."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, overload

from mirror.core.values.json_types import TimestampRangeJson

NANOS_PER_SECOND = 1_000_000_000
NANOS_PER_DAY = 86_400 * NANOS_PER_SECOND
MAX = (1 << 63) - 1
MIN = -(1 << 63)

_ISO = re.compile(r"(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?Z)?", re.ASCII)
_TEXT = re.compile(r"(\d{1,10})(?:\.(\d{1,9}))?", re.ASCII)


class InvalidTimestamp(ValueError):
    """The text is not a time; the message quotes it."""


@overload
def text(nanoseconds: None) -> None: ...
@overload
def text(nanoseconds: int) -> str: ...
@overload
def text(nanoseconds: int | None) -> str | None: ...
def text(nanoseconds: int | None) -> str | None:
    """Return `seconds.nnnnnnnnn`, always with nine digits after the point; None for None."""
    if nanoseconds is None:
        return None
    if nanoseconds >= NANOS_PER_SECOND:
        # Twice as fast, and a page has hundreds.
        digits = str(nanoseconds)
        return f"{digits[:-9]}.{digits[-9:]}"
    seconds, nanos = divmod(abs(nanoseconds), NANOS_PER_SECOND)
    sign = "-" if nanoseconds < 0 else ""
    return f"{sign}{seconds}.{nanos:09}"


def parse(text: str) -> int:
    """Return the nanoseconds of `seconds` or `seconds.fraction`. Errors: InvalidTimestamp.

    They may exceed 64 bits (up to 9999999999.999999999), which `mirror.core.db.reading.sql.compare` allows
    for.
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        raise InvalidTimestamp(f'"{text}" is not a time of the form seconds.nanoseconds')
    seconds, fraction = match.groups()
    return int(seconds) * NANOS_PER_SECOND + int((fraction or "").ljust(9, "0"))


def parse_iso(text: str) -> int:
    """Return the nanoseconds of `2024-06-01T12:30:00.5Z` or of a date's start. Errors: InvalidTimestamp."""
    match = _ISO.fullmatch(text)
    try:
        if match is None:
            raise ValueError
        date, time, fraction = match.groups()
        second = datetime.fromisoformat(f"{date}T{time or '00:00:00'}").replace(tzinfo=UTC)
    except ValueError:
        raise InvalidTimestamp(f'"{text}" is not a time of the form 2024-06-01T12:30:00Z') from None
    return int(second.timestamp()) * NANOS_PER_SECOND + int((fraction or "").ljust(9, "0"))


def iso_text(nanoseconds: int) -> str:
    """Return a time as `2024-06-01T12:30:00Z`, to the second."""
    return f"{datetime.fromtimestamp(nanoseconds // NANOS_PER_SECOND, UTC):%Y-%m-%dT%H:%M:%SZ}"


def range_json(lower: int | None, upper: int | None) -> TimestampRangeJson:
    """Return the JSON of a timestamp_range: from (inclusive) to (exclusive), None while open."""
    return {"from": text(lower), "to": text(upper)}


def spring_text(nanoseconds: int | None) -> str | None:
    """Return the text of Spring endpoints, which write 0 as `0.0`."""
    return "0.0" if nanoseconds == 0 else text(nanoseconds)


def spring_range_json(lower: int | None, upper: int | None) -> TimestampRangeJson:
    """Return the JSON of a range as Spring endpoints write it."""
    return {"from": spring_text(lower), "to": spring_text(upper)}


def spring_staking_period_json(last: int) -> TimestampRangeJson:
    """Return the JSON of the day that begins after `last`, the last nanosecond before."""
    return spring_range_json(last + 1, last + 1 + NANOS_PER_DAY)


def expiry(times: Sequence[int | None]) -> int | None:
    """Return the expiration time of an entity of these: expiration time, creation, seconds of renewal."""
    expiration, created, period = times
    if expiration is not None or created is None or period is None:
        return expiration
    return created + period * NANOS_PER_SECOND


def month_start(nanoseconds: int, months_later: int = 0) -> int:
    """Return the first instant (UTC) of the month of a time, or of the month so many months later."""
    time = datetime.fromtimestamp(nanoseconds // NANOS_PER_SECOND, UTC)
    return _first_instant(time.year * 12 + time.month - 1 + months_later)


@lru_cache
def _first_instant(month: int) -> int:
    """Return the first instant of a month, counted from that of the year 0."""
    year, month = divmod(month, 12)
    return int(datetime(year, month + 1, 1, tzinfo=UTC).timestamp()) * NANOS_PER_SECOND


def to_ns(timestamp: Any) -> int:
    """Return the nanoseconds of a Timestamp message, saturated to the signed 64-bit range."""
    nanoseconds: int = timestamp.seconds * NANOS_PER_SECOND + timestamp.nanos
    if MIN <= nanoseconds <= MAX:
        return nanoseconds
    return MAX if nanoseconds > 0 else MIN
