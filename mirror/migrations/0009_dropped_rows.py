from typing import Any

from django.db import migrations, models

from mirror.core.db.schema.operations import CreateModelIfMissing

# Months were dropped before this table was there: what the divided table of transactions begins with.
_BEGINS = """
    select min((regexp_match(pg_get_expr(relpartbound, oid), 'FROM \\(''?(-?[0-9]+)'))[1]::bigint)
    from pg_inherits join pg_class on oid = inhrelid
    where inhparent = to_regclass('transaction')
    having bool_and(pg_get_expr(relpartbound, oid) !~ 'FROM \\(MINVALUE')"""
_NOTE = f"""
    insert into dropped_rows (table_name, before)
    select 'transaction', begins from ({_BEGINS}) t (begins)
    where begins > (select min(consensus_end) from record_file) on conflict do nothing"""
# There is nothing to do where no block is loaded yet.
_LEAVE_RANGES = """
    insert into backfill (name, newest, rows, seconds, finished)
    select 'loaded_ranges', (select max(newest) from backfill), 0, 0,
        case when not exists (select from record_file) then now() end
    on conflict do nothing"""


def note(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(_NOTE)
        cursor.execute(_LEAVE_RANGES)


class Migration(migrations.Migration):
    """The times before which tables have lost rows, and the backfill of what an older release has loaded."""

    atomic = False
    dependencies = [("mirror", "0008_loaded_range"), ("ledger", "0001_initial")]

    operations = [
        CreateModelIfMissing(
            name="DroppedRows",
            fields=[
                ("table_name", models.TextField(primary_key=True, serialize=False)),
                ("before", models.BigIntegerField()),
            ],
            options={"db_table": "dropped_rows"},
        ),
        migrations.RunPython(note, migrations.RunPython.noop),
    ]
