from django.db import migrations

from mirror.core.db.schema.routines import BALANCE_PARTITIONS


class Migration(migrations.Migration):
    """The procedure for months ahead leaves out the tables that may be divided by month from now on."""

    dependencies = [("mirror", "0005_backfill_newest"), ("tokens", "0001_initial")]

    operations = [migrations.RunSQL(BALANCE_PARTITIONS, reverse_sql=migrations.RunSQL.noop)]
