import django.contrib.postgres.fields
import django.contrib.postgres.fields.ranges
from django.db import migrations, models

import mirror.core.db.schema.fields
import mirror.core.db.schema.indexes
import mirror.core.db.schema.tables

# No CreateModel of the migration, as --fake-initial looks for the tables of those: dumps of the original's
# release 0.145.1 lack these, and the migration of `mirror` makes them there.
_LATER = [
    migrations.CreateModel(
        name="Ledger",
        fields=[
            ("ledger_id", mirror.core.db.schema.fields.BytesField(primary_key=True, serialize=False)),
            ("consensus_timestamp", models.BigIntegerField()),
            ("history_proof_verification_key", mirror.core.db.schema.fields.BytesField()),
            ("node_contributions", models.JSONField()),
        ],
        options={
            "db_table": "ledger",
        },
    ),
    migrations.CreateModel(
        name="RegisteredNode",
        fields=[
            ("admin_key", mirror.core.db.schema.fields.BytesField(null=True)),
            ("created_timestamp", models.BigIntegerField(null=True)),
            ("deleted", models.BooleanField(db_default=False)),
            ("description", models.CharField(max_length=100, null=True)),
            ("service_endpoints", models.JSONField(null=True)),
            ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
            (
                "type",
                django.contrib.postgres.fields.ArrayField(
                    base_field=models.SmallIntegerField(), db_default=[], size=None
                ),
            ),
            ("registered_node_id", models.BigIntegerField(primary_key=True, serialize=False)),
        ],
        options={
            "db_table": "registered_node",
            "indexes": [
                mirror.core.db.schema.indexes.GinIndex(
                    condition=models.Q(("deleted__is", False)), fields=["type"], name="registered_node__type"
                )
            ],
        },
    ),
    migrations.CreateModel(
        name="RegisteredNodeHistory",
        fields=[
            ("admin_key", mirror.core.db.schema.fields.BytesField(null=True)),
            ("created_timestamp", models.BigIntegerField(null=True)),
            ("deleted", models.BooleanField(db_default=False)),
            ("description", models.CharField(max_length=100, null=True)),
            ("service_endpoints", models.JSONField(null=True)),
            ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
            (
                "type",
                django.contrib.postgres.fields.ArrayField(
                    base_field=models.SmallIntegerField(), db_default=[], size=None
                ),
            ),
            (
                "pk",
                models.CompositePrimaryKey(
                    "registered_node_id",
                    "timestamp_range",
                    blank=True,
                    editable=False,
                    primary_key=True,
                    serialize=False,
                ),
            ),
            ("registered_node_id", models.BigIntegerField()),
        ],
        options={
            "verbose_name_plural": "registered node history",
            "db_table": "registered_node_history",
            "indexes": [
                mirror.core.db.schema.indexes.Index(
                    models.F("registered_node_id"),
                    models.F("timestamp_range__startswith"),
                    name="registered_node_history__node_id_lower_timestamp",
                )
            ],
        },
        bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
    ),
]


