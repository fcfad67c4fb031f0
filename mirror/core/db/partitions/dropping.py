"""Dropping old months of partitioned tables.

A partition is detached concurrently, so that no reader waits, and then dropped. What was interrupted between
the two is finished the next time.
"""

from collections.abc import Callable
from typing import NamedTuple

from django.db import connection

from mirror.core.db.distribution import cluster, distributable
from mirror.core.db.partitions.catalogue import Partition, partitioned_tables, partitions
from mirror.core.db.partitions.making import LOCK_KEY
from mirror.core.db.schema.locking import change_table
from mirror.core.db.statements import column, execute, locked, quoted, value

_SIZE = "select pg_total_relation_size(to_regclass(%s))"
# Partitions that are no longer read, as their detaching has begun.
_PENDING = """
    select relname from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = to_regclass(%s) and inhdetachpending"""
# Noted first: what is dropped must not be taken for something that never was.
_NOTE = """
    insert into dropped_rows (table_name, before) values (%s, %s)
    on conflict (table_name) do update set before = greatest(dropped_rows.before, excluded.before)"""
_MARK = "detached from {table} to be dropped"
# Partitions that were detached to be dropped.
_DETACHED = """
    select relname from pg_class
    where obj_description(oid, 'pg_class') = %s and relkind = 'r' and not relispartition
        and pg_table_is_visible(oid)"""


class ExpiredPartition(NamedTuple):
    """A partition whose rows are all before some time; its bytes on the disk, with its indexes."""

    table: str
    partition: Partition
    bytes: int


def expired(time: int) -> list[ExpiredPartition]:
    """Return the partitions that end at or before a time (ns), the oldest first."""
    found, shard_bytes = [], {part.name: part.bytes for part in cluster.shards().parts}
    for table in partitioned_tables():
        for partition in partitions(table):
            if partition.upper <= time:
                size = shard_bytes.get(partition.name) or value(_SIZE, [quoted(partition.name)])
                found.append(ExpiredPartition(table, partition, int(size)))
    return sorted(found, key=lambda old: old.partition.upper)


def drop(
    old: list[ExpiredPartition], show: Callable[[ExpiredPartition], None] = lambda old: None
) -> list[ExpiredPartition]:
    """Drop partitions, and what an interrupted drop has left; outside of transactions.

    First those of a month are detached, the transactions before what belongs to them; then they are dropped.
    Return those that were still there: another may have dropped some since they were chosen.
    """
    # No other process adds or drops any meanwhile.
    with locked(value(f"select {LOCK_KEY}")):
        _finish(partitioned_tables())
        present = {table: partitions(table) for table in {each.table for each in old}}
        dropped = [each for each in old if each.partition in present[each.table]]
        months = sorted({each.partition.upper for each in dropped})
        for end in months:
            in_month = [each for each in dropped if each.partition.upper == end]
            for each in in_month:
                execute(_NOTE, [each.table, end])
                _detach(each)
            for each in in_month:
                _remove(each)
                show(each)
    return dropped


@distributable
def _detach(old: ExpiredPartition) -> None:
    name = quoted(old.partition.name)
    execute(f"comment on table {name} is '{_MARK.format(table=old.table)}'")
    execute(f"alter table {quoted(old.table)} detach partition {name} concurrently")


@_detach.distributed
def _stay_attached(old: ExpiredPartition) -> None:
    """Leave it: Citus can't detach while the table is read, and drops the partition once no one reads it."""


@distributable
def _remove(old: ExpiredPartition) -> None:
    execute(f"drop table {quoted(old.partition.name)}")


@_remove.distributed
def _remove_unread(old: ExpiredPartition) -> None:
    change_table(connection, old.table, lambda: execute(f"drop table {quoted(old.partition.name)}"))


def _finish(tables: list[str]) -> None:
    """Detach and drop what an interrupted drop has left."""
    for table in tables:
        for name in column(_PENDING, [quoted(table)]):
            execute(f"alter table {quoted(table)} detach partition {quoted(name)} finalize")
        for name in column(_DETACHED, [_MARK.format(table=table)]):
            execute(f"drop table {quoted(name)}")
