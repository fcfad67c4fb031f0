"""The machines and tables of a distributed database: distributing them, and what their shards hold."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from django.db import connection, transaction

from mirror.core import config
from mirror.core.config.setting import OperatorError
from mirror.core.db.distribution import BY_ENTITY, BY_HASH, COPIED, distribution_column, is_distributed
from mirror.core.db.statements import column, execute, quoted, rows, value

# Plans of a worker that doesn't see what the node sets for its own sessions.
_IS_SLOW = "select current_setting(''random_page_cost'')::float8 > 1.1 or current_setting(''jit'')::boolean"


class Worker(NamedTuple):
    """A machine that holds shards."""

    host: str
    port: int


def has_extension() -> bool:
    """Return whether Citus is installed in the database."""
    return bool(value("select exists (select from pg_extension where extname = 'citus')"))


def workers() -> list[Worker]:
    """Return the machines that hold shards, of a database with Citus; the coordinator may be one of them."""
    found = "select nodename, nodeport from pg_dist_node where isactive and shouldhaveshards order by nodeid"
    return [Worker(*row) for row in rows(found)]


def slow_workers() -> list[str]:
    """Return the machines, as `host:port`, whose own settings make slow plans for a node's statements."""
    return column(
        f"select nodename || ':' || nodeport from run_command_on_workers('{_IS_SLOW}') "
        "where success and result = 't' order by 1"
    )


def is_coordinator() -> bool:
    """Return whether the database may distribute tables, and not hold those of another one."""
    return bool(value("select groupid = 0 from pg_dist_local_group"))


def distributed_tables() -> set[str]:
    """Return the names of all tables that are distributed or copied; none without Citus."""
    if not has_extension():
        return set()
    return set(
        column(
            "select c.relname from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid "
            "where (p.partmethod = 'h' or p.repmodel = 't') and pg_table_is_visible(c.oid)"
        )
    )


def unresponsive_workers() -> list[str]:
    """Return the machines, as `host:port`, that don't answer the coordinator."""
    if not is_distributed():
        return []
    return column(
        "select nodename || ':' || nodeport from run_command_on_workers('select 1') where not success"
    )


# DISTRIBUTION
#
# Each table is distributed in a transaction of its own, so that the next attempt goes on with the next table.
# A table with rows is copied to the machines; who writes to it meanwhile waits.

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
    distributed = distributed_tables()
    return [
        table for table in (*BY_ENTITY, *BY_HASH, *COPIED) if table in present and table not in distributed
    ]


def check_setting() -> None:
    """Raise OperatorError if the database is distributed and the setting says otherwise, or can't be."""
    if is_distributed():
        check_coordinator()
    elif distributed_tables():
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
    if not has_extension():
        raise OperatorError(
            "The database has no Citus: `create extension citus` in the database of DATABASE_URL and in that "
            "of each worker, and `select citus_add_node(host, port)` for each worker."
        )
    if not is_coordinator():
        raise OperatorError("DATABASE_URL names a worker of Citus: name the coordinator.")
    if not workers():
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
    for table in distributed_tables().intersection((*BY_ENTITY, *BY_HASH)):
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


# SHARDS: the catalogue of the coordinator has distributed tables as empty ones.

# The name of a shard ends with its number. A copied table has the same number on every machine.
_ON_WORKERS = """
    select coalesce(jsonb_object_agg(substring(c.relname from '_([0-9]+)$'), jsonb_build_array(
        greatest(c.reltuples, s.n_live_tup, 0)::bigint, pg_total_relation_size(c.oid),
        pg_relation_size(c.oid) > 0)), '{}')::text
    from pg_class c join pg_stat_user_tables s on s.relid = c.oid
    where c.relkind = 'r' and c.relname ~ '_[0-9]{5,}$'"""
_TABLES = """
    select s.shardid, coalesce(root.relname, c.relname), c.relname
    from pg_dist_shard s join pg_class c on c.oid = s.logicalrelid
    left join pg_class root on root.oid = pg_partition_root(c.oid)
    where pg_table_is_visible(c.oid)"""


class DistributedTable(NamedTuple):
    """A distributed table, or a partition of one: estimated rows, bytes with indexes, whether it has rows."""

    table: str
    name: str
    rows: int
    bytes: int
    filled: bool


@dataclass(frozen=True)
class Shards:
    """What the workers say: of each part, and which of them, as `host:port`, do not answer."""

    workers: int
    parts: tuple[DistributedTable, ...]
    silent: tuple[str, ...] = ()

    @cached_property
    def rows(self) -> Mapping[str, int]:
        rows = Counter[str]()
        for part in self.parts:
            rows[part.table] += part.rows
        return rows

    @property
    def bytes(self) -> int:
        return sum(part.bytes for part in self.parts)

    def part(self, name: str) -> DistributedTable | None:
        """Return a table or a partition by its name; None if it is not distributed."""
        return next((part for part in self.parts if part.name == name), None)


def shards() -> Shards:
    """Return what all workers say; no shards of a single database."""
    if not is_distributed():
        return Shards(0, ())
    answers = rows(
        "select nodename || ':' || nodeport, success, result from run_command_on_workers(%s)", [_ON_WORKERS]
    )
    tables = {str(shard): (table, name) for shard, table, name in rows(_TABLES)}
    of_shards: dict[str, tuple[int, int, bool]] = {}
    for _, success, result in answers:
        for shard, (count, size, filled) in json.loads(result).items() if success else ():
            known = of_shards.get(shard, (0, 0, False))
            of_shards[shard] = max(known[0], count), known[1] + size, known[2] or filled
    parts: dict[tuple[str, str], tuple[int, int, bool]] = {}
    for shard, (count, size, filled) in of_shards.items():
        if key := tables.get(shard):
            known = parts.get(key, (0, 0, False))
            parts[key] = known[0] + count, known[1] + size, known[2] or filled
    return Shards(
        len(answers),
        tuple(DistributedTable(table, name, *numbers) for (table, name), numbers in parts.items()),
        tuple(worker for worker, success, _ in answers if not success),
    )
