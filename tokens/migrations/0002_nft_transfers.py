"""Older releases have not listed the serials that a change of treasury, or the end of a token, moved."""

from typing import Any

from django.db import migrations

_NOTE = """
    INSERT INTO backfill (name, newest, rows, seconds, finished)
    SELECT 'nft_transfers', max(consensus_end), 0, 0,
        CASE WHEN max(consensus_end) IS NULL THEN now() END
    FROM record_file ON CONFLICT DO NOTHING"""


def note(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(_NOTE)


def forget(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("DELETE FROM backfill WHERE name = 'nft_transfers'")


class Migration(migrations.Migration):
    dependencies = [("tokens", "0001_initial"), ("ledger", "0001_initial"), ("mirror", "0001_initial")]

    operations = [migrations.RunPython(note, forget)]
