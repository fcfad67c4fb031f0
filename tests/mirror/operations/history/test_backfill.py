"""`manage.py backfill`: the result equals one ordered load, in every table."""

import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from ledger.ingest.errors import TableSwapRequested
from ledger.ingest.pipeline import LoadOptions, Pipeline, Progress
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.source.local import find_record_files
from ledger.stream.source.stream_file import StreamFile
from mirror.core.config.errors import OperatorError
from mirror.core.processes.progress import FileDisplay
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.keys.nodes import nodes
from mirror.demo.publish.balances import BalanceWriter
from mirror.demo.publish.history import History
from mirror.demo.run import ADDRESS_BOOK_FILE, first_book
from mirror.models import LOADER_LOCK, REPLACING_LOCK, LoadedRange
from mirror.node.loading import following
from mirror.node.loading.single_loader import retry_after_swap, single_loader
from mirror.operations.backup.sessions import session as own_session
from mirror.operations.history import backfill as running
from mirror.operations.history import plan, state
from mirror.operations.history.plan import SCHEMA, instant_text
from mirror.operations.history.source import open_source
from tests import forking
from tests.ledger.ingest.load import settings
from tests.ledger.ingest.tables import empty_tables
from tests.mirror.core.db.describe import describe
from tests.mirror.operations.history.commands import backfill, change, whole
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

