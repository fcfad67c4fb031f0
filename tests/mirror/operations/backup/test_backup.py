"""Backups: of one moment while the node loads, brought back into an empty database, and what is refused."""

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_django
import zstandard
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder

from ledger.models import RecordFile
from mirror.core.config.errors import OperatorError
from mirror.demo.publish.history import History
from mirror.demo.streams.keys import nodes
from mirror.demo.streams.record_files import Block
from mirror.models import LOADER_LOCK, UPGRADE_LOCK
from mirror.node.loading.files import single_loader
from mirror.operations.backup import dump, preparation
from mirror.operations.backup import restore as restoring
from mirror.operations.backup.chunks import backed_up_tables, chunks
from mirror.operations.backup.manifest import JOURNAL, BackupFile, DamagedBackup, Manifest, content_digest
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


class StopsAt(threading.Event):
    """An event that is set when the threads at work have asked it so many times.

    The thread that waits for them asks the more often, the busier the machine is.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self._left = number

    def is_set(self) -> bool:
        if threading.current_thread() is not threading.main_thread():
            self._left -= 1
        return self._left < 0


class StopsWith(threading.Event):
    """An event that is set when a folder has a file."""

    def __init__(self, folder: Path, pattern: str) -> None:
        super().__init__()
        self._folder, self._pattern = folder, pattern

    def is_set(self) -> bool:
        return any(self._folder.glob(self._pattern))


class DemoProgress(NamedTuple):
    """Two backups of a database: one made while it loads, and a later one that was interrupted.

    With what the tables had at their moments.
    """

    folder: Path
    contents: dict[str, list[str]]
    partitions: list[tuple[object, ...]]
    later: Path
    later_contents: dict[str, list[str]]


def silent(_: str) -> None:
    pass


def backup(folder: Path, echo=silent, stopping: threading.Event = GOES_ON) -> Manifest:
    return dump.backup(folder, echo, stopping, jobs=1)


def restore(folder: Path, stopping: threading.Event = GOES_ON) -> Manifest:
    return restoring.restore(folder, silent, stopping, jobs=2)


def partitions() -> list[tuple[object, ...]]:
    return query("select parent, from_timestamp, to_timestamp from mirror_node_time_partitions order by 1, 2")


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
    """The backups, which are made once."""
    if not _made:
        folder = tmp_path_factory.mktemp("backups")
        with django_db_blocker.unblock(), own_database(partitioned=True), settings(network="simulated"):
            _made.append(make(folder / "backup", folder / "later"))
    return _made[0]


def make(folder: Path, later: Path) -> DemoProgress:
    # The database is a copy of one in which other tests may have left people.
    get_user_model().objects.all().delete()
    get_user_model().objects.create_superuser("ada", password=None)
    load(*blocks()[:BLOCKS])
    before, partitioned = contents(), partitions()
    said: list[str] = []

    def echo(sentence: str) -> None:
        if not said:
            load(blocks()[BLOCKS])
        said.append(sentence)

    backup(folder, echo)
    assert RecordFile.objects.count() == BLOCKS + 1
    with pytest.raises(Stopped):
        backup(later, stopping=StopsAt(20))
    with pytest.raises(OperatorError, match="is not finished"):
        Manifest.read(later)
    assert len(list(later.glob("*.zst"))) > 2
    (later / "half.zst.part").write_bytes(b"cut sh")
    with (later / JOURNAL).open("a") as journal:
        journal.write('{"name": "half')
    load(blocks()[BLOCKS + 1])
    backup(later)
    return DemoProgress(folder, before, partitioned, later, contents())


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
    """A copy of the later backup, to be damaged."""
    folder = tmp_path / "copy"
    shutil.copytree(made.later, folder)
    return folder


def change(folder: Path, **changes: Callable[[Any], Any]) -> None:
    """Change the description of a backup, and its checksum with it."""
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    content.pop("sha256")
    for name, of in changes.items():
        content[name] = of(content[name])
    path.write_text(json.dumps(content | {"sha256": content_digest(content)}))


def test_backup_under_load_is_restored_even_if_interrupted(empty: None, made: DemoProgress) -> None:
    wanted = [table for table, _ in indexes()]
    with pytest.raises(Stopped):
        restore(made.folder, StopsAt(20))
    with pytest.raises(OperatorError, match="`manage.py restore` goes on"):
        tables.check_current()
    with session() as own:
        done = preparation.done_files(own)
    assert 0 < len(done) < len(Manifest.read(made.folder).files)

    restoring.undo(silent, GOES_ON)
    with session() as own:
        preparation.check_empty(own, Manifest.read(made.folder))
    assert [table for table, _ in indexes()] == wanted
    with pytest.raises(OperatorError, match="there is nothing to undo"):
        restoring.undo(silent, GOES_ON)
    with pytest.raises(Stopped):
        restore(made.folder, StopsAt(20))
    description = restore(made.folder)

    assert contents() == made.contents
    assert description.block and description.block.number == BLOCKS - 1
    assert partitions() == made.partitions
    assert [table for table, _ in indexes()] == wanted
    tables.check_current()
    ada = get_user_model().objects.get(username="ada", is_superuser=True)
    assert get_user_model().objects.create_user("bob").pk > ada.pk
    load(*blocks()[BLOCKS:])
    assert contents() == made.later_contents


def test_interrupted_backup_is_consistent_and_older_release_is_migrated(
    empty: None, made: DemoProgress, copy: Path
) -> None:
    """Here the older release lacks a migration, and the database has no tables at all.

    A damaged file is named, and restoring goes on with another copy of it.
    """
    change(copy, migrations=lambda every: [each for each in every if tuple(each) != NEWEST])
    (damaged,) = copy.glob("entity-*.zst")
    intact = damaged.read_bytes()
    damaged.write_bytes(intact[:-9] + bytes(9))
    with connection.cursor() as cursor:
        cursor.execute("drop schema public, temporary cascade; create schema public")
    with pytest.raises(DamagedBackup, match=rf"{damaged.name} of the backup is damaged"):
        restoring.check(copy, silent, GOES_ON, jobs=2)
    with pytest.raises(DamagedBackup, match=rf"{damaged.name} of the backup is damaged"):
        restore(copy)
    damaged.write_bytes(intact)

    restore(copy)

    assert {path.suffix for path in made.later.iterdir()} == {".zst", ".json"}
    assert contents() == made.later_contents
    assert NEWEST in MigrationRecorder(connection).applied_migrations()


def test_rows_that_have_come_changed_or_gone_are_noticed(untouched: None) -> None:
    load(*blocks()[:1])
    with session() as own:

        def unchanged() -> bool:
            return chunk.is_unchanged(own, file, since)

        (chunk,) = [each for each in chunks(own, backed_up_tables(own)) if each.table == "entity"]
        ((since, rows),) = own.execute("select pg_current_xact_id()::text::bigint, count(*) from entity")
        file = BackupFile(chunk.name, "entity", rows, 0, "", chunk.leaf, 0, chunk.filenode, since)
        assert unchanged()
        for statement in (
            "insert into entity select (jsonb_populate_record(e, '{\"id\": 99999}')).* from entity e limit 1",
            "update entity set memo = 'new' where id = 98",
            "delete from entity where id = 98",
            "truncate entity",
        ):
            own.execute("begin")
            own.execute(statement)
            changed = not unchanged()
            own.execute("rollback")
            assert changed, statement
        assert unchanged()


def test_backup_that_was_begun_before_an_upgrade_begins_anew(untouched: None, tmp_path: Path) -> None:
    """A column that comes changes no row, but a file written before lacks it."""
    load(*blocks()[:1])
    said: list[str] = []
    with session() as own:
        own.execute("alter table entity rename column memo to no_memo")
        try:
            with pytest.raises(Stopped):
                backup(tmp_path, stopping=StopsWith(tmp_path, "entity-*.zst"))
        finally:
            own.execute("alter table entity rename column no_memo to memo")

    description = backup(tmp_path, said.append)

    assert any("begins anew" in sentence for sentence in said)
    (file,) = (each for each in description.files if each.table == "entity")
    rows = zstandard.ZstdDecompressor().decompressobj().decompress((tmp_path / file.name).read_bytes())
    columns = description.tables["entity"].columns
    assert "memo" in columns
    assert {line.count(b"\t") for line in rows.splitlines()} == {len(columns) - 1}


def test_backup_that_waits_for_a_lock_can_be_stopped(untouched: None, tmp_path: Path) -> None:
    stopping = threading.Event()

    def echo(sentence: str) -> None:
        assert sentence == "Waiting for a session that changes a table."
        stopping.set()

    with session() as own, own.transaction():
        own.execute("lock table entity in access exclusive mode")
        with pytest.raises(Stopped):
            backup(tmp_path, echo, stopping)


def test_backups_restores_and_prunings_exclude_each_other(untouched: None, tmp_path: Path) -> None:
    with session() as own, exclusive(own), pytest.raises(OperatorError, match="Another backup"):
        backup(tmp_path / "backup")


# REFUSALS


@pytest.mark.django_db
def test_folder_without_a_backup_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="There is no backup in"):
        call_command("backup", str(tmp_path), check=True)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.unlink(), "is missing"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "bytes, not"),
    ],
    ids=["missing", "cut short"],
)
def test_missing_or_truncated_file_is_named(damage, message: str, untouched: None, copy: Path) -> None:
    (path,) = copy.glob("entity-*.zst")
    damage(path)

    with pytest.raises(DamagedBackup, match=rf"{path.name} of the backup .*{message}"):
        restore(copy)
    assert not tables.is_restoring()


def test_changed_description_is_damage(copy: Path) -> None:
    path = copy / "manifest.json"
    path.write_text(path.read_text().replace('"rows": 1', '"rows": 2', 1))

    with pytest.raises(DamagedBackup, match=r"manifest\.json is damaged"):
        Manifest.read(copy)


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
            with pytest.raises(OperatorError, match="`manage.py restore` goes on"), single_loader():
                pass
        finally:
            own.execute(f"drop schema {tables.RESTORING}")


def test_backup_of_whole_tables_is_refused_where_they_are_partitioned(
    untouched: None, made: DemoProgress
) -> None:
    description = Manifest.read(made.folder)
    whole = {name: replace(table, partitions=[]) for name, table in description.tables.items()}
    with session() as own, transaction.atomic():
        query("alter table topic_message rename to elsewhere")
        query("create table topic_message (like elsewhere) partition by range (consensus_timestamp)")
        # Its lock is held here.
        own.execute("set lock_timeout = '1s'")
        with pytest.raises(OperatorError, match=r"partitioned by month \(topic_message and others\)"):
            preparation.check_empty(own, replace(description, tables=whole))
        transaction.set_rollback(True)


@pytest.mark.parametrize(
    "changes",
    [
        {"files": lambda files: [files[0] | {"name": "../letter"}, *files[1:]]},
        {"files": lambda files: [files[0] | {"table": "nowhere"}, *files[1:]]},
        {"tables": lambda tables: tables | {'entity" cascade': tables["entity"]}},
        {"tables": lambda tables: tables | {"entity": tables["entity"] | {"columns": ['id") --']}}},
    ],
    ids=["file", "table of a file", "table", "column"],
)
def test_names_that_a_backup_never_has_are_damage(changes, copy: Path) -> None:
    change(copy, **changes)

    with pytest.raises(DamagedBackup, match=r"manifest\.json is damaged"):
        Manifest.read(copy)


def test_newer_release_is_refused(untouched: None, copy: Path) -> None:
    change(copy, migrations=lambda all_: [*all_, ["mirror", "9999_later"]], release=lambda _: "9.0.0")

    with pytest.raises(OperatorError, match=r"newer release \(9\.0\.0, with the migration mirror 9999_later"):
        restore(copy)


def test_backup_of_the_last_commit_with_several_migrations_per_app_is_taken_over(
    empty: None, made: DemoProgress, copy: Path
) -> None:
    change(copy, migrations=lambda all_: [*all_, ["mirror", "0002_stored_network"], *tables._LAST_MIGRATIONS])

    restore(copy)

    assert contents() == made.later_contents
    tables.check_current()


def test_backup_of_an_earlier_commit_is_refused(untouched: None, copy: Path) -> None:
    change(copy, migrations=lambda all_: [*all_, ["mirror", "0002_stored_network"]])

    with pytest.raises(OperatorError, match="made by a commit before 3b6a0b7d: restore it by that commit"):
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
    assert {path.stat().st_mode & 0o777 for path in made.folder.iterdir()} == {0o600}
    assert "simulated" in Manifest.read(made.folder).settings.values()
