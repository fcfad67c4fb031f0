from typing import Any

from django.db import models
from django.db.backends.postgresql import schema

from mirror.core.db.schema.tables import KeylessTable, PartitionedTable


class DatabaseSchemaEditor(schema.DatabaseSchemaEditor):
    """Omits the key of a keyless table and partitions a table; migrations create the partitions."""

    def table_sql(self, model: type[models.Model]) -> tuple[str, list[Any]]:
        sql, parameters = super().table_sql(model)
        key = model._meta.pk
        if issubclass(model, KeylessTable) and isinstance(key, models.CompositePrimaryKey):
            clause = self._pk_constraint_sql(key.columns)  # type: ignore[attr-defined]
            sql = sql.replace(f", {clause}", "")
        if issubclass(model, PartitionedTable):
            sql += f" PARTITION BY {model.partition_by}"
        return sql, parameters
