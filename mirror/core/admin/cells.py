"""Columns of lists, as Django's admin takes them: functions of a row with a heading."""

from collections.abc import Callable, Sequence
from typing import Any

from django.db import models
from django.utils.html import format_html

from mirror.core.admin import columns
from mirror.core.admin.addresses import row_url
from mirror.core.admin.kinds.base import link_html


class Cell:
    """A column of a list: its name and heading, and what it shows of a row.

    One that `links_to_row` shows it as a link to the row's page.
    """

    def __init__(
        self,
        name: str,
        heading: str,
        show: Callable[[models.Model], str],
        *,
        links_to_row: bool = False,
        sortable: bool = False,
    ) -> None:
        self.__name__, self.short_description = name, heading
        self.admin_order_field = name if sortable else None
        self.links_to_row = links_to_row
        self._show = show

    def __call__(self, row: models.Model) -> str:
        html = self._show(row)
        return format_html('<a href="{}">{}</a>', row_url(row), html) if self.links_to_row else html


def cells(model: type[models.Model], names: Sequence[str]) -> list[Cell]:
    """Return the cells of columns; a key leads to the page of its row, one of several columns by a cell."""
    first = next(iter(columns.order(model)), "").lstrip("-")
    several = columns.has_composite_key(model)
    way = [Cell("row", "Row", lambda row: "View", links_to_row=True)] if several else []
    fields: list[Any] = [model._meta.get_field(name) for name in names]
    return [*way, *(_cell(field, field.name == first, not several and field.primary_key) for field in fields)]


def _cell(field: Any, sortable: bool, links_to_row: bool) -> Cell:
    kind = columns.kind(field)

    def show(row: models.Model) -> str:
        value, own_kind = field.value_from_object(row), kind.of(row)
        return own_kind.html(value, False) if links_to_row else link_html(own_kind, value, False)

    return Cell(field.name, columns.label(field), show, links_to_row=links_to_row, sortable=sortable)
