"""The machines and the distributed tables of a database, as the catalogue of Citus has them."""

from typing import NamedTuple

from mirror.core.db.statements import column, rows, value

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
    return column(
        "select nodename || ':' || nodeport from run_command_on_workers('select 1') where not success"
    )
