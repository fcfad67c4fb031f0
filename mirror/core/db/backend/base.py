from collections.abc import Callable
from typing import Any

import psycopg
from django.db import models
from django.db.backends.postgresql import base, features, schema

from mirror.core.db.availability import stopped_server, unresponsive
from mirror.core.db.reading import statements, timeouts
from mirror.core.db.reading.prepared import PreparedStatements
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
    #: The cursor that `mirror.core.db.reading.sql` reads with, and its statement timeout in seconds.
    reading: tuple[psycopg.Cursor[Any], float] | None = None
    #: The statements that web requests read with, once one has run on the connection of that cursor.
    prepared: PreparedStatements | None = None
    #: The ConnectionLease that has the connection at present; that module knows this one.
    lease: Any = None
    #: The connection to a replica of the same lease, and of such a one its server, until when that needs no
    #: check, and until when it is used (monotonic): see `mirror.core.db.replicas`.
    replica: "DatabaseWrapper | None" = None
    server: Any = None
    checked_until = ends_at = 0.0
    #: Tells whether to give the server up while it says nothing.
    is_gone: Callable[[], bool] | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.execute_wrappers.append(statements.noted_by_django)

    #: Whether its statements end in time without the watch of `mirror.core.db.availability.unresponsive`.
    is_bounded = False

    def get_new_connection(self, conn_params: dict[str, Any]) -> psycopg.Connection[Any]:
        opened: psycopg.Connection[Any]
        if self.is_bounded:
            opened = super().get_new_connection(conn_params)
            if self.server is not None:
                unresponsive.watch(opened, self.server.name)
            return opened
        unresponsive.check()
        opened = super().get_new_connection(unresponsive.connect_options() | conn_params)
        unresponsive.watch(opened)
        return opened

    def init_connection_state(self) -> None:
        if self.is_gone is not None:
            stopped_server.fail_when_gone(self.is_gone, self.connection)
        super().init_connection_state()
        if (setting := timeouts.statement()) is not None:
            self.connection.execute(*setting)
            if not self.get_autocommit():
                self.connection.commit()
