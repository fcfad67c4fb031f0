"""Migration operations that Django lacks."""

from functools import partial
from typing import Any

from django.contrib.postgres.operations import CreateExtension
from django.db import migrations, transaction
from django.db.migrations.operations.base import Operation

from mirror.core.db.schema.locking import change_table

# An adopted database may have the schema of any release up to the newest. So these operations skip what it
# has already. They change the catalogue alone, so a large table takes no longer than a small one. Each is a
# transaction of its own (the migration has atomic = False), so that no table is locked while another is
# waited for. A migration that was interrupted goes on where it stopped.


class CreateModelIfMissing(migrations.CreateModel):
    """CreateModel, unless the database has the table."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        table = to_state.apps.get_model(app_label, self.name)._meta.db_table
        if table not in schema_editor.connection.introspection.table_names():
            with transaction.atomic(using=schema_editor.connection.alias):
                super().database_forwards(app_label, schema_editor, from_state, to_state)
                _finish(schema_editor)


class AddFieldIfMissing(migrations.AddField):
    """AddField, unless the table has the column."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        table = to_state.apps.get_model(app_label, self.model_name)._meta.db_table
        if self.name not in column_types(schema_editor, table):
            add = partial(super().database_forwards, app_label, schema_editor, from_state, to_state)
            change_table(schema_editor.connection, table, add)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        table = from_state.apps.get_model(app_label, self.model_name)._meta.db_table
        if self.name in column_types(schema_editor, table):
            remove = partial(super().database_backwards, app_label, schema_editor, from_state, to_state)
            change_table(schema_editor.connection, table, remove)


class RemoveFieldIfPresent(migrations.RemoveField):
    """RemoveField, unless the table lacks the column."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        table = from_state.apps.get_model(app_label, self.model_name)._meta.db_table
        if self.name in column_types(schema_editor, table):
            remove = partial(super().database_forwards, app_label, schema_editor, from_state, to_state)
            change_table(schema_editor.connection, table, remove)


class ReplaceField(migrations.AlterField):
    """Replace a column by one of another type, unless it has that type. Its values are lost."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        before = from_state.apps.get_model(app_label, self.model_name)
        after = to_state.apps.get_model(app_label, self.model_name)
        table, field = after._meta.db_table, after._meta.get_field(self.name)
        present_type = column_types(schema_editor, table).get(self.name)
        if present_type == field.db_type(schema_editor.connection):
            return

        def replace() -> None:
            if present_type is not None:
                schema_editor.remove_field(before, before._meta.get_field(self.name))
            schema_editor.add_field(after, field)

        change_table(schema_editor.connection, table, replace)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        self.database_forwards(app_label, schema_editor, from_state, to_state)


class AlterDefault(migrations.AlterField):
    """AlterField that changes the default of new rows alone."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        table = to_state.apps.get_model(app_label, self.model_name)._meta.db_table
        alter = partial(super().database_forwards, app_label, schema_editor, from_state, to_state)
        change_table(schema_editor.connection, table, alter)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        self.database_forwards(app_label, schema_editor, from_state, to_state)


class AddIndexIfEmpty(migrations.AddIndex):
    """AddIndex on a table without rows. For a table with rows `manage.py upgrade` builds it during use."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        table = schema_editor.quote_name(to_state.apps.get_model(app_label, self.model_name)._meta.db_table)
        filled = f"SELECT to_regclass(%s) IS NOT NULL OR EXISTS (SELECT 1 FROM {table})"
        if not _is_true(schema_editor, filled, self.index.name):
            super().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        schema_editor.execute(f"DROP INDEX IF EXISTS {schema_editor.quote_name(self.index.name)}")


class AddIndexOrBackfill(AddIndexIfEmpty):
    """AddIndexIfEmpty with the row of the backfill that builds the index on a table with rows."""

    def __init__(self, model_name: str, index: Any, *, backfill: str) -> None:
        super().__init__(model_name, index)
        self.backfill = backfill

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        super().database_forwards(app_label, schema_editor, from_state, to_state)
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO backfill (name, newest, rows, seconds, finished) SELECT %s, "
                "(SELECT max(newest) FROM backfill), 0, 0, "
                "CASE WHEN to_regclass(%s) IS NOT NULL THEN now() END ON CONFLICT DO NOTHING",
                [self.backfill, self.index.name],
            )

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        super().database_backwards(app_label, schema_editor, from_state, to_state)
        with schema_editor.connection.cursor() as cursor:
            cursor.execute("DELETE FROM backfill WHERE name = %s", [self.backfill])


class RenameEnumValue(Operation):
    """ALTER TYPE ... RENAME VALUE, unless the type has the new value."""

    reversible = True

    def __init__(self, enum: str, old: str, new: str) -> None:
        self.enum, self.old, self.new = enum, old, new

    def state_forwards(self, app_label: str, state: Any) -> None:
        pass

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        _rename(schema_editor, self.enum, self.old, self.new)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        _rename(schema_editor, self.enum, self.new, self.old)

    def describe(self) -> str:
        return f"Rename {self.old} of the type {self.enum} to {self.new}"


def _rename(schema_editor: Any, enum: str, old: str, new: str) -> None:
    renamed = "SELECT EXISTS (SELECT FROM pg_enum WHERE enumtypid = to_regtype(%s) AND enumlabel = %s)"
    if not _is_true(schema_editor, renamed, enum, new):
        schema_editor.execute(f"ALTER TYPE {schema_editor.quote_name(enum)} RENAME VALUE '{old}' TO '{new}'")


def _finish(schema_editor: Any) -> None:
    """Run the deferred statements of the migration now, so that a new table gets its indexes with itself."""
    for statement in schema_editor.deferred_sql:
        schema_editor.execute(statement)
    schema_editor.deferred_sql.clear()


def _is_true(schema_editor: Any, statement: str, *values: Any) -> bool:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(statement, values)
        return bool(cursor.fetchone()[0])


def column_types(schema_editor: Any, table: str) -> dict[str, str]:
    """Return the columns of a table, each with its type as PostgreSQL writes it."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
            "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped",
            [schema_editor.quote_name(table)],
        )
        return dict(cursor.fetchall())


class CreateExtensionIfAllowed(CreateExtension):
    """CREATE EXTENSION if the server has it and the role may create it.

    This is for extensions that only serve the operator, such as pg_stat_statements, which only a superuser
    may create. The extensions that tables need are trusted: the owner of a database may create them.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        allowed = """
            SELECT EXISTS (
                SELECT FROM pg_available_extension_versions
                WHERE name = %s AND (trusted OR NOT superuser OR current_setting('is_superuser')::boolean)
            )
        """
        if _is_true(schema_editor, allowed, self.name):
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
