from django.db import migrations, models


class Migration(migrations.Migration):
    # Of what a database with all tables is taken to have.
    initial = True

    dependencies = [
        ("mirror", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="StoredNetwork",
            fields=[
                ("id", models.SmallIntegerField(primary_key=True, serialize=False)),
                ("network", models.TextField()),
            ],
            options={
                "db_table": "stored_network",
            },
        ),
    ]
