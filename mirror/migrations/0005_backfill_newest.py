from typing import Any

from django.db import migrations

# Every table that a backfill changes has rows only where one of these has.
_FILLED = """
    SELECT EXISTS (SELECT 1 FROM record_file) OR EXISTS (SELECT 1 FROM transaction)
        OR EXISTS (SELECT 1 FROM entity) OR EXISTS (SELECT 1 FROM contract_log)
        OR EXISTS (SELECT 1 FROM ethereum_transaction)"""
_NEWEST = """
    SELECT greatest((SELECT max(consensus_end) FROM record_file),
        (SELECT max(consensus_timestamp) FROM transaction))"""


def fix_newest(apps: Any, schema_editor: Any) -> None:
    """Let backfills begin at the last row of the older release; an empty database needs none."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(_FILLED)
        (filled,) = cursor.fetchone()
        if filled:
            cursor.execute(_NEWEST)
            (newest,) = cursor.fetchone()
            cursor.execute("UPDATE backfill SET newest = %s WHERE newest IS NULL", [newest or 0])
        else:
            cursor.execute("UPDATE backfill SET finished = now() WHERE finished IS NULL")


class Migration(migrations.Migration):
    """The end of the older release's rows: its loader can't write any more, as columns it needs are gone."""

    atomic = False
    dependencies = [
        ("mirror", "0004_backfill"),
        ("ledger", "0003_release_0_160"),
        ("contracts", "0002_release_0_160"),
        ("network", "0002_release_0_160"),
    ]

    operations = [migrations.RunPython(fix_newest, migrations.RunPython.noop)]
