"""Kinds of column: how people read a value on a page, and how they write it in a search or an address.

The class of a model's field decides on the kind (`mirror.admin.columns`). A page shows `html` (as a
link to `href`); addresses carry `text`; `lookup` reads what people type.
"""

import json
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from psycopg.types.range import Range

from mirror import config
from mirror.db.sql import MAX_INT64, MIN_INT64
from mirror.values import entity_id, result_codes, timestamp, transaction_id

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TINYBARS = 100_000_000
SHORT, LONG = 16, 2048
_UTC = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d)(?::(\d\d)(?::(\d\d))?)?)?(?:Z| UTC)?", re.ASCII)
_STEPS = (timedelta(days=1), timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1))

Lookup = dict[str, Any]
"""Lookups of one column and their values: {"exact": 5}, {"gte": 5, "lt": 9}."""


class Unreadable(ValueError):
    """What was typed is not of this kind."""


class Kind:
    """A kind without any markup. `example` is what can be typed; without one it can't be searched for."""

    example = ""

    def text(self, value: Any) -> str:
        return str(value)

    def html(self, value: Any, full: bool) -> str:
        """`full` is for the page of one row; in lists a value is cut to a few words."""
        return cut(self.text(value), LONG if full else 60)

    def href(self, value: Any) -> str | None:
        return None

    def lookup(self, text: str) -> Lookup:
        """Errors: Unreadable."""
        raise Unreadable(text)


class Text(Kind):
    example = "the whole text"

    def lookup(self, text: str) -> Lookup:
        return {"exact": text}


class Choice(Kind):
    """A value of an enum type."""

    def __init__(self, choices: tuple[str, ...]) -> None:
        self.choices = choices
        self.example = " or ".join(choices)

    def lookup(self, text: str) -> Lookup:
        if text.upper() not in self.choices:
            raise Unreadable(text)
        return {"exact": text.upper()}


class HexText(Kind):
    """Hex kept as text, found by how it begins."""

    example = "hex, its beginning suffices"

    def html(self, value: str, full: bool) -> str:
        return format_html("<code>{}</code>", value if full else cut(value, SHORT))

    def lookup(self, text: str) -> Lookup:
        match = re.fullmatch(r"(?:0x)?([0-9a-fA-F]{6,})", text)
        if match is None:
            raise Unreadable(text)
        start = match[1].lower()
        # A range, as LIKE can't use these indexes; g comes after all hex digits.
        return {"gte": start, "lt": start + "g"}


class Number(Kind):
    example = "1234"

    def html(self, value: int, full: bool) -> str:
        return f"{value:,}"

    def lookup(self, text: str) -> Lookup:
        if not re.fullmatch(r"-?\d{1,19}", text, re.ASCII) or not MIN_INT64 <= int(text) <= MAX_INT64:
            raise Unreadable(text)
        return {"exact": int(text)}


class Code(Number):
    """A number without meaning as an amount: no separators of thousands."""

    def html(self, value: int, full: bool) -> str:
        return str(value)


class Hbar(Number):
    """An amount of tinybars."""

    def html(self, value: int, full: bool) -> str:
        whole, rest = divmod(abs(value), _TINYBARS)
        fraction = f".{rest:08}".rstrip("0") if rest else ""
        sign = "-" if value < 0 else ""
        return format_html(
            '<span class="amount" title="{} tinybars">{}{}{} ℏ</span>{}',
            f"{value:,}",
            sign,
            f"{whole:,}",
            fraction,
            format_html("<small>{} tinybars</small>", f"{value:,}") if full else "",
        )


class Boolean(Kind):
    def html(self, value: bool, full: bool) -> str:
        return "yes" if value else "no"


class Entity(Kind):
    """An encoded entity id, as shard.realm.num; leads to the entity, or to the row of another table."""

    example = "0.0.1234"

    def __init__(self, page: str = "ledger_entity") -> None:
        self._page = page

    def text(self, value: int) -> str:
        shard, realm, num = entity_id.decode(value)
        return f"{shard}.{realm}.{num}"

    def href(self, value: int) -> str | None:
        return _page(self._page, self.text(value)) if value else None

    def lookup(self, text: str) -> Lookup:
        try:
            return {
                "exact": entity_id.parse(text, config.value("common.shard"), config.value("common.realm"))
            }
        except entity_id.InvalidEntityId:
            raise Unreadable(text) from None


