from collections.abc import Callable
from typing import Any

import psycopg
from django.db import models
from django.db.backends.postgresql import base, features, schema

from mirror.core.db.availability import unresponsive
from mirror.core.db.availability.unresponsive import IndependentConnection, WatchedConnection
from mirror.core.db.reading import statements, timeouts
from mirror.core.db.schema.tables import KeylessTable, PartitionedTable


class DatabaseFeatures(features.DatabaseFeatures):
    # The oldest release that the schema is known to work on.
    minimum_database_version = (15,)


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


class DatabaseWrapper(base.DatabaseWrapper):
    SchemaEditorClass = DatabaseSchemaEditor
    features_class = DatabaseFeatures
    #: Whether its statements end in time without `mirror.core.db.availability.unresponsive`.
    is_bounded = False
    #: Returns whether to give up a server that does not answer.
    is_gone: Callable[[], bool] | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.execute_wrappers.append(statements.noted_by_django)

    def get_new_connection(self, conn_params: dict[str, Any]) -> psycopg.Connection[Any]:
        self.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        kind: type[WatchedConnection] = IndependentConnection
        if not self.is_bounded:
            unresponsive.check()
            kind, conn_params = WatchedConnection, unresponsive.connect_options() | conn_params
        opened: WatchedConnection = kind.connect(**conn_params)
        opened.is_gone = self.is_gone
        return opened

    def init_connection_state(self) -> None:
        super().init_connection_state()
        if (setting := timeouts.statement()) is not None:
            self.connection.execute(*setting)
            if not self.get_autocommit():
                self.connection.commit()
