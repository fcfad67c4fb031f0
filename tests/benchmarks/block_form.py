"""Simulated histories as record files, as blocks, and as both in turn: the same rows of all tables.

    python -m tests.benchmarks.block_form [--seeds 20] [--blocks 100] [--tps 40] [--hours 100]

Of each seed a history is composed once and loaded three times, the last time by three processes, with
everything stored that settings can leave out. Those of odd seeds are signed and verified; those of even seeds
are of older releases, which had no threshold signatures. Each column of each table is compared with that of
record files, but for those that a block says otherwise by nature. At the end come the types of transactions
that occurred in none of the histories, and the tables that remained empty. Everything lies in a temporary
folder.
"""

import os
import shutil
import signal
import tempfile
import time
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path

_TABLES = """
    select string_agg(format('%I', relname), ', ') from pg_class
    where relkind in ('r', 'p') and not relispartition and relnamespace = current_schema()::regnamespace
        and relname !~ '^(django_|auth_|axes_|mirror_node_time|backfill|stored_network)'"""


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--blocks", type=int, default=100)
    parser.add_argument("--tps", type=float, default=40)
    parser.add_argument("--hours", type=float, default=100)
    options = parser.parse_args()
    # As any other end does, this one stops PostgreSQL.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "mirror.settings",
            "SVC_MIRROR_DATA": f"{folder}/data",
            "SVC_MIRROR_NETWORK": "simulated",
        }
        (folder / "data").mkdir(mode=0o755)
        import django

        django.setup()
        from mirror.core import config
        from mirror.start import database
        from mirror.upgrade.tables import make_tables
        from tests.ledger.ingest.both_forms import EVERYTHING

        config.overridden(EVERYTHING)
        with database.ready(print):
            make_tables(print)
            seeds = range(options.first, options.first + options.seeds)
            _compare(folder / "stream", seeds, (options.blocks, options.tps, options.hours))


def _compare(folder: Path, seeds: range, size: tuple[int, float, float]) -> None:
    from mirror.core.values.hapi.messages import TransactionBody
    from tests.ledger.ingest.both_forms import Tables, differences, load, play, stored_tables

    blocks, tps, hours = size
    kinds: Counter[str] = Counter()
    filled: Counter[str] = Counter()
    different = 0
    for seed in seeds:
        older = seed % 2 == 0
        history, counts = play(blocks, tps, seed, hours, older=older)
        kinds.update(counts)
        stored: list[Tables] = []
        seconds = []
        for blocks_from in (blocks, 0, blocks // 2):
            _empty_tables()
            began = time.process_time()
            readers = 2 if len(stored) == 2 else 0
            load(history, folder, blocks_from=blocks_from, signed=not older, readers=readers)
            seconds.append(time.process_time() - began)
            shutil.rmtree(folder)
            stored.append(stored_tables())
        of_records, *others = stored
        filled.update({table: len(rows) for table, rows in of_records.items()})
        found = [differences(of_records, tables) for tables in others]
        different += any(found)
        rows = sum(len(rows) for rows in of_records.values())
        print(
            f"seed {seed}: {len(counts)} types of transactions, {rows:,} rows; written and loaded in "
            f"{seconds[0]:.1f} s as record files, {seconds[1]:.1f} s as blocks, {seconds[2]:.1f} s as both; "
            + ("DIFFERENT" if any(found) else "equal"),
            flush=True,
        )
        for form, each in zip(("blocks", "both"), found, strict=True):
            for difference in each:
                print(f"  as {form}: {difference}", flush=True)
    print(f"{different} of {len(seeds)} histories differ")
    missing = [each.name for each in TransactionBody.DESCRIPTOR.oneofs_by_name["data"].fields]
    print("types that did not occur:", ", ".join(name for name in missing if name not in kinds) or "none")
    print("empty tables:", ", ".join(table for table, count in filled.items() if not count) or "none")


def _empty_tables() -> None:
    from django.db import connection

    from mirror.core.db.partitions.making import create_partitions_ahead

    with connection.cursor() as cursor:
        cursor.execute(_TABLES)
        cursor.execute(f"truncate {cursor.fetchone()[0]} cascade")
    create_partitions_ahead()


if __name__ == "__main__":
    main()
