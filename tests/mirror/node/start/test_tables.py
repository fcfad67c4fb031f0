"""The check whether the tables are those of this release."""

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from mirror.management.commands import ingest
from mirror.node.start import tables

pytestmark = pytest.mark.django_db


def test_every_migration_is_found_without_importing_it() -> None:
    assert tables.on_disk() == set(MigrationLoader(None).disk_migrations)


def test_tables_are_current_once_every_migration_is_applied() -> None:
    assert tables.missing() == []


def test_migration_that_is_not_applied_is_missing() -> None:
    app, name = max(name for name in tables.on_disk() if name[0] == "tokens")
    MigrationRecorder(connection).record_unapplied(app, name)

    assert tables.missing() == [f"{app} {name}"]


def test_loading_starts_without_the_checks_that_import_the_whole_api() -> None:
    assert not ingest.Command.requires_system_checks
