"""Kinds of numbers: amounts, entity ids, and codes with a name."""

import re
from collections.abc import Callable

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from mirror.core import config
from mirror.core.admin.kinds.base import InvalidText, JsonKind, Kind, Lookup, page_url
from mirror.core.db.reading.sql import MAX_INT64, MIN_INT64
from mirror.core.values import entity_id, transaction_id
from mirror.core.values.hapi import result_codes

# Of an entity id, as HIP-15 writes it.
_CHECKSUM = re.compile(r"(?<=\d)-[a-z]{5}$")


class Number(JsonKind):
    example = "1234"

    def html(self, value: int, full: bool) -> str:
        return f"{value:,}"

    def lookup(self, text: str) -> Lookup:
        if not re.fullmatch(r"-?\d{1,19}", text, re.ASCII) or not MIN_INT64 <= int(text) <= MAX_INT64:
            raise InvalidText(text)
        return {"exact": int(text)}


class Code(Number):
    """A number without meaning as an amount: no separators of thousands."""

    def html(self, value: int, full: bool) -> str:
        return str(value)


class Hbar(Number):
    def html(self, value: int, full: bool) -> str:
        tinybars = f"{value:,} tinybars"
        small = format_html("<small>{}</small>", tinybars) if full else ""
        shown = decimal(value, 8)
        return format_html('<span class="amount" title="{}">{} ℏ</span>{}', tinybars, shown, small)


def decimal(value: int, decimals: int) -> str:
    """Return a number of smallest units as a number of whole ones, without trailing zeros."""
    # More than any token has; a power of ten of a hostile number would not end.
    whole, rest = divmod(abs(value), 10 ** min(max(decimals, 0), 64))
    fraction = f".{rest:0{decimals}}".rstrip("0") if rest else ""
    return f"{'-' if value < 0 else ''}{whole:,}{fraction}"


class Entity(Kind):
    """An entity id, shown as shard.realm.num; leads to the row with this key in the table of `page`."""

    example = "0.0.1234"

    def __init__(self, page: str = "ledger_entity") -> None:
        self._page = page

    def text(self, value: int) -> str:
        shard, realm, num = entity_id.decode(value)
        return f"{shard}.{realm}.{num}"

    def href(self, value: int) -> str | None:
        return page_url(self._page, self.text(value)) if value else None

    def lookup(self, text: str) -> Lookup:
        try:
            return {"exact": entity_id.parse(_CHECKSUM.sub("", text), *config.shard_and_realm())}
        except entity_id.InvalidEntityId:
            raise InvalidText(text) from None


class EnumKind(Kind):
    """A number with a name; people look for it by either."""

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
        raise InvalidText(text)


class Result(EnumKind):
    """The result of a transaction; a failure stands out."""

    def html(self, value: int, full: bool) -> str:
        failed = "" if value in result_codes.SUCCESS else "failed"
        # A long name may go on in another line after each of its words.
        name = format_html_join(
            SafeString("_<wbr>"), "{}", ((word,) for word in self._name(value).split("_"))
        )
        return format_html('<span class="{}" title="{}">{}</span>', failed, value, name)


class InnerTransactions(Kind):
    """Flat pairs of payer and valid start, one for each transaction of a batch."""

    def json_value(self, value: list[int]) -> list[str]:
        return [transaction_id.text(*pair) for pair in zip(value[::2], value[1::2], strict=False)]

    def html(self, value: list[int], full: bool) -> str:
        ids = self.json_value(value)
        transactions = reverse("admin:ledger_transaction_changelist")
        return format_html_join(
            SafeString("<br>"), '<a href="{}?q={}">{}</a>', ((transactions, text, text) for text in ids)
        )