class Migration(migrations.Migration):
    initial = True
    dependencies = [("ledger", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="AddressBook",
            fields=[
                (
                    "start_consensus_timestamp",
                    mirror.core.db.schema.fields.Int8Field(
                        domain="nanos_timestamp", primary_key=True, serialize=False
                    ),
                ),
                (
                    "end_consensus_timestamp",
                    mirror.core.db.schema.fields.Int8Field(domain="nanos_timestamp", null=True),
                ),
                ("file_id", mirror.core.db.schema.fields.Int8Field(domain="entity_id")),
                ("node_count", models.IntegerField(null=True)),
                ("file_data", mirror.core.db.schema.fields.BytesField()),
            ],
            options={
                "db_table": "address_book",
            },
        ),
        migrations.CreateModel(
            name="AddressBookEntry",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "consensus_timestamp",
                        "node_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("consensus_timestamp", mirror.core.db.schema.fields.Int8Field(domain="nanos_timestamp")),
                ("memo", models.CharField(max_length=128, null=True)),
                ("public_key", models.CharField(max_length=1024, null=True)),
                ("node_id", models.BigIntegerField()),
                ("node_account_id", mirror.core.db.schema.fields.Int8Field(domain="entity_id")),
                ("node_cert_hash", mirror.core.db.schema.fields.BytesField(null=True)),
                ("description", models.CharField(max_length=100, null=True)),
                ("stake", models.BigIntegerField(null=True)),
            ],
            options={
                "verbose_name_plural": "address book entries",
                "db_table": "address_book_entry",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        fields=["consensus_timestamp"], name="address_book_entry__timestamp"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="AddressBookServiceEndpoint",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "consensus_timestamp",
                        "node_id",
                        "ip_address_v4",
                        "domain_name",
                        "port",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("consensus_timestamp", models.BigIntegerField()),
                ("ip_address_v4", models.CharField(db_default="", max_length=15)),
                ("node_id", models.BigIntegerField()),
                ("port", models.IntegerField()),
                ("domain_name", models.CharField(db_default="", max_length=253)),
            ],
            options={
                "db_table": "address_book_service_endpoint",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        fields=["consensus_timestamp", "node_id"],
                        name="address_book_service_endpoint__timestamp_node_id",
                    )
                ],
            },
            bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
        ),
        migrations.CreateModel(
            name="Node",
            fields=[
                ("admin_key", mirror.core.db.schema.fields.BytesField(null=True)),
                ("created_timestamp", models.BigIntegerField(null=True)),
                ("deleted", models.BooleanField(db_default=False)),
                ("node_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
                ("decline_reward", models.BooleanField(db_default=False)),
                ("grpc_proxy_endpoint", models.JSONField(null=True)),
                ("account_id", models.BigIntegerField(null=True)),
                (
                    "associated_registered_nodes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), null=True, size=None
                    ),
                ),
            ],
            options={
                "db_table": "node",
            },
        ),
        migrations.CreateModel(
            name="NodeHistory",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "node_id",
                        "timestamp_range",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("admin_key", mirror.core.db.schema.fields.BytesField(null=True)),
                ("created_timestamp", models.BigIntegerField(null=True)),
                ("deleted", models.BooleanField(db_default=False)),
                ("node_id", models.BigIntegerField()),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
                ("decline_reward", models.BooleanField(db_default=False)),
                ("grpc_proxy_endpoint", models.JSONField(null=True)),
                ("account_id", models.BigIntegerField(null=True)),
                (
                    "associated_registered_nodes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), null=True, size=None
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "node history",
                "db_table": "node_history",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        models.F("node_id"),
                        models.F("timestamp_range__startswith"),
                        name="node_history__node_id_lower_timestamp",
                    )
                ],
            },
            bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
        ),
        migrations.CreateModel(
            name="NetworkStake",
            fields=[
                ("consensus_timestamp", models.BigIntegerField(primary_key=True, serialize=False)),
                ("epoch_day", models.BigIntegerField()),
                ("max_staking_reward_rate_per_hbar", models.BigIntegerField()),
                ("node_reward_fee_denominator", models.BigIntegerField()),
                ("node_reward_fee_numerator", models.BigIntegerField()),
                ("stake_total", models.BigIntegerField()),
                ("staking_period", models.BigIntegerField()),
                ("staking_period_duration", models.BigIntegerField()),
                ("staking_periods_stored", models.BigIntegerField()),
                ("staking_reward_fee_denominator", models.BigIntegerField()),
                ("staking_reward_fee_numerator", models.BigIntegerField()),
                ("staking_reward_rate", models.BigIntegerField()),
                ("staking_start_threshold", models.BigIntegerField()),
                ("max_stake_rewarded", models.BigIntegerField(db_default=0)),
                ("max_total_reward", models.BigIntegerField(db_default=0)),
                ("reserved_staking_rewards", models.BigIntegerField(db_default=0)),
                ("reward_balance_threshold", models.BigIntegerField(db_default=0)),
                ("unreserved_staking_reward_balance", models.BigIntegerField(db_default=0)),
            ],
            options={
                "db_table": "network_stake",
            },
        ),
        migrations.CreateModel(
            name="NodeStake",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "consensus_timestamp",
                        "node_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("consensus_timestamp", models.BigIntegerField()),
                ("epoch_day", models.BigIntegerField()),
                ("node_id", models.BigIntegerField()),
                ("reward_rate", models.BigIntegerField()),
                ("stake", models.BigIntegerField()),
                ("stake_rewarded", models.BigIntegerField()),
                ("staking_period", models.BigIntegerField()),
                ("max_stake", models.BigIntegerField()),
                ("min_stake", models.BigIntegerField()),
                ("stake_not_rewarded", models.BigIntegerField()),
            ],
            options={
                "db_table": "node_stake",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(fields=["epoch_day"], name="node_stake__epoch_day")
                ],
            },
        ),
        migrations.SeparateDatabaseAndState(_LATER, _LATER),
    ]