class Time(Kind):
    """Nanoseconds since the epoch; leads to the row with this key in the table of `page`."""

    example = "1700000000.000000001, 2023-11-14 22:13"

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
        return _page(self._page, self.text(value)) if self._page and value >= 0 else None

    def lookup(self, text: str) -> Lookup:
        """One time, the whole of a second, minute, hour or day, or everything between two times (`a..b`)."""
        first, dots, last = text.partition("..")
        if dots:
            return {"gte": self._ends(first)[0], "lte": self._ends(last)[1]}
        low, high = self._ends(text)
        return {"exact": low} if low == high else {"gte": low, "lte": high}

    def _ends(self, text: str) -> tuple[int, int]:
        if re.fullmatch(r"\d{19}", text, re.ASCII):
            low = high = int(text)
        elif match := _UTC.fullmatch(text):
            parts = [int(part) for part in match.groups() if part is not None]
            try:
                moment = datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]
            except ValueError:
                raise Unreadable(text) from None
            low = (moment - _EPOCH) // timedelta(microseconds=1) * 1000
            high = low + _STEPS[len(parts) - 3] // timedelta(microseconds=1) * 1000 - 1
        else:
            try:
                low = timestamp.parse(text)
            except timestamp.InvalidTimestamp:
                raise Unreadable(text) from None
            high = low if "." in text else low + timestamp.NANOS_PER_SECOND - 1
        if not MIN_INT64 <= low <= high <= MAX_INT64:
            raise Unreadable(text)
        return low, high


class Milliseconds(Kind):
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
            return str(value)
        return format_html("{}<small>day {}</small>", utc(value * timestamp.NANOS_PER_DAY)[:10], value)


class Moment(Kind):
    """A timestamptz."""

    example = "2023-11-14 22:13"

    def text(self, value: datetime) -> str:
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}"

    def html(self, value: datetime, full: bool) -> str:
        return format_html('<span class="nowrap">{} UTC</span>', self.text(value))

    def lookup(self, text: str) -> Lookup:
        if not _UTC.fullmatch(text):
            raise Unreadable(text)
        found = Time().lookup(text)
        return {
            "gte": _EPOCH + timedelta(microseconds=found["gte"] // 1000),
            "lt": _EPOCH + timedelta(microseconds=(found["lte"] + 1) // 1000),
        }


class Between(Kind):
    """A range whose ends are of another kind."""

    def __init__(self, ends: Kind) -> None:
        self._ends = ends

    def text(self, value: Range[int]) -> str:
        return f"{'' if value.lower is None else value.lower}..{'' if value.upper is None else value.upper}"

    def html(self, value: Range[int], full: bool) -> str:
        if value.isempty:
            return "nothing"
        lower, upper = (
            None if end is None else linked(self._ends, end, full) for end in (value.lower, value.upper)
        )
        start = "" if lower is None else format_html("from {}", lower)
        return format_html("{} {}", start, "until now" if upper is None else format_html("until {}", upper))


class Named(Kind):
    """A small number with a name; a transaction type is looked for by either."""

    def __init__(self, name: Callable[[int], str], names: dict[int, str], example: str) -> None:
        self._name, self.names = name, names
        self.example = example

    def text(self, value: int) -> str:
        return self._name(value)

    def html(self, value: int, full: bool) -> str:
        return format_html('<span title="{}">{}</span>', value, self._name(value))

    def lookup(self, text: str) -> Lookup:
        for number, name in self.names.items():
            if text.upper() == name or text == str(number):
                return {"exact": number}
        raise Unreadable(text)


class Result(Named):
    """The result of a transaction; a failure stands out."""

    def html(self, value: int, full: bool) -> str:
        failed = "" if value in result_codes.SUCCESS else "failed"
        return format_html('<span class="{}" title="{}">{}</span>', failed, value, self._name(value))


class Several(Kind):
    """An array of another kind."""

    def __init__(self, one: Kind) -> None:
        self._one = one

    def html(self, value: Iterable[Any], full: bool) -> str:
        return format_html_join(", ", "{}", ((linked(self._one, one, full),) for one in value))


class InnerTransactions(Kind):
    """Flat pairs of payer and valid start, one for each transaction of a batch."""

    def html(self, value: list[int], full: bool) -> str:
        ids = [transaction_id.text(*pair) for pair in zip(value[::2], value[1::2], strict=False)]
        listed = _page("ledger_transaction", None)
        return format_html_join(
            SafeString("<br>"), '<a href="{}?q={}">{}</a>', ((listed, one, one) for one in ids)
        )


class Json(Kind):
    def html(self, value: Any, full: bool) -> str:
        if not full:
            return cut(json.dumps(value), 60)
        return format_html("<pre>{}</pre>", cut(json.dumps(value, indent=2), 4 * LONG))


def linked(kind: Kind, value: Any, full: bool) -> str:
    """The HTML of a value, as a link where it leads somewhere."""
    if value is None:
        return SafeString('<span class="none">–</span>')
    shown, href = kind.html(value, full), kind.href(value)
    return format_html('<a href="{}">{}</a>', href, shown) if href else format_html("{}", shown)


def utc(nanoseconds: int) -> str:
    """`2023-11-14 22:13:20.000000001` of a time in nanoseconds; years beyond 9999 have no such text."""
    seconds, nanos = divmod(nanoseconds, timestamp.NANOS_PER_SECOND)
    try:
        return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S}.{nanos:09}"
    except OverflowError:
        return f"{seconds} s"


def _page(name: str, key: str | None) -> str:
    return reverse(f"admin:{name}_changelist") if key is None else reverse(f"admin:{name}_change", args=[key])


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}…"
