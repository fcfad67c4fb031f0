"""The index of entities by public key has the id, too: so it has a key's accounts in the order of pages."""

from typing import Any

from django.db import migrations, models

import mirror.core.db.schema.indexes

_COLUMNS = {
    "entity__public_key_type": "public_key, type",
    "entity__public_key_type_id": "public_key, type, id",
}
_NOTE = """
    INSERT INTO backfill (name, newest, rows, seconds, finished)
    SELECT 'key_index', (SELECT max(newest) FROM backfill), 0, 0, CASE WHEN %s THEN now() END
    ON CONFLICT DO NOTHING"""


def _replace(cursor: Any, old: str, new: str) -> None:
    cursor.execute(
        f"CREATE INDEX IF NOT EXISTS {new} ON entity ({_COLUMNS[new]}) WHERE public_key IS NOT NULL"
    )
    cursor.execute(f"DROP INDEX IF EXISTS {old}")


def replace(apps: Any, schema_editor: Any) -> None:
    """Replace the index of a table without rows; of one with rows a backfill does it during use."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT NOT EXISTS (SELECT FROM entity)")
        (is_empty,) = cursor.fetchone()
        if is_empty:
            _replace(cursor, *_COLUMNS)
        cursor.execute(_NOTE, [is_empty])


def restore(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        _replace(cursor, *reversed(_COLUMNS))
        cursor.execute("DELETE FROM backfill WHERE name = 'key_index'")


class Migration(migrations.Migration):
    dependencies = [("ledger", "0001_initial"), ("mirror", "0001_initial")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(replace, restore)],
            state_operations=[
                migrations.RemoveIndex(model_name="entity", name="entity__public_key_type"),
                migrations.AddIndex(
                    model_name="entity",
                    index=mirror.core.db.schema.indexes.Index(
                        condition=models.Q(("public_key__isnull", False)),
                        fields=["public_key", "type", "id"],
                        name="entity__public_key_type_id",
                    ),
                ),
            ],
        )
    ]
