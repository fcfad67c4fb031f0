"""The view, functions and procedures of the schema, as the first migrations create them.

Other software uses these names. A change to one is a new migration; this text stays as it is.
"""

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

CREATE PROCEDURE create_mirror_node_time_partitions() LANGUAGE plpgsql AS $$
DECLARE
    target regclass;
BEGIN
    FOR target IN
        SELECT partrelid FROM pg_partitioned_table WHERE partstrat = 'r' AND pg_table_is_visible(partrelid)
    LOOP
        CALL create_time_partition_for_table(target);
    END LOOP;
END $$;
"""

# Balances have a year of months ahead. The months of other tables are made as they are loaded. A procedure
# that another program has made stays.
BALANCE_PARTITIONS = """
DO $do$ BEGIN
    IF EXISTS (
        SELECT FROM pg_proc WHERE proname = 'create_mirror_node_time_partitions'
            AND prosrc LIKE '%pg_partitioned_table WHERE partstrat%' AND pg_function_is_visible(oid)
    ) THEN
        CREATE OR REPLACE PROCEDURE create_mirror_node_time_partitions() LANGUAGE plpgsql AS $$
        DECLARE
            target regclass;
        BEGIN
            FOREACH target IN ARRAY ARRAY['account_balance', 'token_balance']::regclass[] LOOP
                CALL create_time_partition_for_table(target);
            END LOOP;
        END $$;
    END IF;
END $do$;
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
