"""Migration operations that Django lacks."""

from typing import Any

from django.contrib.postgres.operations import CreateExtension
from django.db.migrations.operations.base import Operation


class CreateExtensionIfAllowed(CreateExtension):
    """CREATE EXTENSION where the server has it and the role may, else nothing.

    For extensions that only serve the operator. Those the tables need are trusted: the owner of a database
    may create them. pg_stat_statements is not, and no node should need a superuser for it.
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
    """Vacuum these tables every so many inserted rows, however large they are.

    Vacuum marks pages as visible to all; without that, scans of an index alone read the table too. By default
    it waits for a fifth of the table to be new, which comes ever later for a table that only grows.
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
