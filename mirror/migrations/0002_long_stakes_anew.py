from django.db import migrations


class Migration(migrations.Migration):
    """Value the rewards of long-term stakers once more: release 1.0.0 was wrong by those of one day."""

    dependencies = [("mirror", "0001_initial")]

    operations = [
        migrations.RunSQL(
            """
            UPDATE backfill SET position = NULL, started = NULL, finished = NULL, rows = 0, seconds = 0
            WHERE name = 'long_stakes_rewards' AND EXISTS (SELECT FROM entity_stake)""",
            migrations.RunSQL.noop,
        )
    ]
