"""Lists of rows, by Django's ChangeList, which are never counted: narrowed by a search and by columns."""

import json
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from django.contrib import messages
from django.contrib.admin.filters import FieldListFilter
from django.contrib.admin.views.main import ORDER_VAR, PAGE_VAR, ChangeList
from django.core.paginator import Page, Paginator, UnorderedObjectListWarning
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest

from mirror.core.admin import columns
from mirror.core.admin.kinds.amounts import read_units
from mirror.core.admin.kinds.base import Choice, InvalidText, Kind
from mirror.core.admin.kinds.numbers import EnumKind
from mirror.core.db import statements
from mirror.core.db.distribution import cluster

# A table without an index that has an order is listed without one.
warnings.filterwarnings("ignore", category=UnorderedObjectListWarning)

# Skipping rows costs as much as reading them.
LAST_PAGE = 200

# Indexes: those of the catalogue. A table that is partitioned by month has the rows of these.
_ROWS = """
    select coalesce(sum(greatest(reltuples, 0)), 0)::bigint from pg_class
    where relkind = 'r' and (oid = to_regclass(%(table)s)
        or oid in (select inhrelid from pg_inherits where inhparent = to_regclass(%(table)s)))"""


class UncountedPaginator(Paginator):  # type: ignore[type-arg]
    """Pages that read one row more than they show, by which they find whether another page follows."""

    num_pages, count = LAST_PAGE, 0

    def validate_number(self, number: Any) -> int:
        return min(max(int(number), 1), LAST_PAGE)

    def page(self, number: Any) -> "UncountedPage":
        number = self.validate_number(number)
        first = (number - 1) * self.per_page
        return UncountedPage(self.object_list[first : first + self.per_page + 1], number, self)


class UncountedPage(Page):  # type: ignore[type-arg]
    def __init__(self, rows: Any, number: int, paginator: UncountedPaginator) -> None:
        self.shown: Sequence[Any] = list(rows)[: paginator.per_page]
        super().__init__(self.shown, number, paginator)
        self._rows, self._follows = rows, len(rows) > paginator.per_page

    def has_next(self) -> bool:
        return self._follows

    def total(self, model: type[Model], *, narrowed: bool) -> str:
        """Return how many rows the list has, in words: exactly if the first page has all of them."""
        read = len(self.shown)
        if not self.has_next():
            return "" if self.number > 1 or not read else f"{read:,} {'row' if read == 1 else 'rows'}"
        estimate = _planned_rows(self._rows) if narrowed else table_rows(model)
        shown = (self.number - 1) * self.paginator.per_page + read
        return f"about {estimate:,} rows" if estimate > shown else f"more than {shown:,} rows"


def table_rows(model: type[Model]) -> int:
    """Return PostgreSQL's estimate of the rows of a table."""
    table = model._meta.db_table
    return cluster.shards().rows.get(table) or int(statements.value(_ROWS, {"table": table}))


def _planned_rows(page: QuerySet[Any]) -> int:
    """Return the number of rows without the limit of `page`, as planned; nothing is read."""
    (explained,) = json.loads(page.explain(format="json"))
    plan = explained["Plan"]
    return int(plan["Plans"][0]["Plan Rows"]) if plan["Node Type"] == "Limit" else 0


