"""Lists of rows that are never counted: narrowed by a search and by columns, in the order of an index."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest

from mirror.core.admin import columns, estimates, export
from mirror.core.admin.kinds.amounts import read_units

# Skipping rows costs as much as reading them.
LAST_PAGE = 200
_PAGE, _ORDER, _SEARCH = "p", "o", "q"


class RowList:
    """The rows that a request narrows a table to, and one page of them.

    A page reads one row more than it shows, which tells whether there is a next page.
    """

    def __init__(self, page: Any, request: HttpRequest) -> None:
        self.model_admin, self.parameters = page, request.GET
        self.query = self.parameters.get(_SEARCH, "").strip()
        if "\0" in self.query:
            messages.error(request, "Null characters are not allowed.")
            self.query = ""
        self.filters = [
            cls(page.opts.get_field(name), self.parameters.get(name, ""), is_input=name in page.input_filters)
            for name, cls in page.filters.items()
        ]
        self.queryset = self._filtered_rows(request)

    @property
    def has_active_filters(self) -> bool:
        return any(each.value for each in self.filters)

    def _filtered_rows(self, request: HttpRequest) -> QuerySet[Any]:
        page = self.model_admin
        rows: QuerySet[Any] = page.model._default_manager.order_by(*self._ordering())
        for each in self.filters:
            rows = each.narrow(request, rows)
        rows = page.find(request, rows, self.query)
        if unknown := {*self.parameters} - {*page.filters, _PAGE, _ORDER, _SEARCH}:
            messages.error(request, f"{page.label} can't be narrowed by {' or '.join(sorted(unknown))}.")
            return rows.none()
        alone = (name for name, cls in page.extra_filters.items() if cls.finds_alone)
        leading = (*columns.leading(page.model), *alone)
        names = {each.name for each in self.filters if each.value}
        if names and not names & set(leading):
            messages.error(request, f"{page.label} can be narrowed by {' or '.join(leading)} only.")
            return rows.none()
        # Whole rows may have megabytes that a list doesn't show.
        return rows.only(*page.read_columns)

    def _ordering(self) -> list[str]:
        """Return the order that an index delivers, forwards or backwards."""
        ordering, requested = list(self.model_admin.ordering), self.parameters.get(_ORDER, "")
        if ordering and requested and requested.startswith("-") != ordering[0].startswith("-"):
            ordering = [name[1:] if name.startswith("-") else f"-{name}" for name in ordering]
        return ordering

    def read(self) -> None:
        number, size = self.parameters.get(_PAGE, "1"), self.model_admin.list_per_page
        # Python reads no numbers of thousands of digits.
        self.page_num = min(max(int(number[:9]), 1), LAST_PAGE) if number.isdecimal() else 1
        first = (self.page_num - 1) * size
        page = self.queryset[first : first + size + 1]
        rows = list(page)
        self.has_next, self.at_last_page = len(rows) > size, self.page_num == LAST_PAGE
        self.total = self._total(page, len(rows))
        self.result_list = rows[:size]
        read_units(self.result_list, columns.kinds(self.model_admin.model, self.model_admin.list_display))

    def _total(self, page: QuerySet[Any], read: int) -> str:
        """Return how many rows there are, in words: exactly if the first page has all of them."""
        if not self.has_next:
            return "" if self.page_num > 1 or not read else f"{read:,} {'row' if read == 1 else 'rows'}"
        narrowed = bool(self.query or self.has_active_filters)
        estimate = (estimates.query_rows(page) if narrowed else estimates.table_rows(page.model)) or 0
        shown_rows = (self.page_num - 1) * self.model_admin.list_per_page + read - 1
        return f"about {estimate:,} rows" if estimate > shown_rows else f"more than {shown_rows:,} rows"

    def url(self, **changes: object) -> str:
        """Return the query of this list, on its first page, with other parameters; None drops one."""
        parameters = {**self.parameters.dict(), _PAGE: None, **changes}
        return f"?{urlencode(sorted((name, each) for name, each in parameters.items() if each is not None))}"

    @property
    def shown_filters(self) -> list[dict[str, Any]]:
        """The filters that have a value or something to choose from, each with the list without it."""
        filters = (each for each in self.filters if each.value or each.choices or each.is_input)
        return [{"spec": each, "without": self.url(**{each.name: None})} for each in filters]

    @property
    def exports(self) -> list[tuple[str, str]]:
        return [(form.upper(), f"export.{form}{self.url()}") for form in export.FORMS]

    @property
    def headings(self) -> list[dict[str, str]]:
        """The headings; `turned` is the address of the list in the opposite order."""
        descending = str(next(iter(self.queryset.query.order_by), "")).startswith("-")
        order = (
            {"sorted": "descending", "arrow": "↓"} if descending else {"sorted": "ascending", "arrow": "↑"}
        )
        order["turned"] = self.url(**{_ORDER: "1" if descending else "-1"})
        return [
            {"label": cell.short_description} | (order if cell.admin_order_field else {})
            for cell in self.model_admin.cells
        ]

    @property
    def labelled_rows(self) -> Iterator[list[tuple[str, str, str]]]:
        """Yield the cells of each row: name and heading of the column, and the HTML."""
        for row in self.result_list:
            yield [(cell.__name__, cell.short_description, cell(row)) for cell in self.model_admin.cells]

    @property
    def next_page(self) -> str:
        return self.url(**{_PAGE: self.page_num + 1})

    @property
    def previous_page(self) -> str:
        return self.url(**{_PAGE: self.page_num - 1})
