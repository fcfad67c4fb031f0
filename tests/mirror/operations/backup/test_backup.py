"""Backups: of one moment while the node loads, brought back into an empty database, and what is refused."""

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_django
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from ledger.models import RecordFile
from mirror.core.config.setting import OperatorError
from mirror.demo.publish.history import History
from mirror.demo.streams.keys import nodes
from mirror.demo.streams.record_files import Block
from mirror.models import LOADER_LOCK, UPGRADE_LOCK
from mirror.node.loading.files import single_loader
from mirror.operations.backup import dump
from mirror.operations.backup import load as loading
from mirror.operations.backup.manifest import DamagedBackup, Manifest, content_digest
from mirror.operations.backup.sessions import Stopped, exclusive, session
from mirror.upgrade import tables
from tests.ledger.ingest.load import load, settings
from tests.ledger.ingest.tables import contents
from tests.partitions import own_database, query

BLOCKS = 10
GOES_ON = threading.Event()
# A migration that changes no table.
NEWEST = ("admin", "0003_logentry_add_action_flag_choices")


@cache
def blocks() -> list[Block]:
    return [block for _, block in History(blocks=BLOCKS + 2, tps=8, seed=3).play(nodes())]


class DemoProgress(NamedTuple):
    """A backup that was made while its database loaded, and the tables then and a block later."""

    folder: Path
    contents: dict[str, list[str]]
    later_contents: dict[str, list[str]]


def silent(_: str) -> None:
    pass


def backup(folder: Path, echo=silent, stopping: threading.Event = GOES_ON) -> Manifest:
    return dump.backup(folder, echo, stopping, jobs=2)


def restore(folder: Path, stopping: threading.Event = GOES_ON) -> Manifest:
    return loading.restore(folder, silent, stopping, jobs=2)


def indexes() -> list[tuple[object, ...]]:
    return query(
        "select tablename, replace(indexdef, ' ON ONLY ', ' ON ') from pg_indexes "
        "where schemaname = current_schema() and tablename !~ '_p\\d{4}_' order by 1, 2"
    )


_made: list[DemoProgress] = []


