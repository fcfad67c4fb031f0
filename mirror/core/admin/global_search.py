"""The search of all tables at once: rows, tables and lists that a text may stand for.

The columns are `global_search_fields` of each `ReadOnlyAdmin`. Every condition uses an index,
and reads a few rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib.admin.sites import AdminSite

from mirror.core.admin.addresses import list_url, row_url

MAX_CHARACTERS = 200
# Of what one condition finds.
_MAX_ROWS = 5
_MIN_LETTERS = 3


@dataclass(frozen=True)
class SearchMatch:
    """A line of the results: what it is, more about it, and its address."""

    title: str
    description: str
    link: str


def find(site: AdminSite, text: str) -> list[SearchMatch]:
    """Return what the text may stand for: rows, in the order of the tables' registration, then tables."""
    text = text.strip()[:MAX_CHARACTERS]
    if not text:
        return []
    pages: list[Any] = [page for page in site._registry.values() if hasattr(page, "global_search")]
    matches = [line for page in pages for line in _rows(page, text)]
    return [*dict.fromkeys(matches), *_tables(site, text)]


def _rows(page: Any, text: str) -> Iterator[SearchMatch]:
    for condition in page.global_search(text):
        latest = page.model._default_manager.filter(condition).order_by(*page.ordering)
        rows = list(latest.only(*page.read_columns, *page.summary_columns)[: _MAX_ROWS + 1])
        for row in rows[:_MAX_ROWS]:
            yield SearchMatch(page.row_title(row), page.row_summary(row), row_url(row))
        if len(rows) > _MAX_ROWS:
            address = f"{list_url(page.model)}?{urlencode({'q': text})}"
            yield SearchMatch(f"All {page.label.lower()}", f"that match {text}", address)


def _tables(site: AdminSite, text: str) -> Iterator[SearchMatch]:
    if len(text) < _MIN_LETTERS:
        return
    for model, page in site._registry.items():
        label = str(getattr(page, "label", ""))
        if text.lower() in label.lower():
            yield SearchMatch(label, "Table", list_url(model))
