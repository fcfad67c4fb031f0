"""Pages made from an app's models: a registration states only what the models don't."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from django.apps import apps
from django.contrib import admin
from django.db import models

from mirror.core.admin.filters import ColumnFilter
from mirror.core.admin.readonly import HistoryAdmin, ReadOnlyAdmin
from mirror.core.admin.related import Related, join_on


class Table(NamedTuple):
    """What is particular to a table; the fields are explained at `ReadOnlyAdmin`."""

    columns: str = ""
    """The columns of the list, with spaces between."""
    label: str = ""
    singular: str = ""
    related: Sequence[Related] = ()
    history: str = ""
    """The title of the section of earlier versions."""
    global_search_fields: Sequence[str] = ()
    is_entity: bool = False
    api_path: str = ""
    extra_filters: Mapping[str, type[ColumnFilter]] = MappingProxyType({})


def register_tables(app_label: str, tables: Mapping[type[models.Model], Table]) -> None:
    """Register these tables, then all of the app's others that have no page yet."""
    others = apps.get_app_config(app_label).get_models()
    # A history names its table, so it is registered after that.
    for model in sorted((*tables, *others), key=_is_history):
        if not admin.site.is_registered(model):
            admin.site.register(model, _page(model, tables.get(model, Table())))


def _page(model: type[models.Model], table: Table) -> Any:
    related = tuple(table.related)
    if table.history:
        history = apps.get_model(model._meta.app_label, f"{model.__name__}History")
        related += (
            Related(history, join_on(*(field.name for field in model._meta.pk_fields)), table.history),
        )
    base = HistoryAdmin if _is_history(model) else ReadOnlyAdmin
    attributes = {
        "list_display": tuple(table.columns.split()),
        "label": table.label,
        "singular": table.singular or base.singular,
        "related": related,
        "global_search_fields": table.global_search_fields,
        "is_entity": table.is_entity,
        "api_path": table.api_path,
        "extra_filters": table.extra_filters,
    }
    return type(f"{model.__name__}Admin", (base,), attributes)


def _is_history(model: type[models.Model]) -> bool:
    return model.__name__.endswith("History")