@pytest.fixture
def made(
    _test_database: None,
    django_db_blocker: pytest_django.DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> DemoProgress:
    """The backup, which is made once."""
    if not _made:
        folder = tmp_path_factory.mktemp("backups")
        with django_db_blocker.unblock(), own_database(partitioned=True), settings(network="simulated"):
            _made.append(make(folder / "backup"))
    return _made[0]


def make(folder: Path) -> DemoProgress:
    # The database is a copy of one in which other tests may have left people.
    get_user_model().objects.all().delete()
    get_user_model().objects.create_superuser("ada", password=None)
    load(*blocks()[:BLOCKS])
    before = contents()
    query("alter table topic_message add column of_another_program text default 'x'")

    def echo(sentence: str) -> None:
        if "of tables are read" in sentence:
            load(blocks()[BLOCKS])

    backup(folder, echo)
    assert RecordFile.objects.count() == BLOCKS + 1
    query("alter table topic_message drop column of_another_program")
    return DemoProgress(folder, before, contents())


@pytest.fixture
def empty(django_db_blocker: pytest_django.DjangoDbBlocker, made: DemoProgress) -> Iterator[None]:
    """A database of its own with tables, but without rows."""
    with django_db_blocker.unblock(), settings(network="simulated"), own_database(partitioned=False):
        yield


@pytest.fixture
def untouched(ledger_tables: None, django_db_blocker: pytest_django.DjangoDbBlocker) -> Iterator[None]:
    """The database of the tests, where nothing is restored."""
    with django_db_blocker.unblock(), settings(network="simulated"):
        yield


@pytest.fixture
def copy(made: DemoProgress, tmp_path: Path) -> Path:
    """A copy of the backup, to be damaged."""
    folder = tmp_path / "copy"
    shutil.copytree(made.folder, folder)
    return folder


def file_of(folder: Path, table: str) -> Path:
    (name,) = [file.name for file in Manifest.read(folder).files if file.table == table]
    return folder / name


def change(folder: Path, **changes: Callable[[Any], Any]) -> None:
    """Change the description of a backup, and its checksum with it."""
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    content.pop("sha256")
    for name, of in changes.items():
        content[name] = of(content[name])
    path.write_text(json.dumps(content | {"sha256": content_digest(content)}))


def test_backup_under_load_is_restored(empty: None, made: DemoProgress) -> None:
    wanted = indexes()

    description = restore(made.folder)

    assert contents() == made.contents
    assert description.block and description.block.number == BLOCKS - 1
    assert indexes() == wanted
    tables.check_current()
    ada = get_user_model().objects.get(username="ada", is_superuser=True)
    assert get_user_model().objects.create_user("bob").pk > ada.pk
    load(blocks()[BLOCKS])
    assert contents() == made.later_contents


def test_backup_is_restored_into_partitioned_tables(
    django_db_blocker: pytest_django.DjangoDbBlocker, made: DemoProgress
) -> None:
    with (
        django_db_blocker.unblock(),
        settings(network="simulated", db__partitions=True),
        own_database(partitioned=False),
    ):
        restore(made.folder)

        assert contents() == made.contents
        assert query("select 1 from mirror_node_time_partitions where parent = 'transaction'")


def test_backup_of_an_older_release_is_migrated(empty: None, made: DemoProgress, copy: Path) -> None:
    """Here the older release lacks a migration, and the database has no tables at all."""
    change(copy, migrations=lambda every: [each for each in every if tuple(each) != NEWEST])
    with connection.cursor() as cursor:
        cursor.execute("drop schema public, temporary cascade; create schema public")

    restore(copy)

    assert contents() == made.contents
    assert NEWEST in MigrationRecorder(connection).applied_migrations()


def test_interrupted_restore_is_not_taken_for_a_whole_one(empty: None, made: DemoProgress) -> None:
    stopping = threading.Event()

    def echo(sentence: str) -> None:
        if "rows of" in sentence:
            stopping.set()

    with pytest.raises(Stopped):
        loading.restore(made.folder, echo, stopping, jobs=2)

    for act in (tables.check_current, lambda: restore(made.folder)):
        with pytest.raises(OperatorError, match="or that was interrupted"):
            act()


def test_interrupted_backup_leaves_nothing_that_looks_whole(untouched: None, tmp_path: Path) -> None:
    load(*blocks()[:1])
    stopping, folder = threading.Event(), tmp_path / "backup"

    def echo(sentence: str) -> None:
        if "of tables are read" in sentence:
            stopping.set()

    with pytest.raises(Stopped):
        backup(folder, echo, stopping)
    assert list(folder.iterdir()) == []
    # As of one that was killed.
    (folder / "unfinished-1").mkdir()
    (folder / "unfinished-1" / "toc.dat").touch()

    backup(folder)

    assert {path.name for path in folder.iterdir()} == {"dump", "manifest.json"}


def test_failure_of_pg_dump_is_reported_in_its_words(untouched: None, tmp_path: Path) -> None:
    load(*blocks()[:1])

    def echo(sentence: str) -> None:
        if "of tables are read" in sentence:
            query("drop table entity cascade")

    with own_database(partitioned=False):
        load(*blocks()[:1])
        with pytest.raises(OperatorError, match="pg_dump has failed: pg_dump: error: "):
            backup(tmp_path, echo)
    assert list(tmp_path.iterdir()) == []


def test_pg_dump_of_an_older_version_is_refused(untouched: None, tmp_path: Path) -> None:
    program = tmp_path / "pg_dump"
    program.write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 9.6.1'\n")
    program.chmod(0o755)

    with (
        settings(db__programs=str(tmp_path)),
        pytest.raises(OperatorError, match="pg_dump is of an older version: install the client programs"),
    ):
        backup(tmp_path / "backup")


def test_backup_that_waits_for_a_lock_can_be_stopped(untouched: None, tmp_path: Path) -> None:
    load(*blocks()[:1])
    stopping = threading.Event()
    with session() as own, own.transaction():

        def echo(sentence: str) -> None:
            if "of tables are read" in sentence:
                own.execute("lock table entity in access exclusive mode")
                threading.Timer(1, stopping.set).start()

        with pytest.raises(Stopped):
            backup(tmp_path, echo, stopping)


def test_backups_restores_and_prunings_exclude_each_other(untouched: None, tmp_path: Path) -> None:
    with session() as own, exclusive(own), pytest.raises(OperatorError, match="Another backup"):
        backup(tmp_path / "backup")


# REFUSALS


@pytest.mark.django_db
def test_folder_without_a_backup_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="There is no complete backup in"):
        call_command("backup", str(tmp_path), check=True)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.unlink(), "is missing"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "bytes, not"),
        (lambda path: path.write_bytes(path.read_bytes()[:-9] + bytes(9)), "is damaged"),
    ],
    ids=["missing", "cut short", "changed"],
)
def test_damaged_file_is_named_before_anything_changes(
    damage, message: str, untouched: None, copy: Path
) -> None:
    path = file_of(copy, "entity")
    damage(path)

    with pytest.raises(DamagedBackup, match=rf"{path.name} of the backup .*{message}"):
        restore(copy)
    assert not tables.is_restoring()


