import django.contrib.postgres.fields
import django.contrib.postgres.fields.ranges
from django.db import migrations, models
from django.db.models.functions import Substr
from django.db.models.lookups import IsNull

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
CREATE TYPE hook_extension_point AS ENUM ('ACCOUNT_ALLOWANCE_HOOK');
CREATE TYPE hook_type AS ENUM ('EVM');
""",
            reverse_sql="""
DROP TYPE hook_extension_point;
DROP TYPE hook_type;
""",
        ),
        migrations.CreateModel(
            name="Contract",
            fields=[
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("file_id", models.BigIntegerField(null=True)),
                ("initcode", mirror.core.db.schema.fields.BytesField(null=True)),
                ("runtime_bytecode", mirror.core.db.schema.fields.BytesField(null=True)),
            ],
            options={
                "db_table": "contract",
            },
        ),
        migrations.CreateModel(
            name="ContractResult",
            fields=[
                ("function_parameters", mirror.core.db.schema.fields.BytesField()),
                ("gas_limit", models.BigIntegerField()),
                ("function_result", mirror.core.db.schema.fields.BytesField(null=True)),
                ("gas_used", models.BigIntegerField(null=True)),
                (
                    "consensus_timestamp",
                    mirror.core.db.schema.fields.Int8Field(
                        domain="nanos_timestamp", primary_key=True, serialize=False
                    ),
                ),
                ("amount", models.BigIntegerField(null=True)),
                ("bloom", mirror.core.db.schema.fields.BytesField(null=True)),
                ("call_result", mirror.core.db.schema.fields.BytesField(null=True)),
                ("contract_id", models.BigIntegerField()),
                (
                    "created_contract_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), null=True, size=None
                    ),
                ),
                ("error_message", models.TextField(null=True)),
                ("payer_account_id", models.BigIntegerField()),
                ("sender_id", models.BigIntegerField(null=True)),
                ("failed_initcode", mirror.core.db.schema.fields.BytesField(null=True)),
                ("transaction_hash", mirror.core.db.schema.fields.BytesField(null=True)),
                ("transaction_index", models.IntegerField(null=True)),
                ("transaction_result", models.SmallIntegerField()),
                ("transaction_nonce", models.IntegerField(db_default=0)),
                ("gas_consumed", models.BigIntegerField(null=True)),
            ],
            options={
                "db_table": "contract_result",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        fields=["contract_id", "sender_id", "consensus_timestamp"],
                        name="contract_result__id_sender_timestamp",
                    ),
                    mirror.core.db.schema.indexes.Index(
                        fields=["contract_id", "consensus_timestamp"], name="contract_result__id_timestamp"
                    ),
                    mirror.core.db.schema.indexes.Index(
                        fields=["sender_id", "consensus_timestamp"], name="contract_result__sender_timestamp"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ContractTransaction",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "consensus_timestamp",
                        "entity_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("consensus_timestamp", models.BigIntegerField()),
                ("entity_id", models.BigIntegerField()),
                (
                    "contract_ids",
                    django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None),
                ),
                ("payer_account_id", models.BigIntegerField()),
            ],
            options={
                "db_table": "contract_transaction",
            },
        ),
        migrations.CreateModel(
            name="ContractTransactionHash",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "hash",
                        "consensus_timestamp",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("consensus_timestamp", models.BigIntegerField()),
                ("hash", mirror.core.db.schema.fields.BytesField()),
                ("payer_account_id", models.BigIntegerField()),
                ("entity_id", models.BigIntegerField()),
                ("transaction_result", models.SmallIntegerField()),
            ],
            options={
                "verbose_name_plural": "contract transaction hashes",
                "db_table": "contract_transaction_hash",
                "indexes": [
                    mirror.core.db.schema.indexes.HashIndex(
                        fields=["hash"], name="contract_transaction_hash__hash"
                    )
                ],
            },
            bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
        ),
        migrations.CreateModel(
            name="ContractLog",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "consensus_timestamp",
                        "index",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("bloom", mirror.core.db.schema.fields.BytesField()),
                ("consensus_timestamp", models.BigIntegerField()),
                ("contract_id", models.BigIntegerField()),
                ("data", mirror.core.db.schema.fields.BytesField()),
                ("index", models.IntegerField()),
                ("topic0", mirror.core.db.schema.fields.BytesField(null=True)),
                ("topic1", mirror.core.db.schema.fields.BytesField(null=True)),
                ("topic2", mirror.core.db.schema.fields.BytesField(null=True)),
                ("topic3", mirror.core.db.schema.fields.BytesField(null=True)),
                ("payer_account_id", models.BigIntegerField()),
                ("root_contract_id", models.BigIntegerField(null=True)),
                ("transaction_hash", mirror.core.db.schema.fields.BytesField(null=True)),
                ("transaction_index", models.IntegerField(null=True)),
                ("synthetic", models.BooleanField(null=True)),
            ],
            options={
                "db_table": "contract_log",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        fields=["contract_id", "-consensus_timestamp", "index"],
                        name="contract_log__contract_id_timestamp_index",
                    ),
                    mirror.core.db.schema.indexes.Index(
                        condition=models.Q(("synthetic", True)),
                        fields=["-consensus_timestamp", "-index"],
                        name="contract_log__synthetic_timestamp",
                    ),
                    mirror.core.db.schema.indexes.Index(
                        Substr("topic0", 1, 8),
                        models.F("consensus_timestamp"),
                        models.F("index"),
                        condition=models.Q(IsNull(Substr("topic0", 1, 8), False)),
                        name="contract_log__topic0_timestamp",
                    ),
                    mirror.core.db.schema.indexes.Index(
                        Substr("topic1", 1, 8),
                        models.F("consensus_timestamp"),
                        models.F("index"),
                        condition=models.Q(IsNull(Substr("topic1", 1, 8), False)),
                        name="contract_log__topic1_timestamp",
                    ),
                    mirror.core.db.schema.indexes.Index(
                        Substr("topic2", 1, 8),
                        models.F("consensus_timestamp"),
                        models.F("index"),
                        condition=models.Q(IsNull(Substr("topic2", 1, 8), False)),
                        name="contract_log__topic2_timestamp",
                    ),
                    mirror.core.db.schema.indexes.Index(
                        Substr("topic3", 1, 8),
                        models.F("consensus_timestamp"),
                        models.F("index"),
                        condition=models.Q(IsNull(Substr("topic3", 1, 8), False)),
                        name="contract_log__topic3_timestamp",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ContractAction",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "consensus_timestamp",
                        "index",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("call_depth", models.IntegerField()),
                ("call_type", models.IntegerField(null=True)),
                ("caller", models.BigIntegerField(null=True)),
                (
                    "caller_type",
                    mirror.core.db.schema.fields.EnumField("entity_type", db_default="CONTRACT", null=True),
                ),
                ("consensus_timestamp", models.BigIntegerField()),
                ("gas", models.BigIntegerField()),
                ("gas_used", models.BigIntegerField()),
                ("index", models.IntegerField()),
                ("input", mirror.core.db.schema.fields.BytesField(null=True)),
                ("recipient_account", models.BigIntegerField(null=True)),
                ("recipient_address", mirror.core.db.schema.fields.BytesField(null=True)),
                ("recipient_contract", models.BigIntegerField(null=True)),
                ("result_data", mirror.core.db.schema.fields.BytesField(null=True)),
                ("result_data_type", models.IntegerField()),
                ("value", models.BigIntegerField()),
                ("call_operation_type", models.IntegerField(null=True)),
                ("payer_account_id", models.BigIntegerField()),
            ],
            options={
                "db_table": "contract_action",
            },
        ),
        migrations.CreateModel(
            name="ContractState",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "contract_id", "slot", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("contract_id", models.BigIntegerField()),
                ("created_timestamp", models.BigIntegerField()),
                ("modified_timestamp", models.BigIntegerField()),
                ("slot", mirror.core.db.schema.fields.BytesField()),
                ("value", mirror.core.db.schema.fields.BytesField(null=True)),
            ],
            options={
                "db_table": "contract_state",
            },
        ),
        migrations.CreateModel(
            name="ContractStateChange",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "consensus_timestamp",
                        "contract_id",
                        "slot",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("consensus_timestamp", models.BigIntegerField()),
                ("contract_id", models.BigIntegerField()),
                ("payer_account_id", models.BigIntegerField()),
                ("slot", mirror.core.db.schema.fields.BytesField()),
                ("value_read", mirror.core.db.schema.fields.BytesField()),
                ("value_written", mirror.core.db.schema.fields.BytesField(null=True)),
                ("migration", models.BooleanField(db_default=False)),
            ],
            options={
                "db_table": "contract_state_change",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        fields=["contract_id", "slot", "consensus_timestamp"],
                        name="contract_state_change__id_slot_timestamp",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="EthereumTransaction",
            fields=[
                ("call_data_id", models.BigIntegerField(null=True)),
                ("call_data", mirror.core.db.schema.fields.BytesField(null=True)),
                ("chain_id", mirror.core.db.schema.fields.BytesField(null=True)),
                ("consensus_timestamp", models.BigIntegerField(primary_key=True, serialize=False)),
                ("data", mirror.core.db.schema.fields.BytesField()),
                ("gas_limit", models.BigIntegerField()),
                ("gas_price", mirror.core.db.schema.fields.BytesField(null=True)),
                ("hash", mirror.core.db.schema.fields.BytesField()),
                ("max_fee_per_gas", mirror.core.db.schema.fields.BytesField(null=True)),
                ("max_gas_allowance", models.BigIntegerField()),
                ("max_priority_fee_per_gas", mirror.core.db.schema.fields.BytesField(null=True)),
                ("nonce", models.BigIntegerField()),
                ("payer_account_id", models.BigIntegerField()),
                ("recovery_id", models.SmallIntegerField(null=True)),
                ("signature_r", mirror.core.db.schema.fields.BytesField()),
                ("signature_s", mirror.core.db.schema.fields.BytesField()),
                ("signature_v", mirror.core.db.schema.fields.BytesField(null=True)),
                ("to_address", mirror.core.db.schema.fields.BytesField(null=True)),
                ("type", models.SmallIntegerField()),
                ("value", mirror.core.db.schema.fields.BytesField(null=True)),
                ("authorization_list", models.JSONField(null=True)),
                ("access_list", models.JSONField(null=True)),
                ("in_weibars", models.BooleanField(db_default=True)),
            ],
            options={
                "db_table": "ethereum_transaction",
            },
        ),
        migrations.CreateModel(
            name="Hook",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner_id", "hook_id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("contract_id", models.BigIntegerField(null=True)),
                ("created_timestamp", models.BigIntegerField(null=True)),
                ("hook_id", models.BigIntegerField()),
                ("owner_id", models.BigIntegerField()),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField(null=True)),
                (
                    "extension_point",
                    mirror.core.db.schema.fields.EnumField(
                        "hook_extension_point", db_default="ACCOUNT_ALLOWANCE_HOOK"
                    ),
                ),
                ("type", mirror.core.db.schema.fields.EnumField("hook_type", db_default="EVM")),
                ("deleted", models.BooleanField(db_default=False)),
                ("admin_key", mirror.core.db.schema.fields.BytesField(null=True)),
            ],
            options={
                "db_table": "hook",
            },
        ),
        migrations.CreateModel(
            name="HookHistory",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner_id",
                        "hook_id",
                        "timestamp_range",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("contract_id", models.BigIntegerField(null=True)),
                ("created_timestamp", models.BigIntegerField(null=True)),
                ("hook_id", models.BigIntegerField()),
                ("owner_id", models.BigIntegerField()),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField(null=True)),
                (
                    "extension_point",
                    mirror.core.db.schema.fields.EnumField(
                        "hook_extension_point", db_default="ACCOUNT_ALLOWANCE_HOOK"
                    ),
                ),
                ("type", mirror.core.db.schema.fields.EnumField("hook_type", db_default="EVM")),
                ("deleted", models.BooleanField(db_default=False)),
                ("admin_key", mirror.core.db.schema.fields.BytesField(null=True)),
            ],
            options={
                "verbose_name_plural": "hook history",
                "db_table": "hook_history",
            },
            bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
        ),
        migrations.CreateModel(
            name="HookStorage",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner_id",
                        "hook_id",
                        "key",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("created_timestamp", models.BigIntegerField()),
                ("hook_id", models.BigIntegerField()),
                ("modified_timestamp", models.BigIntegerField()),
                ("owner_id", models.BigIntegerField()),
                ("key", mirror.core.db.schema.fields.BytesField()),
                ("value", mirror.core.db.schema.fields.BytesField()),
                ("deleted", models.BooleanField(db_default=False)),
            ],
            options={
                "db_table": "hook_storage",
            },
        ),
        migrations.CreateModel(
            name="HookStorageChange",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner_id",
                        "hook_id",
                        "key",
                        "consensus_timestamp",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("consensus_timestamp", models.BigIntegerField()),
                ("hook_id", models.BigIntegerField()),
                ("owner_id", models.BigIntegerField()),
                ("key", mirror.core.db.schema.fields.BytesField()),
                ("value_read", mirror.core.db.schema.fields.BytesField()),
                ("value_written", mirror.core.db.schema.fields.BytesField(null=True)),
                ("deleted", models.BooleanField(db_default=False)),
            ],
            options={
                "db_table": "hook_storage_change",
            },
        ),
        *(
            migrations.RunSQL(
                VACUUM_AFTER_INSERTS.format(table=table, rows=rows), reverse_sql=migrations.RunSQL.noop
            )
            for table, rows in (
                ("contract_result", 180_000),
                ("contract_log", 540_000),
                ("contract_action", 2_160_000),
                ("contract_state_change", 1_800_000),
            )
        ),
        migrations.RunSQL(
            "ALTER TABLE ethereum_transaction SET (autovacuum_vacuum_insert_scale_factor = 0.1)",
            reverse_sql=migrations.RunSQL.noop,
        ),
    ]
