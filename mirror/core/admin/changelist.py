"""Lists of rows that are never counted."""

from collections.abc import Iterator
from typing import Any

from django.contrib import messages
from django.contrib.admin.views.main import ORDER_VAR, PAGE_VAR, ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest

from mirror.core.admin import columns, estimates, export

# Skipping rows costs as much as reading them.
LAST_PAGE = 200


class RowList(ChangeList):
    """Django's list of rows without a number of pages.

    A page reads one row more than it shows, which tells whether there is a next page.
    """

    model_admin: Any

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.title = self.model_admin.label

    def get_filters_params(self, params: Any = None) -> Any:
        """Return only the parameters that name a column with an index and have a value."""
        values = super().get_filters_params(params)
        names = (*columns.indexed(self.model), *self.model_admin.filters_also)
        return {name: values[name] for name in names if any(values.get(name, ()))}

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        rows = super().get_queryset(request, exclude_parameters)
        filters = self.get_filters_params()
        leading = (*columns.leading(self.model), *self.model_admin.filters_also)
        if filters and not set(filters) & set(leading):
            by = " or ".join(leading)
            messages.error(request, f"{self.model_admin.label} can be narrowed by {by} only.")
            return rows.none()
        # Whole rows may have megabytes that a list doesn't show.
        return rows.only(*self.model_admin.read_columns)

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        """Return the order that an index delivers, forwards or backwards."""
        ordering: list[Any] = list(self.model_admin.ordering)
        parameter = self.params.get(ORDER_VAR, "")
        if ordering and parameter and parameter.startswith("-") != ordering[0].startswith("-"):
            ordering = [name[1:] if name.startswith("-") else f"-{name}" for name in ordering]
        return ordering

    def get_results(self, request: HttpRequest) -> None:
        self.page_num = min(max(self.page_num, 1), LAST_PAGE)
        first = (self.page_num - 1) * self.list_per_page
        page = self.queryset[first : first + self.list_per_page + 1]
        rows = list(page)
        self.has_next = len(rows) > self.list_per_page
        self.total = self._total(page, len(rows))
        self.at_last_page = self.page_num == LAST_PAGE
        self.result_list = rows[: self.list_per_page]
        self.result_count = self.full_result_count = len(self.result_list)
        self.show_full_result_count = self.show_admin_actions = False
        self.can_show_all = self.multi_page = False

    def _total(self, page: QuerySet[Any], read: int) -> str:
        """Return how many rows there are, in words: exactly if the first page has all of them."""
        if not self.has_next:
            return "" if self.page_num > 1 or not read else f"{read:,} {'row' if read == 1 else 'rows'}"
        narrowed = bool(self.query or self.has_active_filters)
        estimate = (estimates.of_rows(page) if narrowed else estimates.of_table(self.model)) or 0
        shown = (self.page_num - 1) * self.list_per_page + read - 1
        return f"about {estimate:,} rows" if estimate > shown else f"more than {shown:,} rows"

    def export_address(self, form: str) -> str:
        return f"export.{form}{self.get_query_string(remove=[PAGE_VAR])}"

    @property
    def exports(self) -> list[tuple[str, str]]:
        return [(form.upper(), self.export_address(form)) for form in export.FORMS]

    @property
    def headings(self) -> list[dict[str, str]]:
        """The headings; `turned` is the address of the list in the opposite order."""
        descending = str(next(iter(self.queryset.query.order_by), "")).startswith("-")
        order = (
            {"sorted": "descending", "arrow": "↓"} if descending else {"sorted": "ascending", "arrow": "↑"}
        )
        turned = self.get_query_string({ORDER_VAR: "1" if descending else "-1"}, [PAGE_VAR])
        return [
            {"label": cell.short_description, "turned": turned, **order}
            if cell.admin_order_field
            else {"label": cell.short_description}
            for cell in self.model_admin.cells
        ]

    @property
    def labelled_rows(self) -> Iterator[list[tuple[str, str, str]]]:
        """Yield the cells of each row: name and heading of the column, and the HTML."""
        for row in self.result_list:
            yield [(cell.__name__, cell.short_description, cell(row)) for cell in self.model_admin.cells]

    @property
    def next_page(self) -> str:
        return self.get_query_string({"p": self.page_num + 1})

    @property
    def previous_page(self) -> str:
        return self.get_query_string({"p": self.page_num - 1})