BLOCKS, TPS, HOURS = 16, 5, 30
HALF = BLOCKS // 2


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A day and more of the simulated network: people, tokens and contracts are met again later."""
    folder = tmp_path_factory.mktemp("stream")
    for _, block in History(BLOCKS, TPS, 5, HOURS).play(nodes()):
        block.write(folder)
    (folder / ADDRESS_BOOK_FILE).write_bytes(first_book())
    return folder


@pytest.fixture(scope="module")
def of_all() -> dict[str, dict[str, list[str]]]:
    """What all files of the stream become, once a test has loaded them in order."""
    return {}


@pytest.fixture
def ordered(stream: Path, of_all: dict[str, dict[str, list[str]]]) -> dict[str, list[str]]:
    """What all files of the stream become if they are loaded in order."""
    if not of_all:
        load(find_record_files([stream]))
        of_all["tables"] = whole()
        empty_tables()
    return of_all["tables"]


def load(files: Any, *, start: int | None = None) -> None:
    Pipeline(options=LoadOptions(start=start), quorums=Quorums(first_book())).run(files)


def in_small_batches(*words: Any) -> None:
    with settings(importer__parser__record__batch__maxItems=20):
        backfill(*words)


def files_of_history() -> int:
    with connection.cursor() as cursor:
        cursor.execute("select to_regclass(%s) is not null", [f"{SCHEMA}.backfill_plan"])
        if cursor.fetchone() != (True,):
            return -1
        cursor.execute(f"select count(*) from {SCHEMA}.record_file")
        return int(cursor.fetchone()[0])


def test_backfilled_history_equals_an_ordered_load(stream, ordered):
    files = find_record_files([stream])
    load(files[HALF:])
    with connection.cursor() as cursor:
        cursor.execute("grant select on record_file to pg_monitor")
        cursor.execute("insert into loaded_errata (part, applied, changed) values ('any', '{1}', now())")
    schema = describe(connection)

    said = backfill("genesis", "head", stream)

    assert whole() == ordered
    assert "The history is in place." in said
    assert describe(connection) == schema
    with connection.cursor() as cursor:
        cursor.execute("select has_table_privilege('pg_monitor', 'record_file', 'select')")
        assert cursor.fetchone() == (True,)
        cursor.execute("revoke select on record_file from pg_monitor")
        # The files bring no errata.
        cursor.execute("select count(*) from loaded_errata")
        assert cursor.fetchone() == (0,)
    assert "nothing to backfill" in backfill("genesis", "head", stream)


def test_killed_backfill_resumes_and_separate_range_leaves_a_gap(stream, ordered, monkeypatch):
    # The server may take a while to see that a process is gone.
    monkeypatch.setattr("ledger.ingest.loader_lock.LOADER_LOCK_SECONDS", PATIENCE_SECONDS)
    files = find_record_files([stream])
    load(files[2:6])
    load(files[HALF:], start=files[HALF].instant)
    with_gap = whole()
    empty_tables()
    load(files[HALF:])
    of_a_range = (instant_text(files[2].instant), instant_text(files[5].instant), stream)
    to_the_head = ("genesis", "head", stream)

    for files_before in (0, 6):
        process = forking.begun(in_small_batches, *of_a_range)
        wait_until(lambda p=process, n=files_before: p.exitcode is not None or files_of_history() >= n)
        forking.kill(process)
        assert LoadedRange.objects.count() == 1 or plan.stored() is None
    backfill(*of_a_range)

    assert whole() == with_gap

    process = forking.begun(in_small_batches, *to_the_head)
    wait_until(lambda: process.exitcode is not None or files_of_history() >= HALF)
    forking.kill(process)
    backfill(*to_the_head)

    assert whole() == ordered


def test_by_default_the_files_come_from_the_bucket_of_the_settings(stream, ordered, tmp_path):
    load(find_record_files([stream])[HALF:])
    (tmp_path / "streams").symlink_to(stream)

    with settings(importer__downloader__cloudProvider="LOCAL", importer__dataPath=str(tmp_path)):
        said = backfill("genesis", "head", "--jobs", 2)

    assert whole() == ordered
    assert "--jobs is without effect" in said


def test_bucket_is_refused_where_blocks_are_loaded(composed, tmp_path):
    Pipeline().run(find_record_files([composed])[3:])
    change("update record_file set name = '000000000000000000000000000000000005.blk.gz' where index = 5")

    with (
        settings(importer__downloader__cloudProvider="LOCAL", importer__dataPath=str(tmp_path)),
        pytest.raises(OperatorError, match="has loaded blocks, up to 0+5.blk.gz"),
    ):
        backfill("genesis", "head")

    assert plan.stored() is None


def test_without_signatures_files_are_loaded_that_nobody_can_verify(stream, tmp_path):
    # One signature of each file.
    shutil.copytree(stream, tmp_path, ignore=shutil.ignore_patterns("record0.0.[4-9]"), dirs_exist_ok=True)
    files = find_record_files([tmp_path])
    Pipeline().run(files[-2:])
    words = (instant_text(files[-3].instant), "head", tmp_path)

    with pytest.raises(OperatorError, match="signed by 1 of 4 nodes"):
        backfill(*words)
    backfill(*words, "--without-signatures")

    (loaded,) = LoadedRange.objects.all()
    assert (loaded.files, loaded.signed) == (3, False)
    with pytest.raises(OperatorError, match="Files of a bucket are always verified"):
        backfill("genesis", "head", "--without-signatures")


def test_full_disk_is_refused(composed, monkeypatch):
    Pipeline().run(find_record_files([composed])[3:])
    wanted = plan.parse("genesis", "head", str(composed))
    monkeypatch.setattr("shutil.disk_usage", lambda _: shutil._ntuple_diskusage(1 << 20, 1 << 20, 0))

    with (
        settings(db__url=""),
        pytest.raises(OperatorError, match="once more what the node has needs"),
    ):
        running.prepare(wanted, open_source(wanted.source))

    assert plan.stored() is None


def test_earlier_balance_file_replaces_that_of_the_head(tmp_path):
    balances = BalanceWriter(tmp_path, nodes(), 20)
    for network, block in History(12, 4, 3, 2).play(nodes()):
        block.write(tmp_path)
        balances.after(network.world, block)
    files = find_record_files([tmp_path])
    early, late = (instant_text(files[index].instant) for index in (4, 8))
    end = instant_text(files[-1].instant + 60 * NANOS_PER_SECOND)

    def follow(start: str) -> None:
        following.follow(lambda sentence: None, threading.Event(), str(tmp_path), start=start, until=end)

    follow(early)
    ordered = whole()
    empty_tables()
    follow(late)
    assert LoadedRange.objects.get().rests_on == "balances"

    backfill(early, "head", tmp_path)

    assert whole() == ordered
    assert LoadedRange.objects.get().rests_on == "balances"


def test_loader_yields_and_resumes_and_no_reader_fails(composed):
    files = find_record_files([composed])
    Pipeline().run(files)
    ordered = whole()
    empty_tables()
    Pipeline().run(files[3:4])
    stopped, in_place, seen = threading.Event(), threading.Event(), list[int]()

    def published() -> Iterator[StreamFile | None]:
        yield from files[3:5]
        while not in_place.wait(0.05):
            yield None
        yield from files[5:]

    def load_on() -> None:
        def run() -> Progress:
            return Pipeline(options=LoadOptions(yield_to_backfill=True)).run(published())

        retry_after_swap(run, stopped)
        connection.close()

    def read_on() -> None:
        while not stopped.is_set():
            with connection.cursor() as cursor:
                cursor.execute(
                    "select count(*) from record_file join crypto_transfer on false right join "
                    "record_file r on true where r.index >= %s",
                    [0],
                )
                seen.append(cursor.fetchone()[0])
        connection.close()

    loader, reader = threading.Thread(target=load_on), threading.Thread(target=read_on)
    loader.start()
    reader.start()
    try:
        wait_until(lambda: len(files) - 1 in LoadedRange.objects.values_list("files", flat=True) or seen)
        backfill("genesis", "head", composed)
        wait_until(lambda: seen[-1] >= 5)
    finally:
        in_place.set()
        loader.join()
        stopped.set()
        reader.join()

    assert whole() == ordered
    assert seen == sorted(seen)


@pytest.mark.parametrize("is_prepared", [False, True])
def test_files_that_are_published_and_loaded_meanwhile_are_backfilled_too(composed, tmp_path, is_prepared):
    files = find_record_files([composed])
    Pipeline().run(files)
    ordered = whole()
    empty_tables()
    Pipeline().run(files[3:5])
    newest = next(path for path in composed.rglob(files[5].name))
    shutil.copytree(composed, tmp_path, ignore=shutil.ignore_patterns(newest.name), dirs_exist_ok=True)
    wanted = plan.parse("genesis", "head", str(tmp_path))
    work = running.Run(
        wanted,
        open_source(wanted.source),
        print,
        lambda total: FileDisplay("", total, print),
        threading.Event(),
    )
    if is_prepared:
        running.prepare(wanted, work.source)

    shutil.copy(newest, tmp_path / newest.relative_to(composed))
    Pipeline().run(files[5:])

    running.prepare(wanted, work.source)
    assert running.run(work)
    assert whole() == ordered


@contextmanager
def wanted_by_a_backfill() -> Iterator[None]:
    """Another session wants the loader to make way."""
    with own_session() as other:
        other.execute("select pg_advisory_lock(%s)", [REPLACING_LOCK])
        yield


def test_loader_that_makes_way_can_be_stopped():
    stopping, tried = threading.Event(), list[bool]()

    def load_on() -> None:
        tried.append(True)
        stopping.set()
        with single_loader(stopping):
            pytest.fail("It did not make way.")

    with wanted_by_a_backfill():
        retry_after_swap(load_on, stopping)

    assert tried == [True]


def test_running_loader_does_not_wait_for_the_backfill(composed):
    with single_loader(threading.Event()), wanted_by_a_backfill(), pytest.raises(TableSwapRequested):
        Pipeline(options=LoadOptions(yield_to_backfill=True)).run(find_record_files([composed]))


def test_locked_table_stops_neither_loader_nor_command(composed, monkeypatch):
    monkeypatch.setattr(running, "_TRIES", 1)
    Pipeline().run(find_record_files([composed])[3:])
    before, said, stopping = whole(), list[str](), threading.Event()

    def echo(sentence: str) -> None:
        said.append(sentence)
        if sentence.startswith("Waiting"):
            locks = reader.execute(
                "select pg_try_advisory_lock(%s), pg_try_advisory_lock(%s)", [REPLACING_LOCK, LOADER_LOCK]
            )
            assert locks.fetchone() == (True, True)
            stopping.set()

    wanted = plan.parse("genesis", "head", str(composed))
    work = running.Run(
        wanted, open_source(wanted.source), echo, lambda total: FileDisplay("", total, echo), stopping
    )
    with own_session() as reader:
        reader.execute("begin; select from entity limit 1")
        running.prepare(wanted, work.source)
        assert not running.run(work)

    (waiting,) = (each for each in said if each.startswith("Waiting"))
    unfinished = state.read()
    assert unfinished
    assert "6 of about 6 files up to" in unfinished.sentence
    assert re.match(r"Waiting for the session \d+.*, for \d+ min by now, to let go of a table", waiting)
    assert whole() == before
