"""Databases to measure or compare: a node's data folder, or a URL of PostgreSQL."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from mirror.node.postgres.cluster import DATABASE, ROLE
from mirror.node.postgres.installation import server_paths
from mirror.node.postgres.server import in_use

ROOT = Path(__file__).resolve().parents[3]
# When something was loaded is the only thing that may differ.
_NOT_COMPARED = ["load_start", "load_end"]
_TABLES = """
    select relname from pg_class
    where relkind in ('r', 'p') and not relispartition and pg_table_is_visible(oid)
        and relnamespace = current_schema()::regnamespace
        and relname !~ '^(auth|django|backfill|loader_state|node_minute)'
    order by 1"""
_DIGEST = """
    select count(*), coalesce(sum(('x' || substr(row, 1, 15))::bit(60)::bigint), 0),
        coalesce(sum(('x' || substr(row, 17, 15))::bit(60)::bigint), 0)
    from (select md5((to_jsonb(t) - %s::text[])::text) as row from {table} t) digests"""


@contextmanager
def reachable(where: str) -> Iterator[str]:
    """Yield the URL of a database; that of a data folder is started if it does not run."""
    if "://" in where:
        yield where
        return
    with in_use(Path(where).resolve()):
        yield f"postgresql:///{DATABASE}?host={server_paths(Path(where).resolve()).socket}&user={ROLE}"


def environment(url: str, **settings: str) -> dict[str, str]:
    """The environment of a process of ours on that database, without the response cache."""
    others = {name: text for name, text in os.environ.items() if not name.startswith("SVC_MIRROR_")}
    return others | {"DATABASE_URL": url, "SVC_MIRROR_REST_CACHE_RESPONSE_ENABLED": "false"} | settings


def compare(words: str, one: str, other: str) -> bool:
    """Print whether all tables of two databases have the same rows; return that."""
    first, second = digests(one), digests(other)
    differing = sorted(table for table in first | second if first.get(table) != second.get(table))
    rows = sum(digest[0] for digest in first.values())
    print(f"{words}: {len(first)} tables with {rows:,} rows compared, different: {differing or 'none'}")
    return not differing


def digests(url: str) -> dict[str, tuple[int, ...]]:
    """Return the number of rows of each table, and sums of their digests."""
    with psycopg.connect(url, autocommit=True) as connection:
        return {
            table: connection.execute(_DIGEST.format(table=f'"{table}"'), [_NOT_COMPARED]).fetchone() or (0,)
            for (table,) in connection.execute(_TABLES).fetchall()
        }
