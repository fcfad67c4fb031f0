"""Kinds of column: how people read a value on a page, and how they write it in a search or an address.

The class of a model's field decides on the kind (`mirror.core.admin.columns`). A page shows
`html`, as a link to `href` if there is one; addresses carry `text`; `lookup` reads what people type.
"""

import json
from collections.abc import Iterable
from typing import Any

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

SHORT, LONG = 16, 2048

Lookup = dict[str, Any]
"""Lookups of one column and their values: {"exact": 5}, {"gte": 5, "lt": 9}."""


class InvalidText(ValueError):
    """The text that was typed is not of this kind."""


class Kind:
    """A kind that is shown as it is. `example` shows what to type; without one it can't be searched for."""

    example = ""
    typed = ""
    """A shorter example, for a field of its own."""
    counts_tokens = False
    """Whether the values are amounts of tokens, whose decimals are read (`kinds.amounts`)."""

    def of(self, row: Any) -> "Kind":
        """Return the kind of this row's value."""
        return self

    def token_ids(self, row: Any, column: str) -> Iterable[int]:
        return ()

    def text(self, value: Any) -> str:
        return str(value)

    def json_value(self, value: Any) -> Any:
        """Return the value as JSON has it, whole, for an export."""
        return self.text(value)

    def html(self, value: Any, full: bool) -> str:
        """Return the value for the page of its row if `full`, else cut to a few words for a list."""
        return truncate(self.text(value), LONG if full else 60)

    def href(self, value: Any) -> str | None:
        return None

    def lookup(self, text: str) -> Lookup:
        """Errors: InvalidText."""
        raise InvalidText(text)


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
            raise InvalidText(text)
        return {"exact": text.upper()}


class JsonKind(Kind):
    """A kind whose values are those of JSON."""

    def json_value(self, value: Any) -> Any:
        return value


class Boolean(JsonKind):
    example = "true"

    def html(self, value: bool, full: bool) -> str:
        return "yes" if value else "no"

    def lookup(self, text: str) -> Lookup:
        if text.lower() not in ("true", "false"):
            raise InvalidText(text)
        return {"exact": text.lower() == "true"}


class Json(JsonKind):
    def html(self, value: Any, full: bool) -> str:
        if not full:
            return truncate(json.dumps(value), 60)
        return format_html("<pre>{}</pre>", truncate(json.dumps(value, indent=2), 4 * LONG))


class ArrayKind(Kind):
    def __init__(self, item: Kind) -> None:
        self._item = item

    def json_value(self, value: Iterable[Any]) -> list[Any]:
        return [None if item is None else self._item.json_value(item) for item in value]

    def html(self, value: Iterable[Any], full: bool) -> str:
        return format_html_join(", ", "{}", ((link_html(self._item, item, full),) for item in value))


def link_html(kind: Kind, value: Any, full: bool) -> str:
    """Return the HTML of a value, as a link where it leads somewhere."""
    if value is None:
        return SafeString('<span class="none">–</span>')
    html, href = kind.html(value, full), kind.href(value)
    return format_html('<a href="{}">{}</a>', href, html) if href else format_html("{}", html)


def page_url(table: str, key: str) -> str:
    return reverse(f"admin:{table}_change", args=[key])


def truncate(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}…"
