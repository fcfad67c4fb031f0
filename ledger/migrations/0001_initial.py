import django.contrib.postgres.fields
import django.contrib.postgres.fields.ranges
from django.db import migrations, models

import mirror.core.db.schema.fields
import mirror.core.db.schema.indexes
import mirror.core.db.schema.tables

# No CreateModel of the migration, as --fake-initial looks for the tables of those: the original lacks this
# table, and the migration of `mirror` makes it in its dumps.
_LATER = [
    migrations.CreateModel(
        name="BalanceDifference",
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "consensus_timestamp",
                    "account_id",
                    "token_id",
                    blank=True,
                    editable=False,
                    primary_key=True,
                    serialize=False,
                ),
            ),
            ("consensus_timestamp", models.BigIntegerField()),
            ("account_id", models.BigIntegerField()),
            ("token_id", models.BigIntegerField()),
            ("ours", models.BigIntegerField()),
            ("theirs", models.BigIntegerField()),
            ("file", models.TextField()),
        ],
        options={
            "db_table": "balance_difference",
        },
    ),
]
# Index-only scans read the table, too, until a vacuum has marked its pages as visible to all. By default it
# waits until a fifth of the table is new, which takes ever longer as a table grows.
VACUUM_AFTER_INSERTS = """
    ALTER TABLE {table} SET (
        autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = {rows}
    )"""
TIME_PARTITIONS = """
-- The partitions of tables divided by time; from_timestamp is in the partition, to_timestamp is not (ns).
CREATE VIEW mirror_node_time_partitions AS
SELECT
    child.relname AS name,
    parent.relname AS parent,
    substring(bounds FROM $$FROM \\('?(-?\\d+)$$)::bigint AS from_timestamp,
    substring(bounds FROM $$TO \\('?(-?\\d+)$$)::bigint AS to_timestamp
FROM pg_partitioned_table divided
JOIN pg_class parent ON parent.oid = divided.partrelid
JOIN pg_inherits ON pg_inherits.inhparent = parent.oid
JOIN pg_class child ON child.oid = pg_inherits.inhrelid
CROSS JOIN LATERAL pg_get_expr(child.relpartbound, child.oid) bounds
WHERE divided.partstrat = 'r' AND pg_table_is_visible(parent.oid)
ORDER BY parent.relname, from_timestamp;

-- One partition per calendar month (UTC), from the end of the last one until a year from now.
CREATE PROCEDURE create_time_partition_for_table(target regclass) LANGUAGE plpgsql AS $$
DECLARE
    final_month CONSTANT timestamp := date_trunc('month', now() AT TIME ZONE 'UTC') + interval '12 months';
    space text;
    parent_name text;
    start bigint;
    month timestamp;
    next_month timestamp;
BEGIN
    -- Processes that start together must not create the same partition twice.
    PERFORM pg_advisory_xact_lock(hashtextextended('create_time_partition_for_table', 0));
    SELECT nspname, relname INTO space, parent_name
        FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE pg_class.oid = target;
    SELECT max(to_timestamp) INTO start FROM mirror_node_time_partitions WHERE parent = parent_name;
    start := coalesce(start, extract(epoch FROM timestamp '2019-09-01')::bigint * 1000000000);
    month := date_trunc('month', timestamp 'epoch' + start / 1000000000 * interval '1 second');
    WHILE month <= final_month LOOP
        next_month := month + interval '1 month';
        EXECUTE format(
            'CREATE TABLE %I.%I PARTITION OF %s FOR VALUES FROM (%s) TO (%s)',
            space, parent_name || to_char(month, '"_p"YYYY"_"MM'), target,
            start, extract(epoch FROM next_month)::bigint * 1000000000
        );
        month := next_month;
        start := extract(epoch FROM month)::bigint * 1000000000;
    END LOOP;
END $$;

-- Balances have a year of months ahead. The months of other tables are made as they are loaded.
CREATE PROCEDURE create_mirror_node_time_partitions() LANGUAGE plpgsql AS $$
        DECLARE
            target regclass;
        BEGIN
            FOREACH target IN ARRAY ARRAY['account_balance', 'token_balance']::regclass[] LOOP
                CALL create_time_partition_for_table(target);
            END LOOP;
        END $$;
"""

DROP_TIME_PARTITIONS = """
DROP PROCEDURE create_mirror_node_time_partitions();
DROP PROCEDURE create_time_partition_for_table(regclass);
DROP VIEW mirror_node_time_partitions;
"""

HASH_PARTITIONS = """
DO $$ BEGIN
    FOR remainder IN 0..31 LOOP
        EXECUTE format(
            'CREATE TABLE %I PARTITION OF transaction_hash FOR VALUES IN (%s)',
            'transaction_hash_' || lpad(remainder::text, 2, '0'), remainder
        );
    END LOOP;
END $$;
"""

