"""The machines and the distributed tables of a database, as the catalogue of Citus has them."""

from typing import NamedTuple

from django.db.backends.utils import CursorWrapper


class Worker(NamedTuple):
    """A machine that holds shards."""

    host: str
    port: int


def has_extension(cursor: CursorWrapper) -> bool:
    """Return whether Citus is installed in the database."""
    cursor.execute("select exists (select from pg_extension where extname = 'citus')")
    return bool(cursor.fetchone()[0])


def workers(cursor: CursorWrapper) -> list[Worker]:
    """Return the machines that hold shards, of a database with Citus; the coordinator may be one of them."""
    cursor.execute(
        "select nodename, nodeport from pg_dist_node where isactive and shouldhaveshards order by nodeid"
    )
    return [Worker(*row) for row in cursor.fetchall()]


def slow_workers(cursor: CursorWrapper) -> list[str]:
    """Return the machines, as `host:port`, whose own settings make slow plans for a node's statements.

    The node sets these for its sessions, which a worker doesn't see.
    """
    cursor.execute(
        "select nodename || ':' || nodeport from run_command_on_workers("
        "'select current_setting(''random_page_cost'')::float8 > 1.1 or current_setting(''jit'')::boolean') "
        "where success and result = 't' order by 1"
    )
    return [name for (name,) in cursor.fetchall()]


def is_coordinator(cursor: CursorWrapper) -> bool:
    """Return whether the database may distribute tables, and not hold those of another one."""
    cursor.execute("select groupid = 0 from pg_dist_local_group")
    return bool(cursor.fetchone()[0])


def distributed_tables(cursor: CursorWrapper) -> set[str]:
    """Return the names of all tables that are distributed or copied; none without Citus."""
    if not has_extension(cursor):
        return set()
    cursor.execute(
        "select c.relname from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid "
        "where (p.partmethod = 'h' or p.repmodel = 't') and pg_table_is_visible(c.oid)"
    )
    return {name for (name,) in cursor.fetchall()}


def silent_workers(cursor: CursorWrapper) -> list[str]:
    """Return the machines, as `host:port`, that don't answer the coordinator."""
    cursor.execute(
        "select nodename || ':' || nodeport from run_command_on_workers('select 1') where not success"
    )
    return [name for (name,) in cursor.fetchall()]
