"""Databases of a test's own, whose tables may be partitioned by month."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from mirror.core.db.partitions import making, months
from mirror.core.db.partitions.catalogue import partitionable_tables, partitions
from mirror.upgrade import tables
from tests.ledger.ingest.load import settings


@contextmanager
def own_database(*, partitioned: bool, template: str | None = None) -> Iterator[None]:
    """A database like that of the tests, its tables partitioned or not; or a copy of `template`."""
    name = connection.settings_dict["NAME"]
    with _copied(template or name, f"{name}_own"):
        if partitioned and template is None:
            divide_all()
        yield


@contextmanager
def template(fill: Callable[[], object]) -> Iterator[str]:
    """A database with partitioned tables that `fill` fills, to be copied, which is much faster: its name."""
    name = connection.settings_dict["NAME"]
    made = f"{name}_template"
    try:
        with _copied(name, made, kept=True):
            divide_all()
            fill()
        yield made
    finally:
        with connection._nodb_cursor() as cursor:
            drop_database(cursor, made)


@contextmanager
def _copied(template: str, copy: str, *, kept: bool = False) -> Iterator[None]:
    name = connection.settings_dict["NAME"]
    connection.close()
    with connection._nodb_cursor() as cursor:
        disconnect(cursor, template)
        drop_database(cursor, copy)
        # Through the log, as PostgreSQL copies by default, a thousand small files take ten times as long.
        by_file = "strategy file_copy" if cursor.connection.info.server_version >= 150000 else ""
        cursor.execute(f'create database "{copy}" template "{template}" {by_file}')
    connection.settings_dict["NAME"] = copy
    months.forget()
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = name
        months.forget()
        if not kept:
            with connection._nodb_cursor() as cursor:
                drop_database(cursor, copy)


def drop_database(cursor: CursorWrapper | psycopg.Cursor, database: str) -> None:
    """Drop a database if it exists.

    Not `with (force)`, which needs the right to end workers of PostgreSQL's own.
    """
    disconnect(cursor, database)
    cursor.execute(f'drop database if exists "{database}"')


def disconnect(cursor: CursorWrapper | psycopg.Cursor, database: str) -> None:
    """End the sessions of a database: one that others use can't be copied."""
    cursor.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity "
        "where datname = %s and backend_type = 'client backend'",
        [database],
    )


def divide_all() -> None:
    """Divide empty tables as a node's start does, and note tables with rows for `upgrade`."""
    with settings(db__partitions=True):
        tables.arrange_partitions()


def cut(times: list[int]) -> None:
    """Replace the months of partitioned tables without rows by partitions that end at each of these times."""
    with transaction.atomic(), connection.cursor() as cursor:
        for table in partitionable_tables():
            for lower, upper in zip(times, times[1:], strict=False):
                making.create_partition(table, lower, upper)
            for partition in partitions(table):
                if partition.lower >= times[-1]:
                    cursor.execute(f"drop table {partition.name}")


def query(statement: str, *values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []
