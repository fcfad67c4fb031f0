"""From stream files in a folder to tables: order, chain, batches, errors, restarts."""

import gzip
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection, connections

from ledger.ingest import IngestError, loader_lock
from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.stream.errors import StreamFileError
from ledger.stream.source.local import find_record_files
from ledger.stream.source.stream_file import StreamFile
from mirror.core import config
from mirror.core.config.setting import OperatorError
from mirror.core.values.hapi.messages import (
    ContractBytecode,
    ContractID,
    TransactionSidecarRecord,
)
from mirror.models import LOADER_LOCK
from tests.composing import Composer, Layout
from tests.counts import counted
from tests.ledger.ingest.tables import contents, empty_tables
from tests.signing import signing_nodes

pytestmark = pytest.mark.django_db(transaction=True)


def stream(folder: Path, blocks: int = 3, transfers: int = 4) -> Composer:
    composer = Composer()
    for _ in range(blocks):
        composer.crypto_create(1001 + composer.block_number, initial_balance=1000)
        for _ in range(transfers):
            composer.crypto_transfer({1001: -5, 2: 5}, payer=1001)
        composer.block().write(folder)
    return composer


def load(folder: Path, **options: Any) -> Any:
    return Pipeline(**options).run(find_record_files([folder]))


def query(statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


@pytest.mark.checklist("FILE-04", "FILE-10")
def test_every_file_of_a_folder_is_loaded_in_order(tmp_path: Path) -> None:
    stream(tmp_path)

    done = load(tmp_path)

    assert (done.files, done.transactions) == (3, 15)
    assert query("select index, count from record_file order by consensus_end") == [(0, 5), (1, 5), (2, 5)]
    assert query("select count(*) from transaction") == [(15,)]


def test_what_is_loaded_and_refused_is_counted(tmp_path: Path) -> None:
    def counts() -> list[float]:
        return [
            counted("mirror_ingest_files_total"),
            counted("mirror_ingest_transactions_total"),
            counted("mirror_ingest_rows_total", table="transaction"),
            counted("mirror_ingest_refused_total", reason="chain"),
        ]

    stages = ("read", "rows", "copy", "commit")
    before, seconds = counts(), [counted("mirror_ingest_seconds_total", stage=stage) for stage in stages]
    stream(tmp_path)
    load(tmp_path)
    first, _, last = find_record_files([tmp_path])
    empty_tables()
    with pytest.raises(IngestError, match="the chain is broken"):
        Pipeline().run([first, last])

    assert [now - then for now, then in zip(counts(), before, strict=True)] == [4, 20, 20, 1]
    for stage, then in zip(stages, seconds, strict=True):
        assert counted("mirror_ingest_seconds_total", stage=stage) > then


@pytest.mark.checklist("FILE-02")
def test_loading_again_changes_nothing(tmp_path: Path) -> None:
    stream(tmp_path)
    load(tmp_path)
    before = contents()

    done = load(tmp_path)

    assert (done.files, done.skipped) == (0, 3)
    assert contents() == before


@pytest.mark.checklist("FILE-02")
@pytest.mark.parametrize("allow_gap", [False, True])
def test_a_file_that_was_left_out_is_refused_and_not_called_loaded(tmp_path: Path, allow_gap: bool) -> None:
    stream(tmp_path, blocks=6)
    files = find_record_files([tmp_path])
    Pipeline(LoadOptions(allow_gap=True)).run([files[1], files[4]])
    before = contents()

    for left_out in (0, 2, 3):
        with pytest.raises(IngestError, match="the database has not loaded it, but later ones") as raised:
            Pipeline(LoadOptions(allow_gap=allow_gap)).run(files[left_out:])
        assert raised.value.file == files[left_out].name
        assert contents() == before

    done = Pipeline(LoadOptions(allow_gap=allow_gap)).run(files[4:])
    assert (done.files, done.skipped) == (1, 1)


@pytest.mark.checklist("FILE-02")
def test_a_file_of_another_stream_with_the_same_names_is_refused(tmp_path: Path) -> None:
    stream(tmp_path / "ours")
    stream(tmp_path / "other", transfers=5)
    load(tmp_path / "ours")

    with pytest.raises(IngestError, match="the database has another block 0"):
        load(tmp_path / "other")


def test_numbers_that_were_counted_do_not_tell_that_a_file_is_of_another_history(tmp_path: Path) -> None:
    stream(tmp_path / "ours")
    stream(tmp_path / "other", transfers=5)
    load(tmp_path / "ours")
    with connection.cursor() as cursor:
        cursor.execute("update record_file set version = 5")

    with pytest.raises(IngestError, match="the database has not loaded it"):
        load(tmp_path / "other")


def test_a_file_that_is_there_plain_and_compressed_is_loaded_once(tmp_path: Path) -> None:
    stream(tmp_path, blocks=2)
    for compressed in list(tmp_path.iterdir()):
        compressed.with_suffix("").write_bytes(gzip.decompress(compressed.read_bytes()))

    assert (load(tmp_path).files, load(tmp_path).skipped) == (2, 4)


def test_a_file_that_begins_before_the_last_one_ends_is_loaded_if_it_follows(tmp_path: Path) -> None:
    composer = Composer()
    for _ in range(2):
        composer.crypto_transfer({1001: -5, 2: 5}, payer=1001)
        last = composer.crypto_transfer({1001: -5, 2: 5}, payer=1001).consensus_timestamp
        composer.block().write(tmp_path)
        composer.consensus_timestamp = last - 500

    assert load(tmp_path).files == 2
    assert load(tmp_path).skipped == 2
    assert query("select count(*) from transaction") == [(4,)]


def test_the_first_batch_is_small_so_that_writing_begins_soon(tmp_path: Path) -> None:
    composer = Composer()
    for _ in range(8):
        for _ in range(1_000):
            composer.crypto_transfer({1001: -5, 2: 5}, payer=1001)
        composer.block().write(tmp_path)
    committed: list[int] = []

    Pipeline(report=lambda progress: committed.append(progress.transactions)).run(
        find_record_files([tmp_path])
    )

    assert sorted(set(committed)) == [0, 3_000, 8_000]


def test_progress_counts_only_what_is_committed(tmp_path: Path) -> None:
    stream(tmp_path, blocks=5)
    reported: list[tuple[int, int]] = []

    load(
        tmp_path,
        report=lambda done: reported.append((done.files, *query("select count(*) from record_file")[0])),
    )

    assert reported[-1] == (5, 5)
    assert [files for files, stored in reported if files > stored] == []


@pytest.mark.parametrize("layout", Layout)
def test_both_bucket_layouts_are_read(tmp_path: Path, layout: Layout) -> None:
    composer = Composer(nodes=signing_nodes(2))
    composer.crypto_transfer({1001: -5, 2: 5}, payer=1001)
    composer.block().write(tmp_path, layout.folder)

    done = load(tmp_path)

    assert done.files == 1


@pytest.mark.checklist("FILE-03", "FILE-08")
def test_files_before_a_missing_one_stay_loaded(tmp_path: Path) -> None:
    stream(tmp_path, blocks=4)
    names = sorted(tmp_path.iterdir())
    names[2].unlink()

    with pytest.raises(IngestError) as raised:
        load(tmp_path)

    assert raised.value.file == names[3].name
    assert "the chain is broken" in str(raised.value)
    assert "--allow-gap" in str(raised.value)
    assert query("select count(*), max(index) from record_file") == [(2, 1)]
    assert query("select count(*) from transaction") == [(10,)]


def test_a_gap_is_passed_when_the_operator_says_so(tmp_path: Path) -> None:
    stream(tmp_path, blocks=4)
    sorted(tmp_path.iterdir())[1].unlink()

    done = load(tmp_path, options=LoadOptions(allow_gap=True))

    assert done.files == 3
    assert query("select index from record_file order by 1") == [(0,), (2,), (3,)]


@pytest.mark.checklist("FILE-01")
def test_nothing_of_a_corrupt_file_is_loaded(tmp_path: Path) -> None:
    stream(tmp_path, blocks=4)
    broken = sorted(tmp_path.iterdir())[2]
    broken.write_bytes(broken.read_bytes()[:-20])

    with pytest.raises(StreamFileError) as raised:
        load(tmp_path)

    assert raised.value.file == broken.name
    assert query("select count(*) from record_file") == [(2,)]
    assert query("select count(*) from transaction") == [(10,)]


@pytest.mark.checklist("FILE-01", "FILE-05")
def test_loading_continues_once_the_damaged_file_is_whole(tmp_path: Path) -> None:
    stream(tmp_path, blocks=4)
    broken = sorted(tmp_path.iterdir())[2]
    whole = broken.read_bytes()
    broken.write_bytes(whole[:-20])
    with pytest.raises(StreamFileError):
        load(tmp_path)
    broken.write_bytes(whole)

    assert load(tmp_path).files == 2
    resumed = contents()
    empty_tables()
    load(tmp_path)

    assert contents() == resumed


def test_a_missing_sidecar_stops_at_its_record_file(tmp_path: Path) -> None:
    composer = Composer()
    composer.crypto_transfer({1001: -5, 2: 5}, payer=1001)
    composer.block().write(tmp_path)
    composer.crypto_transfer({1001: -5, 2: 5}, payer=1001, sidecars=[_bytecode_sidecar()])
    composer.block().write(tmp_path)
    sidecar = next((tmp_path / "sidecar").iterdir())
    sidecar.unlink()

    with pytest.raises(StreamFileError, match=f"needs its sidecar {sidecar.name}, which is missing"):
        load(tmp_path)

    assert query("select count(*) from record_file") == [(1,)]


def test_a_sidecar_of_another_content_is_refused(tmp_path: Path) -> None:
    composer = Composer()
    composer.crypto_transfer({1001: -5, 2: 5}, payer=1001, sidecars=[_bytecode_sidecar(b"\1")])
    first = composer.block()
    composer.crypto_transfer({1001: -5, 2: 5}, payer=1001, sidecars=[_bytecode_sidecar(b"\2")])
    second = composer.block()
    first.write(tmp_path)
    (other,) = second.sidecars.values()
    next((tmp_path / "sidecar").iterdir()).write_bytes(other)

    with pytest.raises(StreamFileError, match="its hash is"):
        load(tmp_path)

    assert query("select count(*) from record_file") == [(0,)]


@pytest.mark.checklist("FILE-13")
def test_sidecar_files_are_rows_with_their_counts(tmp_path: Path) -> None:
    composer = Composer()
    composer.crypto_transfer({1001: -5, 2: 5}, payer=1001, sidecars=[_bytecode_sidecar()])
    composer.block().write(tmp_path)

    load(tmp_path)

    assert query("select id, count, types, size > 0 from sidecar_file") == [(1, 1, [3], True)]
    assert query("select sidecar_count from record_file") == [(1,)]


def test_sidecars_that_are_not_wanted_are_listed_but_not_read(tmp_path: Path) -> None:
    composer = Composer()
    composer.crypto_transfer({1001: -5, 2: 5}, payer=1001, sidecars=[_bytecode_sidecar()])
    composer.block().write(tmp_path)
    next((tmp_path / "sidecar").iterdir()).unlink()
    restore = config.overridden({"importer.parser.record.sidecar.enabled": False})
    try:
        load(tmp_path)
    finally:
        restore.close()

    assert query("select id, count, size from sidecar_file") == [(1, None, None)]


def test_a_second_loader_is_turned_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader_lock, "LOADER_LOCK_SECONDS", 0.1)
    stream(tmp_path, blocks=1)
    other = connections.create_connection("default")
    try:
        with other.cursor() as cursor:
            cursor.execute("select pg_advisory_lock(%s)", [LOADER_LOCK])
            cursor.execute("set application_name = 'process 77 on ada'")

        with pytest.raises(IngestError, match="another loader is writing to it, process 77 on ada. Wait for"):
            load(tmp_path)
    finally:
        other.close()


