"""History tables: each has the earlier versions of the rows of a table, with the time each was valid."""

import copy
from typing import Any

from django.db import models

from mirror.core.db.schema.indexes import GistIndex, Index
from mirror.core.db.schema.tables import KeylessTable

_VALIDITY = "timestamp_range"


def history_of(
    model: type[models.Model], doc: str, *others: models.Index, by_start: str = "", by_range: bool = True
) -> type[models.Model]:
    """Return the model of a history table: the same columns, without a key.

    `by_start` names the index on the key and the start of a version; `by_range` says whether times are
    indexed too. `others` are further indexes.
    """
    table = f"{model._meta.db_table}_history"
    key = [field.name for field in model._meta.pk_fields]
    indexes = list(others)
    if by_start:
        indexes.append(Index(*key, f"{_VALIDITY}__startswith", name=by_start))
    if by_range:
        indexes.append(GistIndex(fields=[_VALIDITY], name=f"{table}__{_VALIDITY}"))
    options = {"db_table": table, "verbose_name_plural": table.replace("_", " "), "indexes": indexes}
    columns = {field.name: _column(field) for field in model._meta.local_concrete_fields}
    return type(
        f"{model.__name__}History",
        (KeylessTable, models.Model),
        {
            "__doc__": doc,
            "__module__": model.__module__,
            "Meta": type("Meta", (), options),
            "pk": models.CompositePrimaryKey(*key, _VALIDITY),
            **columns,
        },
    )


def _column(field: Any) -> Any:
    """Return a copy of a column, as Django makes one of an abstract model's, that is not the key."""
    column = copy.deepcopy(field)
    column.primary_key, column.serialize = False, True
    return column
