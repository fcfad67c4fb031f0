"""Filters of a list: by the value of a column in an address, and by the text in the search field."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.contrib import messages
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest

from mirror.core.admin import columns
from mirror.core.admin.kinds.base import Choice, InvalidText, Kind
from mirror.core.admin.kinds.numbers import EnumKind


def matching(column: str, kind: Kind, text: str) -> Q:
    """Return the condition that a column has the value that `text` stands for. Errors: InvalidText."""
    if "\0" in text:
        raise InvalidText(text)
    return Q(*((f"{column}__{operator}", value) for operator, value in kind.lookup(text).items()))


class ColumnFilter:
    """The filter `?column=value`, as the links between pages have it.

    Columns with a few named values offer them; of others the page shows only the value in the address.
    """

    choices: Sequence[str] = ()
    """The values that people choose from, if there are only a few."""
    finds_alone = True
    """Whether the filter needs no other one beside it."""

    def __init__(self, field: Any, value: str, *, is_input: bool) -> None:
        self.name, self.title, self.value = field.name, columns.label(field), value
        self._kind = columns.kind(field)
        if self.name in columns.leading(field.model):
            self.choices = self._choices()
        #: Whether people type a value into a field, which shows this example.
        self.is_input = is_input
        self.example = self._kind.typed or self._kind.example

    @property
    def values(self) -> list[str]:
        """The values that may be chosen, that of the address among them."""
        return list(dict.fromkeys([*self.choices, *filter(None, [self.value])]))

    def narrow(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        try:
            return rows.filter(self.condition(self.value)) if self.value else rows
        except InvalidText:
            example = f": write it like {self._kind.example}" if self._kind.example else ""
            messages.error(request, f"“{self.value}” is no {self.title.lower()}{example}.")
            return rows.none()

    def condition(self, text: str) -> Q:
        """Return the condition that the text stands for. Errors: InvalidText."""
        return matching(self.name, self._kind, text)

    def _choices(self) -> Sequence[str]:
        if isinstance(self._kind, Choice):
            return self._kind.choices
        if isinstance(self._kind, EnumKind):
            return sorted(self._kind.names.values())
        return ()


def conditions(model: type[Model], names: Iterable[str], text: str) -> Iterator[Q]:
    """Yield a condition for each of these columns that can hold what was typed."""
    for name in names:
        try:
            yield matching(name, columns.kind_of(model, name), text)
        except InvalidText:
            continue
