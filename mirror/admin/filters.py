"""Narrowing a list: by the value of a column in an address, and by what is typed into the search field."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest

from mirror.admin import columns
from mirror.admin.kinds import Choice, Kind, Named, Unreadable


def matching(column: str, kind: Kind, text: str) -> Q:
    """Rows whose column is what the text says. Errors: Unreadable."""
    if "\0" in text:
        raise Unreadable(text)
    return Q(*((f"{column}__{operator}", value) for operator, value in kind.lookup(text).items()))


class ColumnFilter(admin.ListFilter):
    """`?column=value`, as the links between pages have it.

    Columns with a few named values offer them; of others the page shows only what a link asked for.
    """

    rows: Any
    """The list it narrows; set by the list."""

    def __init__(
        self,
        column: str,
        request: HttpRequest,
        params: dict[str, list[str]],
        model: type[Model],
        model_admin: Any,
    ) -> None:
        field: Any = model._meta.get_field(column)
        self.title = columns.label(field)
        super().__init__(request, params, model, model_admin)
        self._column = column
        self._finds_alone = column in columns.leading(model)
        self._kind = columns.kind(field)
        self._given = params.pop(column, [])[-1:]

    def has_output(self) -> bool:
        return bool(self._given or self._offered())

    def expected_parameters(self) -> list[str | None]:
        return [self._column]

    @property
    def parameter(self) -> str:
        return self._column

    @property
    def shown(self) -> list[Any]:
        return list(self.choices(self.rows))

    @property
    def without(self) -> str:
        """The address of the list without this filter."""
        return str(self.rows.get_query_string(remove=[self._column]))

    @property
    def offers(self) -> bool:
        """Whether one chooses from a few values, instead of following a link with one."""
        return bool(self._offered())

    def choices(self, changelist: Any) -> Iterator[Any]:
        yield {
            "selected": not self._given,
            "query_string": changelist.get_query_string(remove=[self._column]),
            "display": "All",
            "value": "",
        }
        for value in dict.fromkeys([*self._offered(), *self._given]):
            yield {
                "selected": value in self._given,
                "query_string": changelist.get_query_string({self._column: value}),
                "display": value,
                "value": value,
            }

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        for text in self._given:
            try:
                queryset = queryset.filter(matching(self._column, self._kind, text))
            except Unreadable:
                example = f": write it like {self._kind.example}" if self._kind.example else ""
                messages.error(request, f"“{text}” is no {str(self.title).lower()}{example}.")
                return queryset.none()
        return queryset

    def _offered(self) -> Iterable[str]:
        if not self._finds_alone:
            return ()
        if isinstance(self._kind, Choice):
            return self._kind.choices
        if isinstance(self._kind, Named):
            return sorted(self._kind.names.values())
        return ()


def conditions(model: type[Model], names: Iterable[str], text: str) -> Iterator[Q]:
    """A condition for each of these columns that can be what was typed."""
    for name in names:
        try:
            yield matching(name, columns.of(model, name), text)
        except Unreadable:
            continue
