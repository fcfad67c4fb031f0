"""Writing a snapshot: the tables of the ledger and those that describe them, as of the last block.

A snapshot differs from a backup in what it leaves out: accounts of the admin, settings, the state of the
node's processes. So it can be given to others.
"""

import json
import threading
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from psycopg.rows import dict_row

from ledger.ingest import stored_network
from mirror.core.config.setting import OperatorError
from mirror.core.db.distribution import cluster, is_distributed
from mirror.core.logs import Echo
from mirror.core.values import entity_id
from mirror.models import LOADER_LOCK
from mirror.operations.backup import dump
from mirror.operations.backup.dump import Query
from mirror.operations.backup.manifest import SNAPSHOT, Manifest
from mirror.operations.backup.sessions import Session, Task, session, try_lock
from mirror.operations.snapshot import selection

# A byte in a file becomes so many in the database, half of them indexes.
_BYTES_LOADED = 5

_RANGES = """
    select consensus_start, consensus_end, first_block, last_block, files, transactions, signed,
        filters::text, rests_on, basis
    from loaded_range order by consensus_start"""


def save(
    folder: Path, echo: Echo, stopping: threading.Event, *, jobs: int, entities: frozenset[int] = frozenset()
) -> Manifest:
    """Write a snapshot into a new folder; return its manifest.

    With `entities`, it has what these took part in and their state, and of the rest what a reader needs to
    understand that. Errors: OperatorError; Stopped.
    """
    stored_network.check()
    distributed = is_distributed()
    content = dump.Content(
        SNAPSHOT,
        partial(_queries, entities=entities, distributed=distributed),
        partial(_complete, entities=entities, distributed=distributed),
        shares_snapshot=not distributed,
    )
    with session() as holder:
        # Several machines that hold the rows share no snapshot. The lock ends with the session.
        if distributed and not try_lock(holder, LOADER_LOCK):
            raise OperatorError(
                "A node loads into this database, which is distributed: stop loading while the snapshot is "
                "written."
            )
        return dump.write(Task(folder, echo, stopping, jobs), content)


def _queries(
    own: Session, tables: dict[str, list[str]], *, entities: frozenset[int], distributed: bool
) -> list[Query]:
    """Return the tables of which pg_dump reads nothing, or only a part: each has rows on other machines."""
    chosen: list[Query] = []
    if entities:
        whole = selection.whole_tables()
        chosen = selection.queries(own, {name: tables[name] for name in tables.keys() - whole}, entities)
        tables = {name: columns for name, columns in tables.items() if name in whole}
    if not distributed:
        return chosen
    sizes = Counter[str]()
    for part in cluster.shards().parts:
        # About half of it is indexes.
        sizes[part.table] += part.bytes // 2
    found = [
        selection.query(name, columns, f'from "{name}"', sizes[name]) for name, columns in tables.items()
    ]
    return [*chosen, *sorted(found, key=lambda query: -query.bytes)]


def _complete(
    first: Session, _: Path, manifest: Manifest, *, entities: frozenset[int], distributed: bool
) -> Manifest:
    with first.cursor(row_factory=dict_row) as cursor:
        ranges: list[dict[str, Any]] = [
            each | {"filters": each["filters"] and json.loads(each["filters"])}
            for each in cursor.execute(_RANGES).fetchall()
        ]
    named = [str(entity_id.text(entity)) for entity in sorted(entities)]
    if named:
        ranges = [each | {"filters": selection.filters(each["filters"], named)} for each in ranges]
    # The size of this database is that of all entities, on one of the machines.
    size = _BYTES_LOADED * manifest.bytes if entities or distributed else manifest.database_bytes
    return replace(
        manifest,
        database_bytes=size,
        ranges=ranges,
        entities=named,
        settings={},
    )
