"""Contents of the tables, for comparing two loads."""

from collections.abc import Callable, Mapping
from typing import Any

from django.apps import apps
from django.db import connection
from django.db.backends.utils import CursorWrapper

from mirror.core.db.distribution import is_distributed
from mirror.models import (
    ArchiveFailure,
    ArchiveLocation,
    DroppedRows,
    LoadedErrata,
    LoadedRange,
    LoaderState,
    SkippedTransaction,
)

# When something was loaded is the only thing that may differ.
NOT_COMPARED = {"load_start", "load_end"}


# The kinds of rows that Django writes after each migration, and the migrations.
_KEPT = ["auth_permission", "django_content_type", "django_migrations"]

# Tables and partitions that have a file with something in it, also if that is only what was rolled back. To
# ask this takes 3 ms; to look into each of them, or to empty them all, hundreds.
_WITH_PAGES = """
    select c.relname, coalesce(root.relname, c.relname)
    from pg_class c left join pg_class root on root.oid = pg_partition_root(c.oid)
    where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and pg_relation_size(c.oid) > 0
"""

# The same of distributed tables, on each worker.
_DISTRIBUTED = """
    select string_agg(distinct coalesce(pg_partition_root(logicalrelid), logicalrelid)::text, ',')
    from pg_dist_shard where pg_relation_size(to_regclass(shard_name(logicalrelid, shardid))) > 0
"""


def contents() -> dict[str, list[str]]:
    """Every ledger table's rows as sorted text; tables without rows are left out."""
    found: dict[str, list[str]] = {}
    with connection.cursor() as cursor:
        with_pages = {table for _, table in _with_pages(cursor)}
        for table in with_pages.intersection(_tables()):
            cursor.execute(f"select to_jsonb(t) - %s::text[] from {table} t", [sorted(NOT_COMPARED)])
            rows: list[Any] = sorted(str(row[0]) for row in cursor.fetchall())
            if rows:
                found[table] = rows
    return found


def versions_meet(keys: Mapping[str, str]) -> None:
    """Every version ends where the next one starts, and the current one has no end."""
    with connection.cursor() as cursor:
        for table, key in keys.items():
            cursor.execute(
                f"""
                select * from (
                    select {key}, timestamp_range, is_current, lead(lower(timestamp_range)) over (
                        partition by {key} order by lower(timestamp_range), upper(timestamp_range)
                    ) as next_since
                    from (
                        select {key}, timestamp_range, true as is_current from {table}
                        union all select {key}, timestamp_range, false from {table}_history
                    ) versions
                ) followed
                where isempty(timestamp_range) or upper(timestamp_range) is distinct from next_since
                    or is_current <> upper_inf(timestamp_range)"""
            )
            assert not cursor.fetchall(), table


def empty_tables() -> None:
    """Empty the ledger's tables, and those of what its loader says."""
    own = {
        model._meta.db_table
        for model in (
            DroppedRows,
            ArchiveLocation,
            LoadedErrata,
            LoadedRange,
            LoaderState,
            ArchiveFailure,
            SkippedTransaction,
        )
    }
    tables = own.union(_tables())
    _empty(lambda table: table in tables)


def empty_database() -> None:
    """Empty every table, as Django does after a test that commits, but a hundred times faster."""
    _empty(lambda table: table not in _KEPT)


def _empty(chosen: Callable[[str], bool]) -> None:
    name = connection.settings_dict["NAME"]
    if not name.startswith("test_"):
        raise RuntimeError(f"{name} is no test database: its tables are not emptied.")
    with connection.cursor() as cursor:
        if filled := [f'"{part}"' for part, table in _with_pages(cursor) if chosen(table)]:
            cursor.execute(f"truncate {', '.join(filled)} cascade")


def _with_pages(cursor: CursorWrapper) -> list[tuple[str, str]]:
    """Return the tables and partitions that may have rows, each with its whole table."""
    cursor.execute(_WITH_PAGES)
    found: list[tuple[str, str]] = cursor.fetchall()
    if is_distributed():
        cursor.execute("select result from run_command_on_workers(%s)", [_DISTRIBUTED])
        tables = {table for (result,) in cursor.fetchall() for table in (result or "").split(",") if table}
        found += [(table, table) for table in sorted(tables)]
    return found


def _tables() -> list[str]:
    apps_of_the_ledger = ("ledger", "contracts", "tokens", "network")
    return [m._meta.db_table for m in apps.get_models() if m._meta.app_label in apps_of_the_ledger]
