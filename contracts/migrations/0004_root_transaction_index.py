from django.db import migrations

# All rows of an older release are counted anew, also those that it has counted. No block has no rows.
_LEAVE = """
    DELETE FROM backfill WHERE name = 'transaction_index';
    INSERT INTO backfill (name, newest, rows, seconds, finished)
    SELECT 'root_transaction_index', max(consensus_end), 0, 0,
        CASE WHEN max(consensus_end) IS NULL THEN now() END
    FROM record_file ON CONFLICT DO NOTHING"""
_RETURN = "UPDATE backfill SET name = 'transaction_index' WHERE name = 'root_transaction_index'"


class Migration(migrations.Migration):
    """The backfill of transaction indexes, which count transactions that failed their checks, too."""

    atomic = False
    dependencies = [("contracts", "0003_topic_indexes"), ("mirror", "0005_backfill_newest")]

    operations = [migrations.RunSQL(_LEAVE, reverse_sql=_RETURN)]
