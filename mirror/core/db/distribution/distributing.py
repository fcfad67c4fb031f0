"""The distribution of a migrated database, with or without rows, by Citus.

Each table is distributed in a transaction of its own, so that the next attempt goes on with the next table.
A table with rows is copied to the machines; who writes to it meanwhile waits.
"""

from collections.abc import Callable

from django.db import connection, transaction

from mirror.core import config
from mirror.core.config.errors import OperatorError
from mirror.core.db.distribution import cluster, is_distributed
from mirror.core.db.distribution.columns import BY_ENTITY, BY_HASH, COPIED, distribution_column
from mirror.core.db.statements import execute, quoted, rows, value

_FIRST_OF_ENTITIES, _FIRST_OF_HASHES = next(iter(BY_ENTITY)), next(iter(BY_HASH))


# A key can be enforced only if it has the distribution column, which those without it get as their last.
_KEYS = """
    select k.conname, array(
            select attname::text from unnest(k.conkey) with ordinality as key (number, position)
            join pg_attribute a on a.attrelid = k.conrelid and a.attnum = number order by position)
    from pg_constraint k where k.conrelid = to_regclass(%s) and k.contype in ('p', 'u')"""
# On this machine, with those of its partitions.
_SIZE = """
    select coalesce(sum({}(oid)), 0)::bigint from pg_class
    where oid = to_regclass(%(table)s)
        or oid in (select relid from pg_partition_tree(to_regclass(%(table)s)))"""
_IS_DOMAIN = """
    select t.typtype = 'd' from pg_attribute a join pg_type t on t.oid = a.atttypid
    where a.attrelid = to_regclass(%s) and a.attname = %s"""


def undistributed_tables() -> list[str]:
    present = set(connection.introspection.table_names())
    distributed = cluster.distributed_tables()
    return [
        table for table in (*BY_ENTITY, *BY_HASH, *COPIED) if table in present and table not in distributed
    ]


def check_setting() -> None:
    """Raise OperatorError if the database is distributed and the setting says otherwise, or can't be."""
    if is_distributed():
        check_coordinator()
    elif cluster.distributed_tables():
        raise OperatorError(
            "The tables are distributed over several machines: SVC_MIRROR_DB_DISTRIBUTED has to be true."
        )


def check_distributed() -> None:
    """Raise OperatorError unless the tables are as the setting says: all distributed, or none."""
    check_setting()
    if is_distributed() and undistributed_tables():
        raise _not_distributed()


def distribute_if_configured() -> None:
    """Distribute the tables if the setting asks for it. Errors: OperatorError if one of them has rows."""
    if not is_distributed():
        return
    for table in undistributed_tables():
        if value(f"select exists (select 1 from {quoted(table)})"):
            raise _not_distributed()
    distribute(lambda table: None)


def _not_distributed() -> OperatorError:
    return OperatorError(
        "SVC_MIRROR_DB_DISTRIBUTED is true, and tables with rows are not distributed yet: "
        "`manage.py distribute` does it."
    )


def check_coordinator() -> None:
    """Raise OperatorError if the database can't distribute tables."""
    if not config.value("db.url"):
        raise OperatorError(
            "SVC_MIRROR_DB_DISTRIBUTED is true, and the node's own PostgreSQL has no Citus: name the "
            "coordinator by DATABASE_URL."
        )
    if not cluster.has_extension():
        raise OperatorError(
            "The database has no Citus: `create extension citus` in the database of DATABASE_URL and in that "
            "of each worker, and `select citus_add_node(host, port)` for each worker."
        )
    if not cluster.is_coordinator():
        raise OperatorError("DATABASE_URL names a worker of Citus: name the coordinator.")
    if not cluster.workers():
        raise OperatorError(
            "Citus knows no worker that could hold tables: `select citus_add_node(host, port)` adds one."
        )


def distribute(show: Callable[[str], None]) -> list[str]:
    """Distribute the tables that are not distributed yet, and return them; outside of transactions.

    `show` gets the name of each table before it is distributed. Errors: OperatorError.
    """
    check_coordinator()
    tables = undistributed_tables()
    # What an interrupted attempt has left.
    for table in cluster.distributed_tables().intersection((*BY_ENTITY, *BY_HASH)):
        _truncate_local(table)
    for table in tables:
        show(table)
        with transaction.atomic():
            _distribute(table)
        _truncate_local(table)
    return tables


def sizes() -> dict[str, int]:
    """Return the bytes of each table that is still to be distributed, with its indexes and partitions."""
    size = _SIZE.format("pg_total_relation_size")
    return {table: int(value(size, {"table": quoted(table)})) for table in undistributed_tables()}


def _distribute(table: str) -> None:
    # Types and indexes of many tables are made in one transaction, and so by one session of each worker.
    execute("set local citus.multi_shard_modify_mode to 'sequential'")
    execute("set local client_min_messages to warning")
    column = distribution_column(table)
    if column is None:
        execute("select create_reference_table(%s)", [quoted(table)])
        return
    if value(_IS_DOMAIN, [quoted(table), column]):
        # Citus takes no domain for the distribution column.
        execute(f"alter table {quoted(table)} alter column {quoted(column)} type bigint")
    for name, columns in rows(_KEYS, [quoted(table)]):
        if column not in columns:
            key = ", ".join(map(quoted, [*columns, column]))
            execute(
                f"alter table {quoted(table)} drop constraint {quoted(name)}, "
                f"add constraint {quoted(name)} primary key ({key})"
            )
    first = _FIRST_OF_ENTITIES if table in BY_ENTITY else _FIRST_OF_HASHES
    if table != first:
        execute(
            "select create_distributed_table(%s, %s, colocate_with := %s)",
            [quoted(table), column, quoted(first)],
        )
        return
    shards = config.value("db.shardCount" if table in BY_ENTITY else "db.hashShardCount")
    execute(
        "select create_distributed_table(%s, %s, colocate_with := 'none', shard_count := %s)",
        [quoted(table), column, shards],
    )


def _truncate_local(table: str) -> None:
    """Remove the rows of a distributed table that are still on the coordinator, where no query sees them."""
    size = value(_SIZE.format("pg_relation_size"), {"table": quoted(table)})
    if size > 0 and distribution_column(table):
        execute("select truncate_local_data_after_distributing_table(%s)", [quoted(table)])
