"""Kinds of times, and of ranges."""

import re
from datetime import UTC, datetime, timedelta

from django.utils.html import format_html
from psycopg.types.range import Range

from mirror.core.admin.kinds.base import InvalidText, JsonKind, Kind, Lookup, link_html, page_url
from mirror.core.admin.kinds.numbers import Code
from mirror.core.db.reading.sql import MAX_INT64, MIN_INT64
from mirror.core.values import timestamp

_RANGE = re.compile(r"(\d{1,19})?\.\.(\d{1,19})?", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UTC = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d)(?::(\d\d)(?::(\d\d))?)?)?(?:Z| UTC)?", re.ASCII)
_STEPS = (timedelta(days=1), timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1))


class Time(Kind):
    """Nanoseconds since the epoch; leads to the row with this key in the table of `page`."""

    example = "1700000000.000000001, 2023-11-14 22:13"
    typed = "2023-11-14 22:13 .. 2023-11-15"

    def __init__(self, page: str | None = None) -> None:
        self._page = page

    def text(self, value: int) -> str:
        return timestamp.text(value) or ""

    def html(self, value: int, full: bool) -> str:
        return format_html(
            '<span class="nowrap">{} UTC</span><small>{}</small>',
            utc(value) if full else utc(value).partition(".")[0],
            self.text(value),
        )

    def href(self, value: int) -> str | None:
        return page_url(self._page, self.text(value)) if self._page and value >= 0 else None

    def lookup(self, text: str) -> Lookup:
        """Read one time, a whole second, minute, hour or day, or what is between two times.

        `a..b` is everything from a to b, `a..` what came from then on, `..b` what came until then.
        """
        first, dots, last = (part.strip() for part in text.partition(".."))
        if dots and (first or last):
            ends = {"gte": self._ends(first)[0]} if first else {}
            return ends | ({"lte": self._ends(last)[1]} if last else {})
        low, high = self._ends(text)
        return {"exact": low} if low == high else {"gte": low, "lte": high}

    def _ends(self, text: str) -> tuple[int, int]:
        if re.fullmatch(r"\d{19}", text, re.ASCII):
            low = high = int(text)
        elif match := _UTC.fullmatch(text):
            parts = [int(part) for part in match.groups() if part is not None]
            try:
                start = datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]
            except ValueError:
                raise InvalidText(text) from None
            low = (start - _EPOCH) // timedelta(microseconds=1) * 1000
            high = low + _STEPS[len(parts) - 3] // timedelta(microseconds=1) * 1000 - 1
        else:
            try:
                low = timestamp.parse(text)
            except timestamp.InvalidTimestamp:
                raise InvalidText(text) from None
            high = low if "." in text else low + timestamp.NANOS_PER_SECOND - 1
        if not MIN_INT64 <= low <= high <= MAX_INT64:
            raise InvalidText(text)
        return low, high


class Milliseconds(JsonKind):
    def html(self, value: int, full: bool) -> str:
        return format_html('<span class="nowrap">{} UTC</span>', utc(value * 1_000_000)[:23])


class Day(Code):
    """Days since the epoch; -1 stands for none."""

    example = "2023-11-14"

    def lookup(self, text: str) -> Lookup:
        if not _UTC.fullmatch(text):
            return super().lookup(text)
        return {"exact": Time().lookup(text)["gte"] // timestamp.NANOS_PER_DAY}

    def html(self, value: int, full: bool) -> str:
        if value < 0:
            return "none"
        return format_html("{}<small>day {}</small>", utc(value * timestamp.NANOS_PER_DAY)[:10], value)


class DateTime(Kind):
    example = "2023-11-14 22:13"

    def text(self, value: datetime) -> str:
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}"

    def json_value(self, value: datetime) -> str:
        return value.astimezone(UTC).isoformat()

    def html(self, value: datetime, full: bool) -> str:
        return format_html('<span class="nowrap">{} UTC</span>', self.text(value))

    def lookup(self, text: str) -> Lookup:
        if not _UTC.fullmatch(text):
            raise InvalidText(text)
        ends = Time().lookup(text)
        return {
            "gte": _EPOCH + timedelta(microseconds=ends["gte"] // 1000),
            "lt": _EPOCH + timedelta(microseconds=(ends["lte"] + 1) // 1000),
        }


class RangeKind(Kind):
    """A range whose ends are of another kind."""

    def __init__(self, ends: Kind) -> None:
        self._ends = ends

    def text(self, value: Range[int]) -> str:
        return f"{'' if value.lower is None else value.lower}..{'' if value.upper is None else value.upper}"

    def lookup(self, text: str) -> Lookup:
        match = _RANGE.fullmatch(text)
        ends = [None if end is None else int(end) for end in match.groups()] if match else []
        given = [0, *(end for end in ends if end is not None), MAX_INT64]
        if not ends or given != sorted(given):
            raise InvalidText(text)
        lower, upper = ends
        # The lower end alone is in the indexes of the history tables.
        return {"startswith": lower, "exact": Range(lower, upper)}

    def json_value(self, value: Range[int]) -> str:
        lower, upper = (
            "" if end is None else self._ends.json_value(end) for end in (value.lower, value.upper)
        )
        return f"{lower}..{upper}"

    def html(self, value: Range[int], full: bool) -> str:
        if value.isempty:
            return "nothing"
        lower, upper = (
            None if end is None else link_html(self._ends, end, full) for end in (value.lower, value.upper)
        )
        start = "" if lower is None else format_html("from {}", lower)
        return format_html("{} {}", start, "until now" if upper is None else format_html("until {}", upper))


def utc(nanoseconds: int) -> str:
    """Return a time in nanoseconds as `2023-11-14 22:13:20.000000001`, after the year 9999 as seconds."""
    seconds, nanos = divmod(nanoseconds, timestamp.NANOS_PER_SECOND)
    try:
        return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S}.{nanos:09}"
    except OverflowError:
        return f"{seconds} s"
