"""The check whether the tables are those of this release."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from mirror.core.config.setting import OperatorError
from mirror.management.commands import ingest
from mirror.upgrade import tables

pytestmark = pytest.mark.django_db


def test_every_migration_is_found_without_importing_it() -> None:
    assert tables.on_disk() == set(MigrationLoader(None).disk_migrations)


def test_tables_are_current_once_every_migration_is_applied() -> None:
    assert tables.missing() == []


def test_migration_that_is_not_applied_is_missing() -> None:
    app, name = "mirror", "0002_long_stakes_anew"
    MigrationRecorder(connection).record_unapplied(app, name)

    assert tables.missing() == [f"{app} {name}"]


@pytest.fixture
def earlier() -> MigrationRecorder:
    """The recorder of a database of the last commit before the migrations became one per app."""
    recorder = MigrationRecorder(connection)
    for app, name in {("mirror", "0002_stored_network"), *tables._LAST_MIGRATIONS}:
        recorder.record_applied(app, name)
    return recorder


def test_database_of_the_last_commit_is_taken_over(earlier: MigrationRecorder) -> None:
    tables.make_tables(print)

    assert tables.missing() == []
    own = {each for each in earlier.applied_migrations() if each[0] in (*tables.LEDGER_APPS, "mirror")}
    assert own == {each for each in tables.on_disk() if each in own}


@pytest.mark.parametrize("check", [tables.check_current, lambda: tables.make_tables(print)])
def test_database_of_an_earlier_commit_is_refused(
    earlier: MigrationRecorder, check: Callable[[], None]
) -> None:
    earlier.record_unapplied("contracts", "0004_block_positions")

    with pytest.raises(OperatorError, match="upgrade them by `manage.py upgrade` of that commit"):
        check()


def test_first_tables_of_all_are_refused() -> None:
    with connection.cursor() as cursor:
        cursor.execute("drop table stored_network")

    with pytest.raises(OperatorError, match="The tables are those of a commit before 3b6a0b7d"):
        tables.check_current()


def test_loading_starts_without_the_checks_that_import_the_whole_api() -> None:
    assert not ingest.Command.requires_system_checks
