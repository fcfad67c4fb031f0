"""An index of the synthetic logs of a token, and what older releases have written otherwise."""

from typing import Any

from django.db import migrations, models

import mirror.core.db.schema.indexes

_INDEX = "contract_log__synthetic_contract_timestamp"
_BACKFILLS = ("synthetic_contract_index", "log_blooms", "child_positions")
# In a table without rows there is nothing to do later, nor to build while it is in use.
_IS_EMPTY = """
    SELECT NOT EXISTS (SELECT FROM contract_log) AND NOT EXISTS (SELECT FROM contract_result),
        (SELECT max(consensus_end) FROM record_file)"""
_NOTE = """
    INSERT INTO backfill (name, newest, rows, seconds, finished)
    VALUES (%s, %s, 0, 0, CASE WHEN %s THEN now() END) ON CONFLICT DO NOTHING"""


def note(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(_IS_EMPTY)
        is_empty, newest = cursor.fetchone()
        if is_empty:
            cursor.execute(
                f"CREATE INDEX IF NOT EXISTS {_INDEX} ON contract_log "
                "(contract_id, consensus_timestamp DESC, index) WHERE synthetic"
            )
        for name in _BACKFILLS:
            cursor.execute(_NOTE, [name, newest, is_empty])


def forget(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX IF EXISTS {_INDEX}")
        cursor.execute("DELETE FROM backfill WHERE name = ANY (%s)", [list(_BACKFILLS)])


class Migration(migrations.Migration):
    dependencies = [("contracts", "0001_initial"), ("ledger", "0001_initial"), ("mirror", "0001_initial")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(note, forget)],
            state_operations=[
                migrations.AddIndex(
                    model_name="contractlog",
                    index=mirror.core.db.schema.indexes.Index(
                        condition=models.Q(("synthetic", True)),
                        fields=["contract_id", "-consensus_timestamp", "index"],
                        name=_INDEX,
                    ),
                ),
            ],
        )
    ]
