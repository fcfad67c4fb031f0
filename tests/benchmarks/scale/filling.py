"""Filling the database of a node of its own with a large network, in minutes.

Nothing waits for the disk meanwhile, and indexes are built when their rows are there.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg

from mirror.node.postgres.cluster import DATABASE, ROLE
from mirror.node.postgres.installation import server_paths
from mirror.node.postgres.server import Server
from tests.benchmarks.scale.databases import ROOT
from tests.benchmarks.scale.rows import FUNCTIONS, IN_ORDER, SECOND, STEPS, Shape

# For the time of filling only: a crash loses the database.
_RECKLESS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "autovacuum": "off",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "1h",
}
_SESSION = "set work_mem = '192MB'; set maintenance_work_mem = '512MB'; set timezone = 'UTC'; set jit = off"
_MAX_LANES = 4
_PLANS = ("planned", "minted", "moved", "nft_transfers", "run")

# Constraints and indexes of the partitionable tables, by what makes them again. Those of a partitioned table
# stand for those of its partitions.
_INDEXES = """
    select t.relname, i.relname, pg_get_indexdef(x.indexrelid), pg_get_constraintdef(c.oid)
    from pg_index x
    join pg_class t on t.oid = x.indrelid
    join pg_class i on i.oid = x.indexrelid
    left join pg_constraint c on c.conindid = x.indexrelid and c.contype in ('p', 'u')
    where t.relname = any(%s) and t.relnamespace = current_schema()::regnamespace and not t.relispartition
    order by x.indisprimary desc, i.relname"""

_LOADED = [
    *("crypto_transfer", "token_transfer", "transaction", "topic_message", "transaction_hash", "nft"),
    *("contract_result", "contract_log", "contract_action", "contract_state_change", "contract_transaction"),
    *("contract_transaction_hash", "ethereum_transaction", "token_account", "entity", "nft_history"),
    *("account_balance", "token_balance", "entity_history", "token"),
]


def fill(folder: Path, shape: Shape, *, partitions: bool, tell: Callable[[str], None]) -> None:
    """Make the node's database and fill it. Errors: SystemExit if there is one already."""
    folder = folder.resolve()
    where = server_paths(folder)
    if where.data.exists():
        raise SystemExit(f"There is a database in {folder} already: choose another folder, or remove it.")
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    began = time.monotonic()
    with Server(where, configuration=_RECKLESS).in_use():
        _make_tables(folder, shape, partitions)
        url = f"postgresql:///{DATABASE}?host={where.socket}&user={ROLE}"
        fill_tables(url, shape, tell)
    tell(f"{shape.transactions:,} transactions in {time.monotonic() - began:.0f} s.")


def fill_tables(url: str, shape: Shape, tell: Callable[[str], None]) -> None:
    """Fill the empty tables of a migrated database."""
    lanes = _Lanes(url, tell)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"drop table if exists {', '.join(_PLANS)}")
        made_again = _dropped_indexes(connection)
    steps = [(title, statements.format_map(shape.names)) for title, statements in STEPS]
    for step in steps[:IN_ORDER]:
        lanes.run([step])
    lanes.run(steps[IN_ORDER:])
    lanes.run(made_again)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"drop table {', '.join(_PLANS)}")
    lanes.run([("statistics", "vacuum (analyze)")])


class _Lanes:
    """Work that does not depend on each other, on as many connections as there are processors."""

    def __init__(self, url: str, tell: Callable[[str], None]) -> None:
        self._url, self._tell = url, tell

    def run(self, steps: list[tuple[str, str]]) -> None:
        """Run statements by their titles; return when all are done. Errors: psycopg.Error of the first."""
        with ThreadPoolExecutor(min(os.cpu_count() or 1, _MAX_LANES)) as threads:
            for done in [threads.submit(self._step, *step) for step in steps]:
                done.result()

    def _step(self, title: str, statements: str) -> None:
        began = time.monotonic()
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(_SESSION)
            connection.execute(FUNCTIONS)
            connection.execute(statements.encode())
        self._tell(f"{time.monotonic() - began:7.1f} s  {title}")


def _dropped_indexes(connection: psycopg.Connection[Any]) -> list[tuple[str, str]]:
    """Drop constraints and indexes; return for each table what makes them again."""
    made: dict[str, list[str]] = {}
    for table, index, definition, constraint in connection.execute(_INDEXES, [_LOADED]).fetchall():
        dropped = f"alter table {table} drop constraint {index}" if constraint else f"drop index {index}"
        connection.execute(dropped.encode())
        # An index of a partitioned table is reported as that of the table alone; it is made for all of it.
        again = f"alter table {table} add constraint {index} {constraint}" if constraint else definition
        made.setdefault(table, []).append(again.replace(" ON ONLY ", " ON "))
    # The largest tables first.
    return [(f"indexes of {table}", "; ".join(made[table])) for table in _LOADED if table in made]


def _make_tables(folder: Path, shape: Shape, partitions: bool) -> None:
    """In a process with the node's settings."""
    environment = {name: text for name, text in os.environ.items() if name != "DATABASE_URL"} | {
        "DJANGO_SETTINGS_MODULE": "mirror.settings",
        "SVC_MIRROR_DATA": str(folder),
        "SVC_MIRROR_NETWORK": "simulated",
        "SVC_MIRROR_DB_PARTITIONS": str(partitions).lower(),
    }
    first = shape.first // SECOND
    days = f"range({first // 86_400}, {(first + shape.seconds) // 86_400 + 1})"
    code = f"""
import django
django.setup()
from django.db import transaction
from mirror.core.db.partitions.making import create_partitions_for
from mirror.upgrade.tables import make_tables
make_tables(lambda text: None)
with transaction.atomic():
    create_partitions_for(lambda: {days})
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)
