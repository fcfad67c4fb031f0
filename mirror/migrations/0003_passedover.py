from django.db import migrations, models


class Migration(migrations.Migration):
    # Of what a database with all tables is taken to have.
    initial = True

    dependencies = [("mirror", "0002_stored_network")]

    operations = [
        migrations.CreateModel(
            name="SkippedTransaction",
            fields=[
                ("consensus_timestamp", models.BigIntegerField(primary_key=True, serialize=False)),
                ("type", models.SmallIntegerField()),
                ("file", models.TextField()),
            ],
            options={"db_table": "skipped_transaction"},
        ),
    ]
