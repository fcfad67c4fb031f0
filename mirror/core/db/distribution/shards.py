"""Rows and bytes of distributed tables: the sums of their shards on all machines.

The catalogue of the coordinator has these tables as empty ones.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from mirror.core.db import statements

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


class Part(NamedTuple):
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
    parts: tuple[Part, ...]
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

    def part(self, name: str) -> Part | None:
        """Return a table or a partition by its name; None if it is not distributed."""
        return next((part for part in self.parts if part.name == name), None)


def query() -> Shards:
    """Ask all workers."""
    answers = statements.rows(
        "select nodename || ':' || nodeport, success, result from run_command_on_workers(%s)", [_ON_WORKERS]
    )
    tables = {str(shard): (table, name) for shard, table, name in statements.rows(_TABLES)}
    of_shards: dict[str, tuple[int, int, bool]] = {}
    for _, success, result in answers:
        for shard, (rows, size, filled) in json.loads(result).items() if success else ():
            known = of_shards.get(shard, (0, 0, False))
            of_shards[shard] = max(known[0], rows), known[1] + size, known[2] or filled
    parts: dict[tuple[str, str], tuple[int, int, bool]] = {}
    for shard, (rows, size, filled) in of_shards.items():
        if key := tables.get(shard):
            known = parts.get(key, (0, 0, False))
            parts[key] = known[0] + rows, known[1] + size, known[2] or filled
    return Shards(
        len(answers),
        tuple(Part(table, name, rows, size, filled) for (table, name), (rows, size, filled) in parts.items()),
        tuple(worker for worker, success, _ in answers if not success),
    )
