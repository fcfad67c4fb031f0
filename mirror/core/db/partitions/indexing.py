"""Indexes of divided tables, built while the tables are in use, which PostgreSQL does for one partition only.

The index of the whole table is made without its partitions, and is valid once each has one attached.
"""

import re

from django.db import connection
from django.db.backends.utils import CursorWrapper

from mirror.core.db.partitions.catalogue import divided_tables, partitions
from mirror.core.db.schema.locking import change_table

_STATEMENT = re.compile(r'create index concurrently "?(\w+)"? on "?(\w+)"? (.*)', re.S | re.I)
_ATTACHED = """
    select exists (
        select from pg_inherits join pg_index on indexrelid = inhrelid
        where inhparent = to_regclass(%s) and indrelid = to_regclass(%s))"""
_VALID = "select indisvalid from pg_index where indexrelid = to_regclass(%s)"


def is_divided(cursor: CursorWrapper, statement: str) -> bool:
    """Return whether the table of a statement that builds an index concurrently has partitions."""
    return bool(divided_tables(cursor, [_parts(statement)[1]]))


def build(cursor: CursorWrapper, statement: str) -> None:
    """Build the index of such a statement for a divided table; what is built of it stays."""
    index, table, rest = _parts(statement)
    cursor.execute(_VALID, [index])
    if not cursor.fetchone():
        change_table(connection, table, lambda: _make_whole(index, table, rest))
    for partition in partitions(cursor, table):
        cursor.execute(_ATTACHED, [index, _quoted(partition.name)])
        if cursor.fetchone() == (True,):
            continue
        part = f"{partition.name}_{index.partition('__')[2]}"[:63]
        cursor.execute(_VALID, [_quoted(part)])
        row = cursor.fetchone()
        if row == (False,):
            cursor.execute(f"drop index concurrently {_quoted(part)}")
        if row != (True,):
            cursor.execute(f"create index concurrently {_quoted(part)} on {_quoted(partition.name)} {rest}")
        cursor.execute(f"alter index {_quoted(index)} attach partition {_quoted(part)}")


def _make_whole(index: str, table: str, rest: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"create index {_quoted(index)} on only {_quoted(table)} {rest}")


def _parts(statement: str) -> tuple[str, str, str]:
    match = _STATEMENT.fullmatch(statement.strip())
    if match is None:
        raise ValueError(f"This does not build an index concurrently: {statement}")
    index, table, rest = match.groups()
    return index, table, rest


def _quoted(name: str) -> str:
    return str(connection.ops.quote_name(name))
