from typing import Any

import django.contrib.postgres.fields
from django.db import migrations, models

# Indexes that the original lacks. In a dump with rows a backfill builds each while its table is in use.
_INDEXES = {
    "contract_log__synthetic_timestamp": "synthetic_index",
    "contract_log__topic0_timestamp": "topic0_index",
    "contract_log__topic1_timestamp": "topic1_index",
    "contract_log__topic2_timestamp": "topic2_index",
    "contract_log__topic3_timestamp": "topic3_index",
    "entity__balance": "balance_index",
    "account_balance__balance_account": "past_balance_index",
    "token_account__token_balance_account": "holdings_index",
    "token_balance__token_balance_account": "past_holdings_index",
    "token__type_id": "token_type_index",
    "token__symbol": "token_symbol_index",
    "token_airdrop__pending_of_sender": "sent_airdrops_index",
    "token_airdrop__pending_of_receiver": "received_airdrops_index",
    "schedule__creator_schedule": "schedule_index",
    "transaction__failed": "failed_index",
    "transaction__failed_type": "failed_type_index",
    "crypto_transfer__credit": "credit_index",
    "crypto_transfer__debit_of_others": "debit_index",
    "token_transfer__debit_of_others": "token_debit_index",
    "entity_transaction__consensus_timestamp": "entity_transaction_index",
}
# From its schema 1.125 on the original computes these itself, and doing it twice would be wrong.
_DONE_AT_1_125 = ("contract_allowances", "duplicate_logs", "gone_nodes_rewards", "long_stakes_rewards")
_OF_BLOCKS = ("block_positions", "loaded_ranges")
_OTHERS = ("block_times", "ethereum_weibars", "message_hashes", "synthetic_logs")

_APPS = ("ledger", "contracts", "tokens", "network")
_COLUMNS = """
    SELECT relname, attname, format_type(atttypid, atttypmod)
    FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
    WHERE pg_table_is_visible(pg_class.oid) AND attnum > 0 AND NOT attisdropped"""
# The rows of a dump keep in_weibars = false, without being written; those that follow have true.
_CHANGES = """
    ALTER TABLE record_file DROP COLUMN IF EXISTS node_id;
    ALTER TABLE account_balance_file DROP COLUMN IF EXISTS node_id;
    ALTER TABLE ethereum_transaction ADD COLUMN IF NOT EXISTS in_weibars boolean NOT NULL DEFAULT false;
    ALTER TABLE ethereum_transaction ALTER in_weibars SET DEFAULT true;
    DO $$ BEGIN
        IF 'LAMBDA' = ANY (enum_range(NULL::hook_type)::text[]) THEN
            ALTER TYPE hook_type RENAME VALUE 'LAMBDA' TO 'EVM';
        END IF;
    END $$"""
_DROP_BYTES = "ALTER TABLE ethereum_transaction DROP COLUMN access_list"
# Every table that a backfill changes has rows only where one of these has.
_FILLED = """
    SELECT EXISTS (SELECT FROM record_file), EXISTS (SELECT FROM transaction) OR EXISTS (SELECT FROM entity)
        OR EXISTS (SELECT FROM contract_log) OR EXISTS (SELECT FROM ethereum_transaction),
        coalesce(greatest((SELECT max(consensus_end) FROM record_file),
            (SELECT max(consensus_timestamp) FROM transaction)), 0)"""
_NOTE = """
    INSERT INTO backfill (name, newest, rows, seconds, finished)
    VALUES (%s, %s, 0, 0, CASE WHEN %s THEN now() END)"""


def adopt(apps: Any, schema_editor: Any) -> None:
    """Give a dump of the original (its releases 0.145.1 to 0.160) the tables, columns and indexes it lacks.

    This changes the catalogue alone. A row for each backfill says whether rows are to be changed, too. The
    tables of a new database lack nothing, and its backfills are finished.
    """
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(_COLUMNS)
        columns: dict[str, dict[str, str]] = {}
        for table, column, kind in cursor.fetchall():
            columns.setdefault(table, {})[column] = kind
        is_newest = "receipts_root" in columns["record_file"]
        cursor.execute(_CHANGES)
        if columns["ethereum_transaction"]["access_list"] == "bytea":
            cursor.execute(_DROP_BYTES)
            del columns["ethereum_transaction"]["access_list"]
        columns["ethereum_transaction"]["in_weibars"] = "boolean"
        missing = _add(apps, schema_editor, cursor, columns)
        cursor.execute(_FILLED)
        has_blocks, has_others, newest = cursor.fetchone()
        is_filled = has_blocks or has_others
        done = {*(_INDEXES.keys() - missing), *(_DONE_AT_1_125 if is_newest else ())}
        for key in (*_INDEXES, *_DONE_AT_1_125, *_OF_BLOCKS, *_OTHERS):
            is_done = key in done or not is_filled or (key in _OF_BLOCKS and not has_blocks)
            cursor.execute(_NOTE, [_INDEXES.get(key, key), newest if is_filled else None, is_done])


def _add(apps: Any, schema_editor: Any, cursor: Any, columns: dict[str, dict[str, str]]) -> set[str]:
    """Add missing tables and columns, and indexes of empty tables; return the indexes that stay missing."""
    missing = set()
    for model in apps.get_models():
        if model._meta.app_label not in _APPS:
            continue
        table = model._meta.db_table
        if table not in columns:
            schema_editor.create_model(model)
            continue
        for field in model._meta.local_concrete_fields:
            if field.column not in columns[table]:
                schema_editor.add_field(model, field)
        for index in model._meta.indexes:
            if index.name in _INDEXES:
                cursor.execute(
                    f"SELECT to_regclass(%s) IS NOT NULL, EXISTS (SELECT FROM {table})", [index.name]
                )
                match cursor.fetchone():
                    case (False, True):
                        missing.add(index.name)
                    case (False, False):
                        schema_editor.add_index(model, index)
    return missing


