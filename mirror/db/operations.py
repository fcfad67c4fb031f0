"""Migration operations that Django lacks."""

from typing import Any

from django.contrib.postgres.operations import CreateExtension
from django.db.migrations.operations.base import Operation


class CreateExtensionIfAllowed(CreateExtension):
    """CREATE EXTENSION if the server has it and the role may create it.

    This is for extensions that only serve the operator, such as pg_stat_statements, which only a superuser
    may create. The extensions that tables need are trusted: the owner of a database may create them.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(
                """
                SELECT 1 FROM pg_available_extension_versions
                WHERE name = %s AND (trusted OR NOT superuser OR current_setting('is_superuser')::boolean)
                """,
                [self.name],
            )
            allowed = cursor.fetchone() is not None
        if allowed:
            super().database_forwards(app_label, schema_editor, from_state, to_state)


class VacuumAfterInserts(Operation):
    """Vacuum tables after a number of inserted rows, however large they are.

    Index-only scans read the table too until vacuum has marked its pages as visible to all. By default it
    waits until a fifth of the table is new, which takes ever longer as a table grows.
    """

    reversible = True

    def __init__(self, thresholds: dict[str, int]) -> None:
        self.thresholds = thresholds

    def state_forwards(self, app_label: str, state: Any) -> None:
        pass

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        for table, rows in self.thresholds.items():
            schema_editor.execute(
                f"ALTER TABLE {schema_editor.quote_name(table)} SET ("
                f"autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = {rows:d})"
            )

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        for table in self.thresholds:
            schema_editor.execute(
                f"ALTER TABLE {schema_editor.quote_name(table)} "
                "RESET (autovacuum_vacuum_insert_scale_factor, autovacuum_vacuum_insert_threshold)"
            )

    def describe(self) -> str:
        return f"Vacuum after inserts into {', '.join(self.thresholds)}"