def test_another_network_is_refused(untouched: None, made: DemoProgress) -> None:
    with settings(network="testnet"), pytest.raises(OperatorError, match="of the network simulated"):
        restore(made.folder)


@pytest.mark.parametrize("lock", [LOADER_LOCK, UPGRADE_LOCK], ids=["loader", "upgrade"])
def test_database_that_a_node_writes_to_is_refused(lock: int, untouched: None, made: DemoProgress) -> None:
    with session() as own, pytest.raises(OperatorError, match="stop the node first"):
        own.execute("select pg_advisory_lock(%s)", [lock])
        restore(made.folder)


def test_nobody_loads_into_a_part_of_a_backup(untouched: None) -> None:
    with session() as own:
        own.execute(f"create schema {tables.RESTORING}")
        try:
            with pytest.raises(OperatorError, match="or that was interrupted"), single_loader():
                pass
        finally:
            own.execute(f"drop schema {tables.RESTORING}")


def test_newer_release_is_refused(untouched: None, copy: Path) -> None:
    change(copy, migrations=lambda all_: [*all_, ["mirror", "9999_later"]], release=lambda _: "9.0.0")

    with pytest.raises(OperatorError, match=r"newer release \(9\.0\.0, with the migration mirror 9999_later"):
        restore(copy)


def test_database_with_rows_is_refused_and_keeps_them(untouched: None, made: DemoProgress) -> None:
    load(*blocks()[:1])
    before = contents()

    with pytest.raises(OperatorError, match="is not empty"):
        restore(made.folder)

    assert contents() == before


def test_folder_with_a_backup_or_other_files_is_refused(
    untouched: None, made: DemoProgress, tmp_path: Path
) -> None:
    (tmp_path / "letter").touch()

    with pytest.raises(OperatorError, match="complete backup in"):
        backup(made.folder)
    with pytest.raises(OperatorError, match="has other files"):
        backup(tmp_path)


def test_backup_has_no_state_of_processes_and_disks(made: DemoProgress) -> None:
    tables = Manifest.read(made.folder).tables.keys()
    assert {"archive_failure", "loaded_range", "auth_user"} <= tables
    assert not {"archive_location", "loader_state", "django_session"} & tables


def test_secrets_and_rows_are_for_this_user_alone(made: DemoProgress) -> None:
    assert made.folder.stat().st_mode & 0o777 == 0o700
    files = [path for path in made.folder.rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert "simulated" in Manifest.read(made.folder).settings.values()
