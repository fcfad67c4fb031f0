"""Sections of a row's page: the rows of other tables that belong to it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.sites import AdminSite
from django.db import models

from mirror.core.admin import columns
from mirror.core.admin.addresses import list_url
from mirror.core.admin.kinds.amounts import read_units
from mirror.core.admin.kinds.base import InvalidText
from mirror.core.admin.lists import matching

Where = dict[str, str]
"""Columns and their values as text, as in the address of a list."""


@dataclass(frozen=True)
class Related:
    """Rows of `model` that belong to a row. `where` returns their columns, None if there can't be any."""

    model: type[models.Model]
    where: Callable[[Any], Where | None]
    title: str = ""
    limit: int = 10


@dataclass(frozen=True)
class Section:
    """A table on a page: heading and HTML of each cell. `more` is the address of the list, if it has more."""

    title: str
    rows: list[list[tuple[str, str]]]
    more: str | None = None


def join_on(*names: str, **others: str) -> Callable[[Any], Where | None]:
    """Match columns of the related rows with columns of this row: of the same name, or as `theirs="ours"`."""
    pairs = {name: name for name in names} | others

    def where(row: models.Model) -> Where | None:
        values = {theirs: getattr(row, ours) for theirs, ours in pairs.items()}
        if any(value is None for value in values.values()):
            return None
        return {
            theirs: columns.kind_of(type(row), ours).text(values[theirs]) for theirs, ours in pairs.items()
        }

    return where


def add_related(
    model: type[models.Model], *related: Related, after: type[models.Model] | None = None
) -> None:
    """Add sections to the page of another app's model: after that of `after`, or before all others."""
    page: Any = admin.site.get_model_admin(model)
    place = 1 + [section.model for section in page.related].index(after) if after else 0
    page.related = (*page.related[:place], *related, *page.related[place:])


def section(related: Related, row: models.Model, site: AdminSite) -> Section | None:
    where = related.where(row)
    if where is None:
        return None
    page: Any = site.get_model_admin(related.model)
    ordering = page.ordering
    if "consensus_timestamp" in where:
        # What happened in one transaction is shown in its order.
        ordering = [name.removeprefix("-") for name in ordering]
    queryset = related.model._default_manager.order_by(*ordering).only(*page.read_columns)
    try:
        for column, text in where.items():
            queryset = queryset.filter(matching(column, columns.kind_of(related.model, column), text))
    except InvalidText:
        return None
    rows = list(queryset[: related.limit + 1])
    if not rows:
        return None
    read_units(rows, columns.kinds(related.model, page.list_display))
    # All these rows have the same values in the columns of `where`, which the page shows already.
    hidden = {name for name in where if not related.model._meta.get_field(name).primary_key}  # type: ignore[union-attr]
    return Section(
        title=related.title or page.label,
        rows=[
            [(label, html) for name, label, html in page.cells(row) if name not in hidden]
            for row in rows[: related.limit]
        ],
        more=f"{list_url(related.model)}?{urlencode(where)}" if len(rows) > related.limit else None,
    )
