"""The pieces of the tables in a backup: each is a range of pages of a table or partition, or a query."""

from collections.abc import Iterable
from typing import NamedTuple

from django.apps import apps
from django.db.models import Model

from mirror.core.db.statements import quoted
from mirror.core.values.timestamp import MAX, MIN
from mirror.operations.backup.manifest import BACKUP, BackupFile, Kind
from mirror.operations.backup.sessions import Session

# 128 MB each: what is lost if a backup is killed, and what a session reads at a time.
CHUNK_PAGES = 16_384
# After so many transactions their numbers wrap around.
_MAX_TRANSACTIONS = 1 << 30

# A table, and its partitions if it has any.
_LEAVES = """
    select leaf::regclass::text, pg_relation_filenode(leaf)::bigint, pg_relation_size(leaf),
        pg_table_size(leaf)
    from (
        select %s::regclass where not exists (select from pg_partitioned_table where partrelid = %s::regclass)
        union all select relid from pg_partition_tree(%s::regclass) where isleaf and level > 0
    ) as leaves (leaf)"""
_COLUMNS = """
    select attname from pg_attribute
    where attrelid = %s::regclass and attnum > 0 and not attisdropped and attgenerated = ''
    order by attnum"""
_PARTITIONS = f"""
    select coalesce(substring(bounds from $$FROM \\('?(-?\\d+)$$)::bigint, {MIN}),
        coalesce(substring(bounds from $$TO \\('?(-?\\d+)$$)::bigint, {MAX})
    from pg_inherits
    join pg_class child on child.oid = inhrelid
    join pg_partitioned_table partitioned on partitioned.partrelid = inhparent and partitioned.partstrat = 'r'
    cross join lateral pg_get_expr(child.relpartbound, child.oid) bounds
    where inhparent = %s::regclass and not inhdetachpending
    order by 1"""
_EXISTING = "select name from unnest(%s::text[]) name where to_regclass(quote_ident(name)) is not null"


class Chunk(NamedTuple):
    """A range of pages of a table or a partition, or the rows of a `query`; `bytes` is for progress alone."""

    table: str
    columns: list[str]
    leaf: str
    number: int
    filenode: int
    bytes: int
    query: str = ""

    @property
    def name(self) -> str:
        leaf = "".join(letter if letter.isalnum() or letter == "_" else "-" for letter in self.leaf)
        return f"{leaf}-{self.number:05}.zst"

    @property
    def select(self) -> str:
        if self.query:
            return self.query
        columns = ", ".join(f'"{column}"' for column in self.columns)
        return f"select {columns} {self._rows}"

    @property
    def _rows(self) -> str:
        first, end = self.number * CHUNK_PAGES, (self.number + 1) * CHUNK_PAGES
        return f"from only {self.leaf} where ctid >= '({first},0)'::tid and ctid < '({end},0)'::tid"

    def is_unchanged(self, own: Session, file: BackupFile, now: int) -> bool:
        """Return whether the rows are those that a file of an earlier snapshot has.

        A row that is new or changed since then has a transaction that was not over at that time, and one
        that was deleted is missing in the count. `now` is the oldest running transaction.
        """
        same = (self.filenode, self.table) == (file.filenode, file.table)
        if self.query or not same or now - file.since > _MAX_TRANSACTIONS:
            return False
        row = own.execute(
            f"select count(*), count(*) filter (where age(xmin) <= age('{file.since % 2**32}'::xid)) "
            f"{self._rows}"
        ).fetchone()
        return row == (file.rows, 0)


def known_columns(models: Iterable[type[Model]], kind: Kind) -> dict[str, set[str]]:
    """Return the columns of each of the models' tables that a backup or a snapshot has."""
    known: dict[str, set[str]] = {}
    for model in models:
        if kind.includes(model._meta.app_label, model._meta.db_table):
            columns = {field.column for field in model._meta.concrete_fields if field.column}
            known.setdefault(model._meta.db_table, set()).update(columns)
    return known


def backed_up_tables(own: Session, kind: Kind = BACKUP) -> dict[str, list[str]]:
    """Return the columns, known to this release, of each table of a backup or a snapshot that exists."""
    known = known_columns(apps.get_models(include_auto_created=True), kind)
    existing = [name for (name,) in own.execute(_EXISTING, [sorted(known)])]
    return {
        table: [name for (name,) in own.execute(_COLUMNS, [quoted(table)]) if name in known[table]]
        for table in existing
    }


def chunks(own: Session, tables: dict[str, list[str]]) -> list[Chunk]:
    """Return the pieces of the tables, the largest tables first, so that all sessions end together."""
    found = []
    page = int(own.execute("show block_size").fetchone()[0])  # type: ignore[index]
    for table, columns in tables.items():
        for leaf, filenode, heap, whole in own.execute(_LEAVES, 3 * [quoted(table)]):
            pages = heap // page
            count = -(-pages // CHUNK_PAGES)
            found += [
                (whole, Chunk(table, columns, leaf, number, filenode, whole // count))
                for number in range(count)
            ]
    return [chunk for _, chunk in sorted(found, key=lambda each: -each[0])]


def partitions_by_time(own: Session, table: str) -> list[tuple[int, int]]:
    """Return the times, from the first to before the second, of the partitions of a table."""
    return [(lower, upper) for lower, upper in own.execute(_PARTITIONS, [quoted(table)])]
