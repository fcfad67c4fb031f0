from collections.abc import Callable
from typing import Any

import psycopg
from django.db.backends.postgresql import base

from mirror.core.db.availability import silence, stopped_server
from mirror.core.db.backend.features import DatabaseFeatures
from mirror.core.db.backend.schema import DatabaseSchemaEditor
from mirror.core.db.reading import statements, timeouts
from mirror.core.db.reading.prepared import PreparedStatements


class DatabaseWrapper(base.DatabaseWrapper):
    SchemaEditorClass = DatabaseSchemaEditor
    features_class = DatabaseFeatures
    #: The cursor that `mirror.core.db.reading.sql` reads with, and its statement timeout in seconds.
    reading: tuple[psycopg.Cursor[Any], float] | None = None
    #: The statements that web requests read with, once one has run on the connection of that cursor.
    prepared: PreparedStatements | None = None
    #: The ConnectionLease that has the connection at present; that module knows this one.
    lease: Any = None
    #: The connections to replicas and their primary of the same lease, and the replica that it prefers: see
    #: `mirror.core.db.replicas.reading`.
    sessions: "dict[int, DatabaseWrapper] | None" = None
    preferred: int | None = None
    #: Tells whether to give the server up while it says nothing.
    is_gone: Callable[[], bool] | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.execute_wrappers.append(statements.noted_by_django)

    #: Whether its statements end in time without the watch of `mirror.core.db.availability.silence`.
    is_bounded = False

    def get_new_connection(self, conn_params: dict[str, Any]) -> psycopg.Connection[Any]:
        opened: psycopg.Connection[Any]
        if self.is_bounded:
            opened = super().get_new_connection(conn_params)
            return opened
        silence.check()
        opened = super().get_new_connection(silence.connect_options() | conn_params)
        silence.note(opened)
        return opened

    def init_connection_state(self) -> None:
        if self.is_gone is not None:
            stopped_server.end_if(self.is_gone, self.connection)
        super().init_connection_state()
        if (setting := timeouts.statement()) is not None:
            self.connection.execute(*setting)
            if not self.get_autocommit():
                self.connection.commit()
