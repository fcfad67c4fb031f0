import django.contrib.postgres.fields
import django.contrib.postgres.fields.ranges
from django.contrib.postgres.operations import BtreeGistExtension, TrigramExtension
from django.db import migrations, models

import mirror.core.db.schema.fields
import mirror.core.db.schema.indexes
import mirror.core.db.schema.tables

# Index-only scans read the table, too, until a vacuum has marked its pages as visible to all. By default it
# waits until a fifth of the table is new, which takes ever longer as a table grows.
VACUUM_AFTER_INSERTS = """
    ALTER TABLE {table} SET (
        autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = {rows}
    )"""


class Migration(migrations.Migration):
    initial = True
    dependencies = [("ledger", "0001_initial")]

    operations = [
        migrations.RunSQL(
            """
CREATE TYPE airdrop_state AS ENUM ('CANCELLED', 'CLAIMED', 'PENDING');
CREATE TYPE token_pause_status AS ENUM ('NOT_APPLICABLE', 'PAUSED', 'UNPAUSED');
CREATE TYPE token_supply_type AS ENUM ('INFINITE', 'FINITE');
CREATE TYPE token_type AS ENUM ('FUNGIBLE_COMMON', 'NON_FUNGIBLE_UNIQUE');
""",
            reverse_sql="""
DROP TYPE airdrop_state;
DROP TYPE token_pause_status;
DROP TYPE token_supply_type;
DROP TYPE token_type;
""",
        ),
        BtreeGistExtension(),
        TrigramExtension(),
        migrations.CreateModel(
            name="Token",
            fields=[
                (
                    "token_id",
                    mirror.core.db.schema.fields.Int8Field(
                        domain="entity_id", primary_key=True, serialize=False
                    ),
                ),
                ("created_timestamp", models.BigIntegerField()),
                ("decimals", models.BigIntegerField()),
                ("freeze_default", models.BooleanField(db_default=False)),
                ("freeze_key", mirror.core.db.schema.fields.BytesField(null=True)),
                ("initial_supply", models.BigIntegerField()),
                ("kyc_key", mirror.core.db.schema.fields.BytesField(null=True)),
                ("name", models.CharField(max_length=100)),
                ("supply_key", mirror.core.db.schema.fields.BytesField(null=True)),
                ("symbol", models.CharField(max_length=100)),
                ("total_supply", models.BigIntegerField(db_default=0)),
                ("treasury_account_id", mirror.core.db.schema.fields.Int8Field(domain="entity_id")),
                ("wipe_key", mirror.core.db.schema.fields.BytesField(null=True)),
                ("max_supply", models.BigIntegerField(db_default=9223372036854775807)),
                (
                    "supply_type",
                    mirror.core.db.schema.fields.EnumField("token_supply_type", db_default="INFINITE"),
                ),
                ("type", mirror.core.db.schema.fields.EnumField("token_type", db_default="FUNGIBLE_COMMON")),
                ("fee_schedule_key", mirror.core.db.schema.fields.BytesField(null=True)),
                ("pause_key", mirror.core.db.schema.fields.BytesField(null=True)),
                (
                    "pause_status",
                    mirror.core.db.schema.fields.EnumField("token_pause_status", db_default="NOT_APPLICABLE"),
                ),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
                ("freeze_status", models.SmallIntegerField()),
                ("kyc_status", models.SmallIntegerField()),
                ("metadata", mirror.core.db.schema.fields.BytesField(null=True)),
                ("metadata_key", mirror.core.db.schema.fields.BytesField(null=True)),
            ],
            options={
                "db_table": "token",
                "indexes": [
                    mirror.core.db.schema.indexes.GinIndex(
                        fields=["name"], name="token__name", opclasses=["gin_trgm_ops"]
                    ),
                    mirror.core.db.schema.indexes.Index(fields=["type", "token_id"], name="token__type_id"),
                    mirror.core.db.schema.indexes.Index(fields=["symbol", "token_id"], name="token__symbol"),
                ],
            },
        ),
        migrations.CreateModel(
            name="TokenHistory",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "token_id",
                        "timestamp_range",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("token_id", mirror.core.db.schema.fields.Int8Field(domain="entity_id")),
                ("created_timestamp", models.BigIntegerField()),
                ("decimals", models.BigIntegerField()),
                ("freeze_default", models.BooleanField(db_default=False)),
                ("freeze_key", mirror.core.db.schema.fields.BytesField(null=True)),
                ("initial_supply", models.BigIntegerField()),
                ("kyc_key", mirror.core.db.schema.fields.BytesField(null=True)),
                ("name", models.CharField(max_length=100)),
                ("supply_key", mirror.core.db.schema.fields.BytesField(null=True)),
                ("symbol", models.CharField(max_length=100)),
                ("total_supply", models.BigIntegerField(db_default=0)),
                ("treasury_account_id", mirror.core.db.schema.fields.Int8Field(domain="entity_id")),
                ("wipe_key", mirror.core.db.schema.fields.BytesField(null=True)),
                ("max_supply", models.BigIntegerField(db_default=9223372036854775807)),
                (
                    "supply_type",
                    mirror.core.db.schema.fields.EnumField("token_supply_type", db_default="INFINITE"),
                ),
                ("type", mirror.core.db.schema.fields.EnumField("token_type", db_default="FUNGIBLE_COMMON")),
                ("fee_schedule_key", mirror.core.db.schema.fields.BytesField(null=True)),
                ("pause_key", mirror.core.db.schema.fields.BytesField(null=True)),
                (
                    "pause_status",
                    mirror.core.db.schema.fields.EnumField("token_pause_status", db_default="NOT_APPLICABLE"),
                ),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
                ("freeze_status", models.SmallIntegerField()),
                ("kyc_status", models.SmallIntegerField()),
                ("metadata", mirror.core.db.schema.fields.BytesField(null=True)),
                ("metadata_key", mirror.core.db.schema.fields.BytesField(null=True)),
            ],
            options={
                "verbose_name_plural": "token history",
                "db_table": "token_history",
                "indexes": [
                    mirror.core.db.schema.indexes.GistIndex(
                        fields=["timestamp_range"], name="token_history__timestamp_range"
                    ),
                    mirror.core.db.schema.indexes.Index(
                        models.F("token_id"),
                        models.F("timestamp_range__startswith"),
                        name="token_history__token_id_timestamp_range",
                    ),
                ],
            },
            bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
        ),
        migrations.CreateModel(
            name="TokenAccount",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "token_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("account_id", models.BigIntegerField()),
                ("associated", models.BooleanField(db_default=False)),
                ("automatic_association", models.BooleanField(null=True)),
                ("created_timestamp", models.BigIntegerField(null=True)),
                ("freeze_status", models.SmallIntegerField(null=True)),
                ("kyc_status", models.SmallIntegerField(null=True)),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
                ("token_id", models.BigIntegerField()),
                ("balance", models.BigIntegerField(db_default=0)),
                ("balance_timestamp", models.BigIntegerField(null=True)),
            ],
            options={
                "db_table": "token_account",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        fields=["token_id", "account_id"], name="token_account__token_id_account_id"
                    ),
                    mirror.core.db.schema.indexes.Index(
                        fields=["token_id", "balance", "account_id"],
                        name="token_account__token_balance_account",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TokenAccountHistory",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "token_id",
                        "timestamp_range",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("account_id", models.BigIntegerField()),
                ("associated", models.BooleanField(db_default=False)),
                ("automatic_association", models.BooleanField(null=True)),
                ("created_timestamp", models.BigIntegerField(null=True)),
                ("freeze_status", models.SmallIntegerField(null=True)),
                ("kyc_status", models.SmallIntegerField(null=True)),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
                ("token_id", models.BigIntegerField()),
                ("balance", models.BigIntegerField(db_default=0)),
                ("balance_timestamp", models.BigIntegerField(null=True)),
            ],
            options={
                "verbose_name_plural": "token account history",
                "db_table": "token_account_history",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        models.F("account_id"),
                        models.F("token_id"),
                        models.F("timestamp_range__startswith"),
                        name="token_account_history__account_token_lower_timestamp",
                    ),
                    mirror.core.db.schema.indexes.GistIndex(
                        fields=["timestamp_range"], name="token_account_history__timestamp_range"
                    ),
                ],
            },
            bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
        ),
        migrations.CreateModel(
            name="Nft",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "token_id",
                        "serial_number",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("account_id", models.BigIntegerField(null=True)),
                ("created_timestamp", models.BigIntegerField(null=True)),
                ("deleted", models.BooleanField(db_default=False, null=True)),
                ("metadata", mirror.core.db.schema.fields.BytesField(null=True)),
                ("serial_number", models.BigIntegerField()),
                ("token_id", models.BigIntegerField()),
                ("delegating_spender", models.BigIntegerField(null=True)),
                ("spender", models.BigIntegerField(null=True)),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
            ],
            options={
                "db_table": "nft",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        fields=["account_id", "token_id", "serial_number"],
                        name="nft__account_token_serialnumber",
                    ),
                    mirror.core.db.schema.indexes.Index(
                        condition=models.Q(("account_id__isnull", False), ("spender__isnull", False)),
                        fields=["account_id", "spender", "token_id", "serial_number"],
                        name="nft__allowance",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="NftHistory",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "token_id",
                        "serial_number",
                        "timestamp_range",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("account_id", models.BigIntegerField(null=True)),
                ("created_timestamp", models.BigIntegerField(null=True)),
                ("deleted", models.BooleanField(db_default=False, null=True)),
                ("metadata", mirror.core.db.schema.fields.BytesField(null=True)),
                ("serial_number", models.BigIntegerField()),
                ("token_id", models.BigIntegerField()),
                ("delegating_spender", models.BigIntegerField(null=True)),
                ("spender", models.BigIntegerField(null=True)),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
            ],
            options={
                "verbose_name_plural": "nft history",
                "db_table": "nft_history",
                "indexes": [
                    mirror.core.db.schema.indexes.GistIndex(
                        fields=["account_id", "timestamp_range"], name="nft_history__account_timestamp_range"
                    ),
                    mirror.core.db.schema.indexes.Index(
                        models.F("token_id"),
                        models.F("serial_number"),
                        models.F("timestamp_range__startswith"),
                        name="nft_history__token_serial_lower_timestamp",
                    ),
                ],
            },
            bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
        ),
        migrations.CreateModel(
            name="TokenTransfer",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "consensus_timestamp",
                        "token_id",
                        "account_id",
                        "amount",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("token_id", mirror.core.db.schema.fields.Int8Field(domain="entity_id")),
                ("account_id", mirror.core.db.schema.fields.Int8Field(domain="entity_id")),
                ("consensus_timestamp", models.BigIntegerField()),
                ("amount", mirror.core.db.schema.fields.Int8Field(domain="hbar_tinybars")),
                ("payer_account_id", models.BigIntegerField()),
                ("is_approval", models.BooleanField(null=True)),
            ],
            options={
                "db_table": "token_transfer",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        fields=["account_id", "-consensus_timestamp"],
                        name="token_transfer__account_timestamp",
                    ),
                    mirror.core.db.schema.indexes.Index(
                        fields=["-consensus_timestamp", "-token_id", "-account_id"],
                        name="token_transfer__token_account_timestamp",
                    ),
                    mirror.core.db.schema.indexes.Index(
                        condition=models.Q(
                            ("amount__lt", 0), ("account_id__ne", models.F("payer_account_id"))
                        ),
                        fields=["account_id", "consensus_timestamp"],
                        name="token_transfer__debit_of_others",
                    ),
                ],
            },
            bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
        ),
        migrations.CreateModel(
            name="AssessedCustomFee",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "consensus_timestamp",
                        "collector_account_id",
                        "amount",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("amount", models.BigIntegerField()),
                ("collector_account_id", models.BigIntegerField()),
                ("consensus_timestamp", models.BigIntegerField()),
                ("token_id", models.BigIntegerField(null=True)),
                (
                    "effective_payer_account_ids",
                    django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None),
                ),
                ("payer_account_id", models.BigIntegerField()),
            ],
            options={
                "db_table": "assessed_custom_fee",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        fields=["consensus_timestamp"], name="assessed_custom_fee__consensus_timestamp"
                    )
                ],
            },
            bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
        ),
        migrations.CreateModel(
            name="TokenBalance",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "token_id",
                        "consensus_timestamp",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("consensus_timestamp", models.BigIntegerField()),
                ("account_id", mirror.core.db.schema.fields.Int8Field(domain="entity_id")),
                ("balance", models.BigIntegerField()),
                ("token_id", mirror.core.db.schema.fields.Int8Field(domain="entity_id")),
            ],
            options={
                "db_table": "token_balance",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        fields=["token_id", "account_id", "consensus_timestamp"],
                        name="token_balance__token_account_timestamp",
                    ),
                    mirror.core.db.schema.indexes.Index(
                        fields=["token_id", "balance", "account_id"],
                        name="token_balance__token_balance_account",
                    ),
                ],
            },
            bases=(mirror.core.db.schema.tables.MonthlyPartitions, models.Model),
        ),
        migrations.CreateModel(
            name="TokenAllowance",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner",
                        "spender",
                        "token_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("amount_granted", models.BigIntegerField()),
                ("owner", models.BigIntegerField()),
                ("payer_account_id", models.BigIntegerField()),
                ("spender", models.BigIntegerField()),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
                ("token_id", models.BigIntegerField()),
                ("amount", models.BigIntegerField(db_default=0)),
            ],
            options={
                "db_table": "token_allowance",
            },
        ),
        migrations.CreateModel(
            name="TokenAllowanceHistory",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner",
                        "spender",
                        "token_id",
                        "timestamp_range",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("amount_granted", models.BigIntegerField()),
                ("owner", models.BigIntegerField()),
                ("payer_account_id", models.BigIntegerField()),
                ("spender", models.BigIntegerField()),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
                ("token_id", models.BigIntegerField()),
                ("amount", models.BigIntegerField(db_default=0)),
            ],
            options={
                "verbose_name_plural": "token allowance history",
                "db_table": "token_allowance_history",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        models.F("owner"),
                        models.F("spender"),
                        models.F("token_id"),
                        models.F("timestamp_range__startswith"),
                        name="token_allowance_history__owner_spender_token_lower_timestamp",
                    ),
                    mirror.core.db.schema.indexes.GistIndex(
                        fields=["timestamp_range"], name="token_allowance_history__timestamp_range"
                    ),
                ],
            },
            bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
        ),
        migrations.CreateModel(
            name="NftAllowance",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner",
                        "spender",
                        "token_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("approved_for_all", models.BooleanField()),
                ("owner", models.BigIntegerField()),
                ("payer_account_id", models.BigIntegerField()),
                ("spender", models.BigIntegerField()),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
                ("token_id", models.BigIntegerField()),
            ],
            options={
                "db_table": "nft_allowance",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        fields=["spender", "owner", "token_id"], name="nft_allowance__spender_owner_token"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="NftAllowanceHistory",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner",
                        "spender",
                        "token_id",
                        "timestamp_range",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("approved_for_all", models.BooleanField()),
                ("owner", models.BigIntegerField()),
                ("payer_account_id", models.BigIntegerField()),
                ("spender", models.BigIntegerField()),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
                ("token_id", models.BigIntegerField()),
            ],
            options={
                "verbose_name_plural": "nft allowance history",
                "db_table": "nft_allowance_history",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        models.F("owner"),
                        models.F("spender"),
                        models.F("token_id"),
                        models.F("timestamp_range__startswith"),
                        name="nft_allowance_history__owner_spender_token_lower_timestamp",
                    ),
                    mirror.core.db.schema.indexes.GistIndex(
                        fields=["timestamp_range"], name="nft_allowance_history__timestamp_range"
                    ),
                ],
            },
            bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
        ),
        migrations.CreateModel(
            name="TokenAirdrop",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "sender_account_id",
                        "receiver_account_id",
                        "token_id",
                        "serial_number",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("amount", models.BigIntegerField(null=True)),
                ("receiver_account_id", models.BigIntegerField()),
                ("sender_account_id", models.BigIntegerField()),
                ("serial_number", models.BigIntegerField()),
                ("state", mirror.core.db.schema.fields.EnumField("airdrop_state", db_default="PENDING")),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
                ("token_id", models.BigIntegerField()),
            ],
            options={
                "db_table": "token_airdrop",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        fields=["receiver_account_id", "sender_account_id", "token_id", "serial_number"],
                        name="token_airdrop__receiver_id",
                    ),
                    mirror.core.db.schema.indexes.Index(
                        condition=models.Q(("state", "PENDING")),
                        fields=["sender_account_id", "receiver_account_id", "token_id", "serial_number"],
                        name="token_airdrop__pending_of_sender",
                    ),
                    mirror.core.db.schema.indexes.Index(
                        condition=models.Q(("state", "PENDING")),
                        fields=["receiver_account_id", "sender_account_id", "token_id", "serial_number"],
                        name="token_airdrop__pending_of_receiver",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("sender_account_id"),
                        models.F("receiver_account_id"),
                        models.F("token_id"),
                        models.F("serial_number"),
                        name="token_airdrop__sender_id",
                    )
                ],
            },
            bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
        ),
        migrations.CreateModel(
            name="TokenAirdropHistory",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "sender_account_id",
                        "receiver_account_id",
                        "token_id",
                        "serial_number",
                        "timestamp_range",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("amount", models.BigIntegerField(null=True)),
                ("receiver_account_id", models.BigIntegerField()),
                ("sender_account_id", models.BigIntegerField()),
                ("serial_number", models.BigIntegerField()),
                ("state", mirror.core.db.schema.fields.EnumField("airdrop_state", db_default="PENDING")),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
                ("token_id", models.BigIntegerField()),
            ],
            options={
                "verbose_name_plural": "token airdrop history",
                "db_table": "token_airdrop_history",
                "indexes": [
                    mirror.core.db.schema.indexes.GistIndex(
                        fields=["timestamp_range"], name="token_airdrop_history__timestamp_range"
                    )
                ],
            },
            bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
        ),
        *(
            migrations.RunSQL(
                VACUUM_AFTER_INSERTS.format(table=table, rows=rows), reverse_sql=migrations.RunSQL.noop
            )
            for table, rows in (("token_transfer", 12_000_000),)
        ),
        migrations.RunSQL(
            "CALL create_time_partition_for_table('token_balance')", reverse_sql=migrations.RunSQL.noop
        ),
    ]
