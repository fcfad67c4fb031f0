"""Columns of lists, as Django's admin takes them: functions of a row with a heading."""

from typing import Any

from django.db import models
from django.utils.html import format_html

from mirror.core.admin import columns
from mirror.core.admin.addresses import row_address
from mirror.core.admin.kinds.base import linked


class Cell:
    """A column of a list."""

    leads_to_row = False

    def __init__(self, field: Any, *, sortable: bool) -> None:
        self.__name__ = field.name
        self.short_description = columns.label(field)
        self.admin_order_field = field.name if sortable else None
        self._field = field
        self._kind = columns.kind(field)

    def __call__(self, row: models.Model) -> str:
        return linked(self._kind, self._field.value_from_object(row), False)


class KeyCell(Cell):
    """The column that is a table's key, which leads to the page of the row."""

    leads_to_row = True

    def __call__(self, row: models.Model) -> str:
        return _to_page(row, self._kind.html(self._field.value_from_object(row), False))


class RowCell:
    """The way to the page of a row whose key has several columns."""

    leads_to_row = True
    __name__ = "row"
    short_description = ""
    admin_order_field = None

    def __call__(self, row: models.Model) -> str:
        return _to_page(row, "View")


def _to_page(row: models.Model, shown: str) -> str:
    return format_html('<a href="{}">{}</a>', row_address(row), shown)