class RowList(ChangeList):
    """The rows that a request narrows a table to, in the order that an index delivers."""

    model_admin: Any
    filter_specs: list[Any]

    def get_filters(self, request: HttpRequest) -> Any:
        specs, _, unknown, _, _ = super().get_filters(request)
        filters: list[Any] = specs
        page, given = self.model_admin, {spec.field_path for spec in filters if spec.value}
        alone = [name for name, cls in page.extra_filters.items() if cls.finds_alone]
        leading = (*columns.leading(self.model), *alone)
        problem = ""
        if unknown:
            problem = f"can't be narrowed by {' or '.join(sorted(unknown))}."
        elif given and not given & {*leading}:
            problem = f"can be narrowed by {' or '.join(leading)} only."
        if problem:
            messages.error(request, f"{page.label} {problem}")
            self.root_queryset = self.root_queryset.none()
        return specs, bool(specs), {}, False, bool(given)

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        ordering, requested = [*self.model_admin.ordering], self.params.get(ORDER_VAR, "")
        if ordering and requested and requested.startswith("-") != ordering[0].startswith("-"):
            ordering = [name[1:] if name.startswith("-") else f"-{name}" for name in ordering]
        return ordering

    def get_results(self, request: HttpRequest) -> None:
        self.paginator = self.model_admin.get_paginator(request, self.queryset, self.list_per_page)
        self.result_count, self.full_result_count = 0, None

    @cached_property
    def page(self) -> UncountedPage:
        """The page of the request; an export reads none."""
        page: UncountedPage = self.paginator.page(self.page_num)
        read_units(page.shown, columns.kinds(self.model, self.model_admin.list_display))
        return page

    @property
    def result_list(self) -> Sequence[Any]:
        return self.page.shown

    @property
    def total(self) -> str:
        return self.page.total(self.model, narrowed=bool(self.query or self.has_active_filters))

    @property
    def shown_filters(self) -> list[dict[str, Any]]:
        """The filters that have a value or something to choose from, each with the list without it."""
        specs = (spec for spec in self.filter_specs if spec.value or spec.offered or spec.is_input)
        return [{"spec": spec, "without": self.get_query_string({spec.field_path: None})} for spec in specs]

    @property
    def headings(self) -> Iterator[dict[str, str]]:
        """Yield the headings; `turned` is the address of the list in the opposite order."""
        first = next(iter(self.queryset.query.order_by), "")
        for name, label in self.model_admin.headings:
            heading = {"label": label}
            if name == first.lstrip("-"):
                turned, *shown = (
                    ("1", "descending", "↓") if first.startswith("-") else ("-1", "ascending", "↑")
                )
                heading |= zip(("sorted", "arrow"), shown, strict=True)
                heading["turned"] = self.get_query_string({ORDER_VAR: turned})
            yield heading

    @property
    def cells(self) -> Iterator[list[tuple[str, str, str]]]:
        return map(self.model_admin.cells, self.result_list)

    @property
    def next_page(self) -> str:
        return self.get_query_string({PAGE_VAR: self.page.number + 1})

    @property
    def previous_page(self) -> str:
        return self.get_query_string({PAGE_VAR: self.page.number - 1})


class ColumnFilter(FieldListFilter):
    """The filter `?column=value`, as the links between pages have it.

    Columns with a few named values offer them; of others the page shows only the value in the address.
    """

    offered: Sequence[str] = ()
    """The values that people choose from, if there are only a few."""
    finds_alone = True
    """Whether the filter needs no other one beside it."""

    def __init__(
        self, field: Any, request: HttpRequest, params: Any, model: Any, page: Any, field_path: str
    ) -> None:
        super().__init__(field, request, params, model, page, field_path)
        self.title: str = columns.label(field)
        values: Any = self.used_parameters.get(field_path, [""])
        self.value: str = values[-1]
        self._kind = columns.kind(field)
        if field_path in columns.leading(model):
            self.offered = self._offered()
        #: Whether people type a value into a field, which shows this example.
        self.is_input = field_path in page.input_filters
        self.example = self._kind.typed or self._kind.example

    def expected_parameters(self) -> list[str | None]:
        return [self.field_path]

    @property
    def values(self) -> list[str]:
        """The values that may be chosen, that of the address among them."""
        return list(dict.fromkeys([*self.offered, *filter(None, [self.value])]))

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        try:
            return queryset.filter(self.condition(self.value)) if self.value else queryset
        except InvalidText:
            example = f": write it like {self._kind.example}" if self._kind.example else ""
            messages.error(request, f"“{self.value}” is no {self.title.lower()}{example}.")
            return queryset.none()

    def condition(self, text: str) -> Q:
        """Return the condition that the text stands for. Errors: InvalidText."""
        return matching(str(self.field_path), self._kind, text)

    def _offered(self) -> Sequence[str]:
        if isinstance(self._kind, Choice):
            return self._kind.choices
        return sorted(self._kind.names.values()) if isinstance(self._kind, EnumKind) else ()


def matching(column: str, kind: Kind, text: str) -> Q:
    """Return the condition that a column has the value that `text` stands for. Errors: InvalidText."""
    if "\0" in text:
        raise InvalidText(text)
    return Q(*((f"{column}__{operator}", value) for operator, value in kind.lookup(text).items()))


def conditions(model: type[Model], names: Iterable[str], text: str) -> Iterator[Q]:
    """Yield a condition for each of these columns that can hold what was typed."""
    for name in names:
        try:
            yield matching(name, columns.kind_of(model, name), text)
        except InvalidText:
            continue