def test_loader_whose_session_has_ended_writes_no_more(tmp_path: Path) -> None:
    stream(tmp_path, blocks=3)
    other = connections.create_connection("default")

    def files() -> Iterator[StreamFile | None]:
        first, *rest = find_record_files([tmp_path])
        yield first
        # Two of them: the second one waits until the first file is written.
        yield None
        yield None
        with other.cursor() as cursor:
            cursor.execute(
                "select pg_terminate_backend(pid, 5000) from pg_locks join pg_database on oid = database "
                "where locktype = 'advisory' and datname = current_database()"
            )
            cursor.execute("select pg_advisory_lock(%s)", [LOADER_LOCK])
        yield from rest

    try:
        with pytest.raises(OperationalError, match="terminating connection"):
            Pipeline().run(files())
        connection.close()

        assert query("select index from record_file") == [(0,)]
    finally:
        other.close()


def test_loader_whose_lock_was_released_writes_no_more(tmp_path: Path) -> None:
    stream(tmp_path, blocks=1)

    def files() -> Iterator[StreamFile]:
        query("select pg_advisory_unlock_all()")
        yield from find_record_files([tmp_path])

    with pytest.raises(IngestError, match="this loader has lost its lock"):
        Pipeline().run(files())

    assert query("select index from record_file") == []