LOOKUPS = """
-- The whole hash of each transaction whose hash starts with the first 32 bytes of the one given. The first
-- condition leads to a single partition; the byte appended to the argument answers an empty one with no rows.
CREATE FUNCTION get_transaction_info_by_hash(bytea)
RETURNS TABLE (consensus_timestamp bigint, hash bytea, payer_account_id bigint) LANGUAGE sql STABLE AS $$
    SELECT t.consensus_timestamp, t.hash || coalesce(t.hash_suffix, ''), t.payer_account_id
    FROM transaction_hash t
    WHERE mod(get_byte(t.hash, 0), 32) = mod(get_byte($1 || '\\x00', 0), 32)
        AND substring(t.hash FROM 1 FOR 32) = substring($1 FROM 1 FOR 32)
$$;

CREATE FUNCTION updateentitytypefromint(integer) RETURNS entity_type LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce((enum_range(NULL::entity_type))[$1 + 1], 'UNKNOWN')
$$;

-- temporary.<name>_temp: an unlogged table with the columns of a table, for rows on their way in.
CREATE PROCEDURE create_temp_table_safe(text, VARIADIC text[]) LANGUAGE plpgsql AS $$
DECLARE
    staging CONSTANT text := $1 || '_temp';
BEGIN
    EXECUTE format(
        'CREATE UNLOGGED TABLE IF NOT EXISTS temporary.%I WITH (autovacuum_enabled = false) '
            'AS TABLE %I WITH NO DATA',
        staging, $1
    );
    IF cardinality($2) > 0 THEN
        EXECUTE format(
            'CREATE INDEX IF NOT EXISTS %I ON temporary.%I (%s)', staging || '_idx', staging,
            (SELECT string_agg(quote_ident(name), ', ' ORDER BY position)
             FROM unnest($2) WITH ORDINALITY AS key (name, position))
        );
    END IF;
END $$;
"""

DROP_LOOKUPS = """
DROP PROCEDURE create_temp_table_safe(text, text[]);
DROP FUNCTION updateentitytypefromint(integer);
DROP FUNCTION get_transaction_info_by_hash(bytea);
"""


