"""Prefetching in other processes: the tables end up as if one process had done all in order."""

import os
import random
import signal
import time
from itertools import count
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.conf import settings as django_settings
from pytest_django import DjangoDbBlocker

from ledger.ingest import IngestError
from ledger.ingest.pipeline import LoadOptions, Pipeline, Progress
from ledger.ingest.stages.reader_processes import Readers
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.errors import StreamFileError
from ledger.stream.source.local import find_record_files
from mirror.core.processes import exits
from mirror.core.values.hapi.messages import (
    CryptoCreateTransactionBody,
    Key,
    TransactionBody,
    TransactionRecord,
)
from mirror.demo.publish.history import History
from mirror.demo.streams.keys import first_book, nodes
from tests import forking
from tests.composing import Composer
from tests.ledger.ingest.following.going_over import Network
from tests.ledger.ingest.load import settings, stored
from tests.ledger.ingest.tables import contents, empty_tables
from tests.ledger.stream.fixtures import ROOT, facts, needs_fixtures
from tests.node import children
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures("ledger_tables")

READERS = 2
Rows = dict[str, list[str]]
ALIAS = Key(ed25519=bytes(32)).SerializeToString()


def load(folder: Path, readers: int = 0, **options: Any) -> Progress:
    files = find_record_files([folder])
    if not readers:
        return Pipeline(LoadOptions(**options)).run(files)
    with Readers(readers) as processes:
        return Pipeline(LoadOptions(readers=processes, **options)).run(files)


def outcome(folder: Path, readers: int = 0, **options: Any) -> tuple[str, int, Rows]:
    """Load into empty tables. Return the error, how many files were prefetched, and the contents."""
    empty_tables()
    problem, prefetched = "", 0
    try:
        prefetched = load(folder, readers, **options).prefetched
    except (StreamFileError, IngestError) as error:
        problem = str(error)
    return problem, prefetched, contents()


def load_both_ways(folder: Path, **options: Any) -> tuple[str, int]:
    """Load without and with readers, to the same effect. Return the error and the prefetched files."""
    problem, _, expected = outcome(folder, **options)
    same, prefetched, rows = outcome(folder, READERS, **options)
    assert same == problem
    assert rows == expected
    return problem, prefetched


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with hours of the demo network, signed by its nodes."""
    folder = tmp_path_factory.mktemp("history")
    for _, block in History(blocks=60, tps=10, seed=5).play(nodes()):
        block.write(folder)
    return folder


@pytest.fixture(scope="module")
def expected(_test_database: None, django_db_blocker: DjangoDbBlocker, history: Path) -> Rows:
    """Return what the tables hold after one process has loaded the history."""
    with django_db_blocker.unblock():
        load(history, quorums=Quorums(first_book()))
        rows = contents()
        empty_tables()
    return rows


def test_the_way_from_wrapped_record_files_to_blocks_is_the_same(tmp_path: Path) -> None:
    network = Network(tmp_path)
    for _ in range(3):
        network.record(written=False, wrapped=True)
    network.blocks(2)

    problem, prefetched = load_both_ways(tmp_path)

    assert problem == ""
    assert prefetched
    assert [row[0] is not None for row in stored("record_file", "previous_wrapped_record_block_hash")] == [
        False, False, True, True, True
    ]  # fmt: skip


def test_a_simulated_network_is_the_same_in_small_batches(history: Path, expected: Rows) -> None:
    with settings(importer__parser__record__batch__maxItems=150):
        done = load(history, READERS, quorums=Quorums(first_book()))

    assert contents() == expected
    assert done.prefetched
    assert done.verified == done.files


@needs_fixtures
def test_files_of_public_networks_are_the_same() -> None:
    folders = [
        ROOT / group for group in sorted({fact.values[0]["group"] for fact in facts("records")})
    ] + sorted((ROOT / "blocks").iterdir())

    outcomes = [load_both_ways(folder, allow_gap=True) for folder in folders]

    assert sum(prefetched for _, prefetched in outcomes) > len(folders)


def test_a_file_that_needs_those_before_it_is_read_in_its_turn(tmp_path: Path) -> None:
    record = TransactionRecord(alias=ALIAS)
    record.receipt.accountID.accountNum = 1002
    composer = Composer()
    composer.transaction(TransactionBody(cryptoCreateAccount=CryptoCreateTransactionBody()), record)
    composer.block().write(tmp_path)
    for number in range(2001, 2021):
        # The account is named by its alias, which no table has yet.
        deletion = TransactionBody()
        deletion.cryptoDelete.deleteAccountID.accountNum = number
        deletion.cryptoDelete.transferAccountID.alias = ALIAS
        composer.transaction(deletion)
        composer.block().write(tmp_path)

    _, prefetched = load_both_ways(tmp_path)

    assert prefetched <= 1
    assert stored("entity", "obtainer_id", "id > 2000") == [(1002,)] * 20


def test_a_corrupt_file_says_the_same_and_leaves_the_same(history: Path, tmp_path: Path) -> None:
    files = sorted(history.rglob("*.rcd.gz"))
    for path in files:
        copy = tmp_path / path.relative_to(history)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    for copy in tmp_path.rglob(files[len(files) * 2 // 3].name):
        copy.write_bytes(copy.read_bytes()[:-20] + bytes(20))

    problem, _ = load_both_ways(tmp_path)

    assert problem


def test_a_reader_that_is_killed_costs_no_file(
    history: Path, expected: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(django_settings, "DATA_DIR", tmp_path)

    with Readers(READERS) as readers:
        victims = [reader.pid for reader in readers.processes]
        files = count(1)

        def kill_in_the_middle(_: Progress) -> None:
            if next(files) > 40 and victims:
                os.kill(victims.pop(), signal.SIGKILL)

        done = Pipeline(LoadOptions(readers=readers), report=kill_in_the_middle).run(
            find_record_files([history])
        )

    assert not victims
    assert contents() == expected
    assert done.prefetched < done.files
    assert "a reader of stream files" in next(exits.recent(600)).process


def load_with_readers(folder: Path) -> None:
    # Small batches, so that there are many moments between two commits.
    with settings(importer__parser__record__batch__maxItems=200):
        load(folder, READERS)


def test_a_loader_that_is_killed_leaves_whole_files_and_no_reader(history: Path, expected: Rows) -> None:
    choose = random.Random()

    for _ in range(4):
        loader = forking.begun(load_with_readers, history)
        time.sleep(choose.uniform(0, 1))
        readers = children(loader.pid or 0)
        forking.kill(loader)
        wait_until(lambda readers=readers: not any(map(psutil.pid_exists, readers)))
    load(history, READERS)

    assert contents() == expected
