"""A start in the middle at random points of a simulated history, compared with a full load.

    python -m tests.benchmarks.balances [points] [blocks]

makes a history with balance files, loads all of it, and then from each point on. All balances of accounts and
relationships at the end have to be those of the full load, and all balance files after the start equal to
what the node says of their times. Everything lies in a temporary folder.
"""

import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_TABLES = """
    select string_agg(format('%I', relname), ', ') from pg_class
    where relkind in ('r', 'p') and not relispartition and relnamespace = current_schema()::regnamespace
        and relname !~ '^(django_|auth_|axes_|mirror_node_time|backfill|stored_network)'"""
_DIFFERENCES = (
    "select consensus_timestamp, account_id, token_id, ours, theirs from balance_difference limit 6"
)
_END = (
    "select id, balance from entity where type in ('ACCOUNT', 'CONTRACT') and deleted is not true order by 1",
    "select account_id, token_id, balance from token_account where associated order by 1, 2",
)


def main(points: int = 10, blocks: int = 400) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "mirror.settings",
            "SVC_MIRROR_DATA": f"{folder}/data",
            "SVC_MIRROR_NETWORK": "simulated",
        }
        import django

        django.setup()
        from mirror.start import database
        from mirror.upgrade.tables import make_tables

        stream = Path(folder) / "stream"
        with database.ready(print):
            make_tables(print)
            _measure(stream, points, blocks)


def _measure(stream: Path, points: int, blocks: int) -> None:
    from django.db import connection

    from ledger.ingest.balances import choosing
    from ledger.ingest.balances.reconciliation import reconcile
    from ledger.ingest.pipeline import LoadOptions, Pipeline
    from ledger.ingest.trusted_nodes import Quorums
    from ledger.stream.source.balance_files import find_balance_files
    from ledger.stream.source.local import find_record_files
    from mirror.core.db.partitions.making import create_partitions_ahead
    from mirror.demo.publish.history import BalanceWriter, History
    from mirror.demo.streams.keys import first_book, nodes
    from mirror.models import LoadedRange

    def rows(statement: str) -> list[Any]:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def load(files: list[Any], start: Any = None) -> float:
        with connection.cursor() as cursor:
            cursor.execute(f"truncate {rows(_TABLES)[0][0]} cascade")
        create_partitions_ahead()
        began = time.process_time()
        Pipeline(LoadOptions(balances=start, quorums=Quorums(first_book()))).run(files)
        return time.process_time() - began

    balances = BalanceWriter(stream, nodes(), 15)
    for network, block in History(blocks, 25, 7, blocks / 40).play(nodes()):
        block.write(stream)
        balances.after(network.world, block)
    files, published = find_record_files([stream]), find_balance_files([stream])
    seconds = load(files)
    expected = [rows(statement) for statement in _END]
    print(
        f"{len(files):,} blocks with {network.counts.total():,} transactions and {len(published):,} balance "
        f"files; full load {seconds:.1f} s; {len(expected[0]):,} accounts, {len(expected[1]):,} relationships"
    )
    last = published[-1].instant
    chosen = sorted(
        random.Random(5).sample([n for n in range(1, len(files)) if files[n].instant < last], points)
    )
    wrong = 0
    for point in chosen:
        left = files[point:]
        quorums = Quorums(first_book())
        start = choosing.from_folders([stream], left, quorums)
        assert start is not None
        seconds = load(left, start)
        equal = sum([rows(statement) for statement in _END][n] == expected[n] for n in (0, 1))
        for number, statement in enumerate(_END):
            for row in sorted(set(rows(statement)) ^ set(expected[number]))[:6]:
                print(f"  differs: {row}")
        later = [each for each in published if each.instant > start.last]
        compared = [reconcile(each.read(quorums.quorum())[0]) for each in later]
        for row in rows(_DIFFERENCES):
            print(f"  differs from a file: {row}")
        same = sum(each.outcome == 2 for each in compared)
        (loaded,) = LoadedRange.objects.all()
        wrong += equal < 2 or same < len(later) or loaded.basis != start.file.name
        print(
            f"from block {point:>4}: {seconds:4.1f} s; at the end {equal} of 2 tables equal; {same} of "
            f"{len(later)} later balance files equal; rests on {loaded.rests_on}, {loaded.basis}",
            flush=True,
        )
    print(f"{points - wrong} of {points} starts are right.")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
