"""Rows of other tables that belong to a row, as sections of its page."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.sites import AdminSite
from django.db import models

from mirror.admin import columns
from mirror.admin.addresses import list_address
from mirror.admin.filters import matching
from mirror.admin.kinds import Unreadable

Where = dict[str, str]
"""Columns and the text that says what they are, as in the address of a list."""


@dataclass(frozen=True)
class Related:
    """Rows of `model` that belong to a row; `where` says which, None when there can't be any."""

    model: type[models.Model]
    where: Callable[[Any], Where | None]
    title: str = ""
    most: int = 10


@dataclass(frozen=True)
class Section:
    """A table on a page: `more` leads to a list of all rows, if these are not all."""

    title: str
    headers: list[str]
    rows: list[list[str]]
    more: str | None = None


def same(*names: str, **others: str) -> Callable[[Any], Where | None]:
    """The columns of the related rows, and those of this row that they are equal to."""
    pairs = {name: name for name in names} | others

    def where(row: models.Model) -> Where | None:
        values = {theirs: getattr(row, ours) for theirs, ours in pairs.items()}
        if any(value is None for value in values.values()):
            return None
        return {theirs: columns.of(type(row), ours).text(values[theirs]) for theirs, ours in pairs.items()}

    return where


def add_related(
    model: type[models.Model], *related: Related, after: type[models.Model] | None = None
) -> None:
    """Add sections to the page of another app's model: after that of `after`, or before all others."""
    page: Any = admin.site.get_model_admin(model)
    place = 1 + [section.model for section in page.related].index(after) if after else 0
    page.related = (*page.related[:place], *related, *page.related[place:])


def section(related: Related, row: models.Model, site: AdminSite) -> Section | None:
    """None when there are no such rows."""
    where = related.where(row)
    if where is None:
        return None
    page: Any = site.get_model_admin(related.model)
    found = related.model._default_manager.order_by(*page.ordering).only(*page.read_columns)
    try:
        for column, text in where.items():
            found = found.filter(matching(column, columns.of(related.model, column), text))
    except Unreadable:
        return None
    rows = list(found[: related.most + 1])
    if not rows:
        return None
    # What all these rows have in common is said already, unless it leads to them.
    cells = [cell for cell in page.cells if cell.leads_to_row or cell.__name__ not in where]
    return Section(
        title=related.title or page.label,
        headers=[cell.short_description for cell in cells],
        rows=[[cell(row) for cell in cells] for row in rows[: related.most]],
        more=f"{list_address(related.model)}?{urlencode(where)}" if len(rows) > related.most else None,
    )
