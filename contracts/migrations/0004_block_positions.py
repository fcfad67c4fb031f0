from django.db import migrations

# Rows that an older release has counted are counted anew, with the logs that it lacks. No block has no rows.
_LEAVE = """
    DELETE FROM backfill WHERE name = 'transaction_index';
    INSERT INTO backfill (name, newest, rows, seconds, finished)
    SELECT 'block_positions', max(consensus_end), 0, 0, CASE WHEN max(consensus_end) IS NULL THEN now() END
    FROM record_file ON CONFLICT DO NOTHING"""
_RETURN = "UPDATE backfill SET name = 'transaction_index' WHERE name = 'block_positions'"


class Migration(migrations.Migration):
    """The backfill of positions in blocks, which adds missing logs of transfers, too."""

    atomic = False
    dependencies = [("contracts", "0003_topic_indexes"), ("mirror", "0005_backfill_newest")]

    operations = [migrations.RunSQL(_LEAVE, reverse_sql=_RETURN)]