class Migration(migrations.Migration):
    initial = True
    dependencies = []

    operations = [
        migrations.RunSQL(
            """
CREATE SCHEMA IF NOT EXISTS temporary;
""",
            reverse_sql="""
DROP SCHEMA temporary CASCADE;
""",
        ),
        migrations.RunSQL(
            """
CREATE DOMAIN entity_id AS bigint;
CREATE DOMAIN entity_num AS integer;
CREATE DOMAIN entity_realm_num AS smallint;
CREATE DOMAIN entity_type_id AS character(1);
CREATE DOMAIN hbar_tinybars AS bigint;
CREATE DOMAIN nanos_timestamp AS bigint;
""",
            reverse_sql="""
DROP DOMAIN entity_id;
DROP DOMAIN entity_num;
DROP DOMAIN entity_realm_num;
DROP DOMAIN entity_type_id;
DROP DOMAIN hbar_tinybars;
DROP DOMAIN nanos_timestamp;
""",
        ),
        migrations.RunSQL(
            """
CREATE TYPE entity_type AS ENUM ('UNKNOWN', 'ACCOUNT', 'CONTRACT', 'FILE', 'TOPIC', 'TOKEN', 'SCHEDULE');
CREATE TYPE errata_type AS ENUM ('INSERT', 'DELETE');
""",
            reverse_sql="""
DROP TYPE entity_type;
DROP TYPE errata_type;
""",
        ),
        # This extension only serves the operator, and only a superuser may create it.
        migrations.RunSQL(
            """
            DO $$ BEGIN
                IF EXISTS (
                    SELECT FROM pg_available_extension_versions WHERE name = 'pg_stat_statements'
                        AND (trusted OR NOT superuser OR current_setting('is_superuser')::boolean)
                ) THEN
                    CREATE EXTENSION IF NOT EXISTS pg_stat_statements;
                END IF;
            END $$""",
            reverse_sql="DROP EXTENSION IF EXISTS pg_stat_statements",
        ),
        migrations.CreateModel(
            name="Entity",
            fields=[
                ("auto_renew_account_id", models.BigIntegerField(null=True)),
                ("auto_renew_period", models.BigIntegerField(null=True)),
                ("created_timestamp", models.BigIntegerField(null=True)),
                ("deleted", models.BooleanField(null=True)),
                ("expiration_timestamp", models.BigIntegerField(null=True)),
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("key", mirror.core.db.schema.fields.BytesField(null=True)),
                ("memo", models.TextField(db_default="")),
                ("num", models.BigIntegerField()),
                ("public_key", models.CharField(null=True)),
                ("proxy_account_id", models.BigIntegerField(null=True)),
                ("realm", models.BigIntegerField()),
                ("shard", models.BigIntegerField()),
                ("receiver_sig_required", models.BooleanField(null=True)),
                ("max_automatic_token_associations", models.IntegerField(null=True)),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
                ("type", mirror.core.db.schema.fields.EnumField("entity_type", db_default="UNKNOWN")),
                ("alias", mirror.core.db.schema.fields.BytesField(null=True)),
                ("ethereum_nonce", models.BigIntegerField(db_default=0, null=True)),
                ("evm_address", mirror.core.db.schema.fields.BytesField(null=True)),
                ("decline_reward", models.BooleanField(db_default=False)),
                ("staked_account_id", models.BigIntegerField(null=True)),
                ("staked_node_id", models.BigIntegerField(db_default=-1, null=True)),
                ("stake_period_start", models.BigIntegerField(db_default=-1, null=True)),
                ("obtainer_id", models.BigIntegerField(null=True)),
                ("permanent_removal", models.BooleanField(null=True)),
                ("balance", models.BigIntegerField(null=True)),
                ("balance_timestamp", models.BigIntegerField(null=True)),
                ("delegation_address", mirror.core.db.schema.fields.BytesField(null=True)),
            ],
            options={
                "verbose_name_plural": "entities",
                "db_table": "entity",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        condition=models.Q(("alias__isnull", False)), fields=["alias"], name="entity__alias"
                    ),
                    mirror.core.db.schema.indexes.Index(
                        condition=models.Q(("evm_address__isnull", False)),
                        fields=["evm_address"],
                        name="entity__evm_address",
                    ),
                    mirror.core.db.schema.indexes.Index(
                        condition=models.Q(("public_key__isnull", False)),
                        fields=["public_key", "type"],
                        name="entity__public_key_type",
                    ),
                    mirror.core.db.schema.indexes.Index(fields=["type", "id"], name="entity__type_id"),
                    mirror.core.db.schema.indexes.Index(
                        condition=models.Q(("type__in", ["ACCOUNT", "CONTRACT"])),
                        fields=["balance", "id"],
                        name="entity__balance",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="EntityHistory",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "id", "timestamp_range", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("auto_renew_account_id", models.BigIntegerField(null=True)),
                ("auto_renew_period", models.BigIntegerField(null=True)),
                ("created_timestamp", models.BigIntegerField(null=True)),
                ("deleted", models.BooleanField(null=True)),
                ("expiration_timestamp", models.BigIntegerField(null=True)),
                ("id", models.BigIntegerField()),
                ("key", mirror.core.db.schema.fields.BytesField(null=True)),
                ("memo", models.TextField(db_default="")),
                ("num", models.BigIntegerField()),
                ("public_key", models.CharField(null=True)),
                ("proxy_account_id", models.BigIntegerField(null=True)),
                ("realm", models.BigIntegerField()),
                ("shard", models.BigIntegerField()),
                ("receiver_sig_required", models.BooleanField(null=True)),
                ("max_automatic_token_associations", models.IntegerField(null=True)),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
                ("type", mirror.core.db.schema.fields.EnumField("entity_type", db_default="UNKNOWN")),
                ("alias", mirror.core.db.schema.fields.BytesField(null=True)),
                ("ethereum_nonce", models.BigIntegerField(db_default=0, null=True)),
                ("evm_address", mirror.core.db.schema.fields.BytesField(null=True)),
                ("decline_reward", models.BooleanField(db_default=False)),
                ("staked_account_id", models.BigIntegerField(null=True)),
                ("staked_node_id", models.BigIntegerField(db_default=-1, null=True)),
                ("stake_period_start", models.BigIntegerField(db_default=-1, null=True)),
                ("obtainer_id", models.BigIntegerField(null=True)),
                ("permanent_removal", models.BooleanField(null=True)),
                ("balance", models.BigIntegerField(null=True)),
                ("balance_timestamp", models.BigIntegerField(null=True)),
                ("delegation_address", mirror.core.db.schema.fields.BytesField(null=True)),
            ],
            options={
                "verbose_name_plural": "entity history",
                "db_table": "entity_history",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        condition=models.Q(("alias__isnull", False)),
                        fields=["alias"],
                        name="entity_history__alias",
                    ),
                    mirror.core.db.schema.indexes.Index(
                        condition=models.Q(("evm_address__isnull", False)),
                        fields=["evm_address"],
                        name="entity_history__evm_address",
                    ),
                    mirror.core.db.schema.indexes.Index(
                        models.F("id"),
                        models.F("timestamp_range__startswith"),
                        name="entity_history__id_lower_timestamp",
                    ),
                    mirror.core.db.schema.indexes.GistIndex(
                        fields=["timestamp_range"], name="entity_history__timestamp_range"
                    ),
                ],
            },
            bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
        ),
        migrations.CreateModel(
            name="EntityStake",
            fields=[
                ("end_stake_period", models.BigIntegerField()),
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("pending_reward", models.BigIntegerField()),
                ("staked_node_id_start", models.BigIntegerField()),
                ("staked_to_me", models.BigIntegerField()),
                ("stake_total_start", models.BigIntegerField()),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
            ],
            options={
                "db_table": "entity_stake",
            },
        ),
        migrations.CreateModel(
            name="EntityStakeHistory",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "id", "timestamp_range", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("end_stake_period", models.BigIntegerField()),
                ("id", models.BigIntegerField()),
                ("pending_reward", models.BigIntegerField()),
                ("staked_node_id_start", models.BigIntegerField()),
                ("staked_to_me", models.BigIntegerField()),
                ("stake_total_start", models.BigIntegerField()),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
            ],
            options={
                "verbose_name_plural": "entity stake history",
                "db_table": "entity_stake_history",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        models.F("id"),
                        models.F("timestamp_range__startswith"),
                        name="entity_stake_history__id_lower_timestamp",
                    ),
                    mirror.core.db.schema.indexes.GistIndex(
                        fields=["timestamp_range"], name="entity_stake_history__timestamp_range"
                    ),
                ],
            },
            bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
        ),
        migrations.CreateModel(
            name="EntityTransaction",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "entity_id",
                        "consensus_timestamp",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("consensus_timestamp", models.BigIntegerField()),
                ("entity_id", models.BigIntegerField()),
                ("payer_account_id", models.BigIntegerField()),
                ("result", models.SmallIntegerField()),
                ("type", models.SmallIntegerField()),
            ],
            options={
                "db_table": "entity_transaction",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        fields=["consensus_timestamp"], name="entity_transaction__consensus_timestamp"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Transaction",
            fields=[
                ("consensus_timestamp", models.BigIntegerField(primary_key=True, serialize=False)),
                ("type", models.SmallIntegerField()),
                ("result", models.SmallIntegerField()),
                ("payer_account_id", mirror.core.db.schema.fields.Int8Field(domain="entity_id")),
                ("valid_start_ns", models.BigIntegerField()),
                ("valid_duration_seconds", models.BigIntegerField(null=True)),
                ("node_account_id", mirror.core.db.schema.fields.Int8Field(domain="entity_id", null=True)),
                ("entity_id", mirror.core.db.schema.fields.Int8Field(domain="entity_id", null=True)),
                ("initial_balance", models.BigIntegerField(db_default=0, null=True)),
                ("max_fee", mirror.core.db.schema.fields.Int8Field(domain="hbar_tinybars", null=True)),
                ("charged_tx_fee", models.BigIntegerField(null=True)),
                ("memo", mirror.core.db.schema.fields.BytesField(null=True)),
                ("transaction_hash", mirror.core.db.schema.fields.BytesField(null=True)),
                ("transaction_bytes", mirror.core.db.schema.fields.BytesField(null=True)),
                ("scheduled", models.BooleanField(db_default=False)),
                ("nonce", models.IntegerField(db_default=0)),
                ("parent_consensus_timestamp", models.BigIntegerField(null=True)),
                ("errata", mirror.core.db.schema.fields.EnumField("errata_type", null=True)),
                ("index", models.IntegerField(null=True)),
                ("nft_transfer", models.JSONField(null=True)),
                ("itemized_transfer", models.JSONField(null=True)),
                ("transaction_record_bytes", mirror.core.db.schema.fields.BytesField(null=True)),
                (
                    "max_custom_fees",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=mirror.core.db.schema.fields.BytesField(), null=True, size=None
                    ),
                ),
                ("batch_key", mirror.core.db.schema.fields.BytesField(null=True)),
                (
                    "inner_transactions",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), null=True, size=None
                    ),
                ),
                ("high_volume", models.BooleanField(db_default=False)),
                ("congestion_pricing_multiplier", models.BigIntegerField(null=True)),
                ("high_volume_pricing_multiplier", models.BigIntegerField(null=True)),
            ],
            options={
                "db_table": "transaction",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        fields=["payer_account_id", "consensus_timestamp"],
                        name="transaction__payer_account_id_consensus_ns",
                    ),
                    mirror.core.db.schema.indexes.Index(
                        fields=["valid_start_ns", "payer_account_id"], name="transaction__transaction_id"
                    ),
                    mirror.core.db.schema.indexes.Index(
                        fields=["type", "consensus_timestamp"], name="transaction__type_consensus_timestamp"
                    ),
                    mirror.core.db.schema.indexes.Index(
                        condition=models.Q(("result__in", (22, 104, 220)), _negated=True),
                        fields=["consensus_timestamp"],
                        name="transaction__failed",
                    ),
                    mirror.core.db.schema.indexes.Index(
                        condition=models.Q(("result__in", (22, 104, 220)), _negated=True),
                        fields=["type", "consensus_timestamp"],
                        name="transaction__failed_type",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TransactionHash",
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
                ("payer_account_id", models.BigIntegerField(null=True)),
                ("hash_suffix", mirror.core.db.schema.fields.BytesField(null=True)),
            ],
            options={
                "verbose_name_plural": "transaction hashes",
                "db_table": "transaction_hash",
                "indexes": [
                    mirror.core.db.schema.indexes.HashIndex(
                        models.Func("hash", template="substring(%(expressions)s from 1 for 32)"),
                        name="transaction_hash__hash",
                    )
                ],
            },
            bases=(
                mirror.core.db.schema.tables.KeylessTable,
                mirror.core.db.schema.tables.HashPartitions,
                models.Model,
            ),
        ),
        migrations.CreateModel(
            name="TransactionSignature",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "consensus_timestamp",
                        "public_key_prefix",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("consensus_timestamp", models.BigIntegerField()),
                ("public_key_prefix", mirror.core.db.schema.fields.BytesField()),
                ("entity_id", models.BigIntegerField(null=True)),
                ("signature", mirror.core.db.schema.fields.BytesField()),
                ("type", models.SmallIntegerField(null=True)),
            ],
            options={
                "db_table": "transaction_signature",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        fields=["-entity_id", "-consensus_timestamp"], name="transaction_signature__entity_id"
                    )
                ],
            },
            bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
        ),
        migrations.CreateModel(
            name="CryptoTransfer",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "consensus_timestamp",
                        "entity_id",
                        "amount",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("entity_id", mirror.core.db.schema.fields.Int8Field(domain="entity_id")),
                ("consensus_timestamp", mirror.core.db.schema.fields.Int8Field(domain="nanos_timestamp")),
                ("amount", mirror.core.db.schema.fields.Int8Field(domain="hbar_tinybars")),
                ("payer_account_id", models.BigIntegerField()),
                ("is_approval", models.BooleanField(null=True)),
                ("errata", mirror.core.db.schema.fields.EnumField("errata_type", null=True)),
            ],
            options={
                "db_table": "crypto_transfer",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        fields=["consensus_timestamp"], name="crypto_transfer__consensus_timestamp"
                    ),
                    mirror.core.db.schema.indexes.Index(
                        condition=models.Q(("entity_id__ne", 98)),
                        fields=["entity_id", "consensus_timestamp"],
                        name="crypto_transfer__entity_id_consensus_timestamp",
                    ),
                    mirror.core.db.schema.indexes.Index(
                        condition=models.Q(("amount__gt", 0), ("entity_id__gt", 1000)),
                        fields=["entity_id", "consensus_timestamp"],
                        name="crypto_transfer__credit",
                    ),
                    mirror.core.db.schema.indexes.Index(
                        condition=models.Q(
                            ("amount__lt", 0), ("entity_id__ne", models.F("payer_account_id"))
                        ),
                        fields=["entity_id", "consensus_timestamp"],
                        name="crypto_transfer__debit_of_others",
                    ),
                ],
            },
            bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
        ),
        migrations.CreateModel(
            name="NonFeeTransfer",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "consensus_timestamp",
                        "payer_account_id",
                        "amount",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("entity_id", mirror.core.db.schema.fields.Int8Field(domain="entity_id", null=True)),
                ("consensus_timestamp", mirror.core.db.schema.fields.Int8Field(domain="nanos_timestamp")),
                ("amount", mirror.core.db.schema.fields.Int8Field(domain="hbar_tinybars")),
                ("payer_account_id", models.BigIntegerField()),
                ("is_approval", models.BooleanField(null=True)),
            ],
            options={
                "db_table": "non_fee_transfer",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        fields=["consensus_timestamp"], name="non_fee_transfer__consensus_timestamp"
                    )
                ],
            },
            bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
        ),
        migrations.CreateModel(
            name="StakingRewardTransfer",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "consensus_timestamp",
                        "account_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("account_id", models.BigIntegerField()),
                ("amount", models.BigIntegerField()),
                ("consensus_timestamp", models.BigIntegerField()),
                ("payer_account_id", models.BigIntegerField()),
            ],
            options={
                "db_table": "staking_reward_transfer",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        fields=["account_id", "consensus_timestamp"],
                        name="staking_reward_transfer__account_timestamp",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CryptoAllowance",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner", "spender", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("amount_granted", models.BigIntegerField()),
                ("owner", models.BigIntegerField()),
                ("payer_account_id", models.BigIntegerField()),
                ("spender", models.BigIntegerField()),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
                ("amount", models.BigIntegerField(db_default=0)),
            ],
            options={
                "db_table": "crypto_allowance",
            },
        ),
        migrations.CreateModel(
            name="CryptoAllowanceHistory",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner",
                        "spender",
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
                ("amount", models.BigIntegerField(db_default=0)),
            ],
            options={
                "verbose_name_plural": "crypto allowance history",
                "db_table": "crypto_allowance_history",
                "indexes": [
                    mirror.core.db.schema.indexes.GistIndex(
                        fields=["timestamp_range"], name="crypto_allowance_history__timestamp_range"
                    ),
                    mirror.core.db.schema.indexes.Index(
                        models.F("owner"),
                        models.F("spender"),
                        models.F("timestamp_range__startswith"),
                        name="crypto_allowance_history_owner_spender_lower_timestamp",
                    ),
                ],
            },
            bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
        ),
        migrations.CreateModel(
            name="AccountBalance",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "account_id",
                        "consensus_timestamp",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("consensus_timestamp", mirror.core.db.schema.fields.Int8Field(domain="nanos_timestamp")),
                ("balance", mirror.core.db.schema.fields.Int8Field(domain="hbar_tinybars")),
                ("account_id", mirror.core.db.schema.fields.Int8Field(domain="entity_id")),
            ],
            options={
                "db_table": "account_balance",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        fields=["balance", "account_id"], name="account_balance__balance_account"
                    )
                ],
            },
            bases=(mirror.core.db.schema.tables.MonthlyPartitions, models.Model),
        ),
        migrations.CreateModel(
            name="AccountBalanceFile",
            fields=[
                ("consensus_timestamp", models.BigIntegerField(primary_key=True, serialize=False)),
                ("count", models.BigIntegerField()),
                ("load_start", models.BigIntegerField()),
                ("load_end", models.BigIntegerField()),
                ("file_hash", models.CharField(max_length=96, null=True)),
                ("name", models.CharField(max_length=250)),
                ("bytes", mirror.core.db.schema.fields.BytesField(null=True)),
                ("time_offset", models.IntegerField(db_default=0)),
                ("synthetic", models.BooleanField(db_default=False)),
            ],
            options={
                "db_table": "account_balance_file",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(fields=["name"], name="account_balance_file__name")
                ],
            },
        ),
        migrations.CreateModel(
            name="RecordFile",
            fields=[
                ("name", models.CharField(max_length=250)),
                ("load_start", models.BigIntegerField()),
                ("load_end", models.BigIntegerField()),
                ("hash", models.CharField(max_length=96)),
                ("prev_hash", models.CharField(max_length=96)),
                ("consensus_start", models.BigIntegerField()),
                ("consensus_end", models.BigIntegerField(primary_key=True, serialize=False)),
                ("count", models.BigIntegerField()),
                ("digest_algorithm", models.IntegerField()),
                ("hapi_version_major", models.IntegerField(null=True)),
                ("hapi_version_minor", models.IntegerField(null=True)),
                ("hapi_version_patch", models.IntegerField(null=True)),
                ("version", models.IntegerField()),
                ("file_hash", models.CharField(max_length=96)),
                ("bytes", mirror.core.db.schema.fields.BytesField(null=True)),
                ("index", models.BigIntegerField()),
                ("gas_used", models.BigIntegerField(db_default=-1, null=True)),
                ("logs_bloom", mirror.core.db.schema.fields.BytesField(null=True)),
                ("size", models.IntegerField(null=True)),
                ("sidecar_count", models.IntegerField(db_default=0)),
                ("software_version_major", models.IntegerField(null=True)),
                ("software_version_minor", models.IntegerField(null=True)),
                ("software_version_patch", models.IntegerField(null=True)),
                ("round_start", models.BigIntegerField(null=True)),
                ("round_end", models.BigIntegerField(null=True)),
                ("previous_wrapped_record_block_hash", mirror.core.db.schema.fields.BytesField(null=True)),
                ("wrapped_record_block_hash", mirror.core.db.schema.fields.BytesField(null=True)),
                ("receipts_root", mirror.core.db.schema.fields.BytesField(null=True)),
            ],
            options={
                "db_table": "record_file",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(fields=["hash"], name="record_file__hash"),
                    mirror.core.db.schema.indexes.Index(fields=["index"], name="record_file__index"),
                ],
            },
        ),
        migrations.CreateModel(
            name="SidecarFile",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "consensus_end", "id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("bytes", mirror.core.db.schema.fields.BytesField(null=True)),
                ("count", models.IntegerField(null=True)),
                ("consensus_end", models.BigIntegerField()),
                ("hash_algorithm", models.IntegerField()),
                ("hash", mirror.core.db.schema.fields.BytesField()),
                ("id", models.IntegerField()),
                ("name", models.CharField(max_length=250)),
                ("size", models.IntegerField(null=True)),
                (
                    "types",
                    django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None),
                ),
            ],
            options={
                "db_table": "sidecar_file",
            },
        ),
        migrations.CreateModel(
            name="Topic",
            fields=[
                ("admin_key", mirror.core.db.schema.fields.BytesField(null=True)),
                ("created_timestamp", models.BigIntegerField(null=True)),
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("fee_exempt_key_list", mirror.core.db.schema.fields.BytesField(null=True)),
                ("fee_schedule_key", mirror.core.db.schema.fields.BytesField(null=True)),
                ("submit_key", mirror.core.db.schema.fields.BytesField(null=True)),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
            ],
            options={
                "db_table": "topic",
            },
        ),
        migrations.CreateModel(
            name="TopicHistory",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "id", "timestamp_range", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("admin_key", mirror.core.db.schema.fields.BytesField(null=True)),
                ("created_timestamp", models.BigIntegerField(null=True)),
                ("id", models.BigIntegerField()),
                ("fee_exempt_key_list", mirror.core.db.schema.fields.BytesField(null=True)),
                ("fee_schedule_key", mirror.core.db.schema.fields.BytesField(null=True)),
                ("submit_key", mirror.core.db.schema.fields.BytesField(null=True)),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
            ],
            options={
                "verbose_name_plural": "topic history",
                "db_table": "topic_history",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        models.F("id"),
                        models.F("timestamp_range__startswith"),
                        name="topic_history__id_lower_timestamp_range",
                    ),
                    mirror.core.db.schema.indexes.GistIndex(
                        fields=["timestamp_range"], name="topic_history__timestamp_range"
                    ),
                ],
            },
            bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
        ),
        migrations.CreateModel(
            name="TopicMessage",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "topic_id",
                        "sequence_number",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("consensus_timestamp", mirror.core.db.schema.fields.Int8Field(domain="nanos_timestamp")),
                ("message", mirror.core.db.schema.fields.BytesField()),
                ("running_hash", mirror.core.db.schema.fields.BytesField()),
                ("sequence_number", models.BigIntegerField()),
                ("running_hash_version", models.SmallIntegerField(null=True)),
                ("chunk_num", models.IntegerField(null=True)),
                ("chunk_total", models.IntegerField(null=True)),
                ("payer_account_id", mirror.core.db.schema.fields.Int8Field(domain="entity_id", null=True)),
                (
                    "valid_start_timestamp",
                    mirror.core.db.schema.fields.Int8Field(domain="nanos_timestamp", null=True),
                ),
                ("topic_id", models.BigIntegerField()),
                ("initial_transaction_id", mirror.core.db.schema.fields.BytesField(null=True)),
            ],
            options={
                "db_table": "topic_message",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        fields=["topic_id", "consensus_timestamp"], name="topic_message__topic_id_timestamp"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("topic_id"),
                        models.F("sequence_number"),
                        name="topic_message__topic_id_seqnum",
                    )
                ],
            },
            bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
        ),
        migrations.CreateModel(
            name="TopicMessageLookup",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "topic_id", "partition", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("partition", models.TextField()),
                ("sequence_number_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
                ("topic_id", models.BigIntegerField()),
            ],
            options={
                "db_table": "topic_message_lookup",
            },
        ),
        migrations.CreateModel(
            name="Schedule",
            fields=[
                ("consensus_timestamp", models.BigIntegerField()),
                ("creator_account_id", models.BigIntegerField()),
                ("executed_timestamp", models.BigIntegerField(null=True)),
                ("payer_account_id", models.BigIntegerField()),
                ("schedule_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("transaction_body", mirror.core.db.schema.fields.BytesField()),
                ("expiration_time", models.BigIntegerField(null=True)),
                ("wait_for_expiry", models.BooleanField(db_default=False)),
            ],
            options={
                "db_table": "schedule",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        fields=["-creator_account_id"], name="schedule__creator_account_id"
                    ),
                    mirror.core.db.schema.indexes.Index(
                        fields=["creator_account_id", "schedule_id"], name="schedule__creator_schedule"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="FileData",
            fields=[
                ("file_data", mirror.core.db.schema.fields.BytesField(null=True)),
                (
                    "consensus_timestamp",
                    mirror.core.db.schema.fields.Int8Field(
                        domain="nanos_timestamp", primary_key=True, serialize=False
                    ),
                ),
                ("entity_id", mirror.core.db.schema.fields.Int8Field(domain="entity_id")),
                ("transaction_type", models.SmallIntegerField()),
            ],
            options={
                "db_table": "file_data",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        fields=["entity_id", "consensus_timestamp"], name="file_data__id_timestamp"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="LiveHash",
            fields=[
                ("livehash", mirror.core.db.schema.fields.BytesField(null=True)),
                (
                    "consensus_timestamp",
                    mirror.core.db.schema.fields.Int8Field(
                        domain="nanos_timestamp", primary_key=True, serialize=False
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "live hashes",
                "db_table": "live_hash",
            },
        ),
        migrations.CreateModel(
            name="NetworkFreeze",
            fields=[
                ("consensus_timestamp", models.BigIntegerField(primary_key=True, serialize=False)),
                ("end_time", models.BigIntegerField(null=True)),
                ("file_hash", mirror.core.db.schema.fields.BytesField()),
                ("file_id", models.BigIntegerField(null=True)),
                ("payer_account_id", models.BigIntegerField()),
                ("start_time", models.BigIntegerField()),
                ("type", models.SmallIntegerField()),
            ],
            options={
                "db_table": "network_freeze",
            },
        ),
        migrations.CreateModel(
            name="Prng",
            fields=[
                ("consensus_timestamp", models.BigIntegerField(primary_key=True, serialize=False)),
                ("range", models.IntegerField()),
                ("prng_bytes", mirror.core.db.schema.fields.BytesField(null=True)),
                ("prng_number", models.IntegerField(null=True)),
                ("payer_account_id", models.BigIntegerField()),
            ],
            options={
                "db_table": "prng",
            },
        ),
        migrations.CreateModel(
            name="ReconciliationJob",
            fields=[
                ("consensus_timestamp", models.BigIntegerField()),
                ("count", models.BigIntegerField()),
                ("error", models.TextField(db_default="")),
                ("timestamp_end", models.DateTimeField(null=True)),
                ("timestamp_start", models.DateTimeField(primary_key=True, serialize=False)),
                ("status", models.SmallIntegerField()),
            ],
            options={
                "db_table": "reconciliation_job",
            },
        ),
        migrations.CreateModel(
            name="CustomFee",
            fields=[
                ("fixed_fees", models.JSONField(null=True)),
                ("fractional_fees", models.JSONField(null=True)),
                ("royalty_fees", models.JSONField(null=True)),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
                ("entity_id", models.BigIntegerField(primary_key=True, serialize=False)),
            ],
            options={
                "db_table": "custom_fee",
            },
        ),
        migrations.CreateModel(
            name="CustomFeeHistory",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "entity_id",
                        "timestamp_range",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("fixed_fees", models.JSONField(null=True)),
                ("fractional_fees", models.JSONField(null=True)),
                ("royalty_fees", models.JSONField(null=True)),
                ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
                ("entity_id", models.BigIntegerField()),
            ],
            options={
                "verbose_name_plural": "custom fee history",
                "db_table": "custom_fee_history",
                "indexes": [
                    mirror.core.db.schema.indexes.GistIndex(
                        fields=["timestamp_range"], name="custom_fee_history__timestamp_range"
                    ),
                    mirror.core.db.schema.indexes.Index(
                        models.F("entity_id"),
                        models.F("timestamp_range__startswith"),
                        name="custom_fee_history__token_id_timestamp_range",
                    ),
                ],
            },
            bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
        ),
        migrations.SeparateDatabaseAndState(_LATER, _LATER),
        *(
            migrations.RunSQL(
                VACUUM_AFTER_INSERTS.format(table=table, rows=rows), reverse_sql=migrations.RunSQL.noop
            )
            for table, rows in (
                ("transaction", 6_000_000),
                ("crypto_transfer", 24_000_000),
                ("staking_reward_transfer", 4_000),
                ("account_balance_file", 96),
                ("record_file", 1_800),
                ("sidecar_file", 1_800),
                ("topic_message", 6_000_000),
            )
        ),
        migrations.RunSQL(HASH_PARTITIONS, reverse_sql=migrations.RunSQL.noop),
        migrations.RunSQL(TIME_PARTITIONS, reverse_sql=DROP_TIME_PARTITIONS),
        migrations.RunSQL(
            "CALL create_time_partition_for_table('account_balance')", reverse_sql=migrations.RunSQL.noop
        ),
        migrations.RunSQL(LOOKUPS, reverse_sql=DROP_LOOKUPS),
    ]
