"""Indexes of partitioned tables, built while these are in use, as PostgreSQL does for one partition only.

The index of the whole table is made without its partitions, and is valid once each has one attached.
"""

import re

from django.db import connection

from mirror.core.db.partitions.catalogue import partitioned_tables, partitions
from mirror.core.db.schema.locking import change_table
from mirror.core.db.statements import execute, quoted, value

_STATEMENT = re.compile(r'create index concurrently "?(\w+)"? on "?(\w+)"? (.*)', re.S | re.I)
_ATTACHED = """
    select exists (
        select from pg_inherits join pg_index on indexrelid = inhrelid
        where inhparent = to_regclass(%s) and indrelid = to_regclass(%s))"""
_VALID = "select indisvalid from pg_index where indexrelid = to_regclass(%s)"


def is_partitioned(statement: str) -> bool:
    """Return whether the table of a statement that builds an index concurrently has partitions."""
    return bool(partitioned_tables([_parts(statement)[1]]))


def build(statement: str) -> None:
    """Build the index of such a statement for a partitioned table; what is built of it stays."""
    index, table, rest = _parts(statement)
    if value(_VALID, [index]) is None:
        whole = f"create index {quoted(index)} on only {quoted(table)} {rest}"
        change_table(connection, table, lambda: execute(whole))
    for partition in partitions(table):
        if value(_ATTACHED, [index, quoted(partition.name)]):
            continue
        part = f"{partition.name}_{index.partition('__')[2]}"[:63]
        is_valid = value(_VALID, [quoted(part)])
        if is_valid is False:
            execute(f"drop index concurrently {quoted(part)}")
        if not is_valid:
            execute(f"create index concurrently {quoted(part)} on {quoted(partition.name)} {rest}")
        execute(f"alter index {quoted(index)} attach partition {quoted(part)}")


def _parts(statement: str) -> tuple[str, str, str]:
    match = _STATEMENT.fullmatch(statement.strip())
    if match is None:
        raise ValueError(f"This does not build an index concurrently: {statement}")
    index, table, rest = match.groups()
    return index, table, rest
