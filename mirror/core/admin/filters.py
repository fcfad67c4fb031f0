"""Filters of a list: by the value of a column in an address, and by the text in the search field."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest

from mirror.core.admin import columns
from mirror.core.admin.kinds.base import Choice, Kind, Unreadable
from mirror.core.admin.kinds.numbers import Named


def matching(column: str, kind: Kind, text: str) -> Q:
    """Return the condition that a column has the value that `text` stands for. Errors: Unreadable."""
    if "\0" in text:
        raise Unreadable(text)
    return Q(*((f"{column}__{operator}", value) for operator, value in kind.lookup(text).items()))


class ColumnFilter(admin.FieldListFilter):
    """The filter `?column=value`, as the links between pages have it.

    Columns with a few named values offer them; of others the page shows only the value in the address.
    """

    template = "mirror/admin/filter.html"
    offered: Iterable[str] = ()
    """The values that people choose from, if there are only a few."""

    def __init__(
        self,
        field: Any,
        request: HttpRequest,
        params: dict[str, list[str]],
        model: type[Model],
        *others: Any,
        **more: Any,
    ) -> None:
        super().__init__(field, request, params, model, *others, **more)
        self.title = columns.label(field)
        self._kind = columns.kind(field)
        values: Any = self.used_parameters.get(self.field_path, [])
        self._values: list[str] = values[-1:]
        if self.field_path in columns.leading(model):
            self.offered = self._offered()
        #: Whether people type a value into a field, which shows this example.
        self.is_input = self.field_path in others[0].inputs
        self.example = self._kind.typed or self._kind.example
        self.value = next(iter(self._values), "")

    def has_output(self) -> bool:
        return bool(self._values or self.offered or self.is_input)

    def expected_parameters(self) -> list[str | None]:
        return [self.field_path]

    def choices(self, changelist: Any) -> Iterator[Any]:
        yield {
            "selected": not self._values,
            "query_string": changelist.get_query_string(remove=[self.field_path]),
            "display": "All",
            "value": "",
        }
        for value in dict.fromkeys([*self.offered, *self._values]):
            yield {
                "selected": value in self._values,
                "query_string": changelist.get_query_string({self.field_path: value}),
                "display": value,
                "value": value,
            }

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        for text in self._values:
            try:
                queryset = queryset.filter(self.condition(text))
            except Unreadable:
                example = f": write it like {self._kind.example}" if self._kind.example else ""
                messages.error(request, f"“{text}” is no {str(self.title).lower()}{example}.")
                return queryset.none()
        return queryset

    def condition(self, text: str) -> Q:
        """Return the condition that the text stands for. Errors: Unreadable."""
        return matching(self.field_path, self._kind, text)

    def _offered(self) -> Iterable[str]:
        if isinstance(self._kind, Choice):
            return self._kind.choices
        if isinstance(self._kind, Named):
            return sorted(self._kind.names.values())
        return ()


def conditions(model: type[Model], names: Iterable[str], text: str) -> Iterator[Q]:
    """Yield a condition for each of these columns that can hold what was typed."""
    for name in names:
        try:
            yield matching(name, columns.of(model, name), text)
        except Unreadable:
            continue