def test_refused_loader_names_the_loader_that_runs(tmp_path: Path) -> None:
    stream(tmp_path, blocks=1)
    seen: list[tuple[str]] = []
    lock = (
        "select application_name from pg_stat_activity join pg_locks using (pid)"
        " where locktype = 'advisory' and datname = current_database()"
    )

    load(tmp_path, report=lambda progress: seen.extend(query(lock)))

    assert set(seen) == {(f"process {os.getpid()} on {socket.gethostname()}",)}


def _bytecode_sidecar(code: bytes = b"\0") -> Any:
    return TransactionSidecarRecord(
        bytecode=ContractBytecode(contract_id=ContractID(contractNum=5), runtime_bytecode=code)
    )


def test_a_database_takes_files_of_one_network_only(tmp_path: Path, settings_of: Callable[..., None]) -> None:
    stream(tmp_path, blocks=1)
    settings_of({"network": "testnet"})
    load(tmp_path)
    assert load(tmp_path).skipped == 1
    settings_of({"network": "mainnet"})

    with pytest.raises(
        OperatorError,
        match=r"holds the network testnet, and SVC_MIRROR_NETWORK is mainnet: set it to testnet, or",
    ):
        load(tmp_path)

    assert query("select network from stored_network") == [("testnet",)]


def test_a_database_without_blocks_is_of_no_network_yet(
    tmp_path: Path, settings_of: Callable[..., None]
) -> None:
    settings_of({"network": "testnet"})
    Pipeline().run([])
    settings_of({"network": "mainnet"})
    stream(tmp_path, blocks=1)

    assert load(tmp_path).files == 1
    assert query("select network from stored_network") == [("mainnet",)]
