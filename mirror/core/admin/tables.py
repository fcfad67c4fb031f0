"""Pages made from an app's models: a registration states only what the models don't."""

from collections.abc import Mapping
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.db import models

from mirror.core.admin.readonly import HistoryAdmin, ReadOnlyAdmin


def table(columns: str = "", **options: Any) -> dict[str, Any]:
    """Return the options of a `ReadOnlyAdmin`; `columns` are those of its list, with spaces between."""
    return {"list_display": tuple(columns.split()), **options}


def register_tables(app_label: str, tables: Mapping[type[models.Model], dict[str, Any]]) -> None:
    """Register these tables, then all of the app's others that have no page yet."""
    others = apps.get_app_config(app_label).get_models()
    # A history names its table, so it is registered after that.
    for model in sorted((*tables, *others), key=_is_history):
        if not admin.site.is_registered(model):
            base = HistoryAdmin if _is_history(model) else ReadOnlyAdmin
            admin.site.register(model, base, **tables.get(model, {}))


def _is_history(model: type[models.Model]) -> bool:
    return model.__name__.endswith("History")