class Migration(migrations.Migration):
    """Tables about the node, and what a dump of the original lacks."""

    initial = True
    dependencies = [
        ("ledger", "0001_initial"),
        ("contracts", "0001_initial"),
        ("tokens", "0001_initial"),
        ("network", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="LoaderState",
            fields=[
                ("id", models.SmallIntegerField(primary_key=True, serialize=False)),
                (
                    "activity",
                    models.CharField(
                        choices=[
                            ("starting", "Starting"),
                            ("loading", "Loading"),
                            ("waiting", "Waiting"),
                            ("stuck", "Stuck"),
                            ("stopped", "Stopped"),
                            ("failed", "Failed"),
                        ],
                        max_length=10,
                    ),
                ),
                ("source", models.TextField()),
                ("following", models.BooleanField()),
                ("process", models.IntegerField()),
                ("host", models.TextField()),
                ("started", models.DateTimeField()),
                ("reported", models.DateTimeField()),
                ("files", models.BigIntegerField(default=0)),
                ("transactions", models.BigIntegerField(default=0)),
                ("transaction_rate", models.FloatField(null=True)),
                ("stream_rate", models.FloatField(null=True)),
                ("newest", models.BigIntegerField(null=True)),
                ("problem", models.JSONField(null=True)),
                ("block_source", models.JSONField(null=True)),
                ("incidents", models.JSONField(null=True)),
            ],
            options={
                "db_table": "loader_state",
            },
        ),
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
        migrations.CreateModel(
            name="SkippedTransaction",
            fields=[
                ("consensus_timestamp", models.BigIntegerField(primary_key=True, serialize=False)),
                ("type", models.SmallIntegerField()),
                ("file", models.TextField()),
            ],
            options={
                "db_table": "skipped_transaction",
            },
        ),
        migrations.CreateModel(
            name="Backfill",
            fields=[
                ("name", models.TextField(primary_key=True, serialize=False)),
                ("newest", models.BigIntegerField(null=True)),
                ("oldest", models.BigIntegerField(null=True)),
                ("position", models.BigIntegerField(null=True)),
                ("rows", models.BigIntegerField(default=0)),
                ("seconds", models.FloatField(default=0)),
                ("started", models.DateTimeField(null=True)),
                ("finished", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "backfill",
            },
        ),
        migrations.CreateModel(
            name="NodeMinute",
            fields=[
                ("minute", models.DateTimeField(primary_key=True, serialize=False)),
                ("requests", models.BigIntegerField()),
                ("failures", models.BigIntegerField()),
                ("refused", models.BigIntegerField()),
                ("p50_milliseconds", models.FloatField(null=True)),
                ("p99_milliseconds", models.FloatField(null=True)),
                ("lag_seconds", models.FloatField(null=True)),
                ("transactions", models.BigIntegerField()),
            ],
            options={
                "db_table": "node_minute",
            },
        ),
        migrations.CreateModel(
            name="LoadedRange",
            fields=[
                ("consensus_start", models.BigIntegerField(primary_key=True, serialize=False)),
                ("consensus_end", models.BigIntegerField()),
                ("first_block", models.BigIntegerField()),
                ("last_block", models.BigIntegerField()),
                ("files", models.BigIntegerField()),
                ("transactions", models.BigIntegerField()),
                ("signed", models.BooleanField(null=True)),
                ("filters", models.JSONField(null=True)),
                (
                    "rests_on",
                    models.CharField(
                        choices=[
                            ("genesis", "Genesis"),
                            ("range", "Range"),
                            ("balances", "Balances"),
                            ("nothing", "Nothing"),
                            ("unknown", "Unknown"),
                        ],
                        max_length=10,
                    ),
                ),
                ("basis", models.TextField(blank=True, default="")),
            ],
            options={
                "db_table": "loaded_range",
            },
        ),
        migrations.CreateModel(
            name="DroppedRows",
            fields=[
                ("table_name", models.TextField(primary_key=True, serialize=False)),
                ("before", models.BigIntegerField()),
            ],
            options={
                "db_table": "dropped_rows",
            },
        ),
        migrations.CreateModel(
            name="LoadedErrata",
            fields=[
                ("part", models.TextField(primary_key=True, serialize=False)),
                ("known", models.BigIntegerField(null=True)),
                (
                    "applied",
                    django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None),
                ),
                ("changed", models.DateTimeField()),
            ],
            options={
                "db_table": "loaded_errata",
            },
        ),
        migrations.CreateModel(
            name="ArchiveFailure",
            fields=[
                ("consensus_end", models.BigIntegerField(primary_key=True, serialize=False)),
                ("name", models.TextField()),
                ("since", models.DateTimeField()),
                ("reason", models.TextField()),
            ],
            options={
                "db_table": "archive_failure",
            },
        ),
        migrations.CreateModel(
            name="ArchiveLocation",
            fields=[
                ("location", models.TextField(primary_key=True, serialize=False)),
                ("since", models.DateTimeField()),
            ],
            options={
                "db_table": "archive_location",
            },
        ),
        migrations.RunPython(adopt, migrations.RunPython.noop),
    ]
