"""Counters and log events of archived files and of failures."""

from collections.abc import Iterator

import pytest
from django.db import DatabaseError, connection

from ledger.archive.archiver import ArchivingFailed
from ledger.ingest.pipeline import Pipeline
from tests.counts import counted
from tests.ledger.archive.test_archiver import load
from tests.ledger.ingest.following.network import follow

pytestmark = pytest.mark.usefixtures("ledger_tables")


class Counts:
    """How far the counters have risen since the test began."""

    def __init__(self) -> None:
        self._before = self._values()

    def __call__(self) -> tuple[int, int]:
        archived, failures = self._values()
        return archived - self._before[0], failures - self._before[1]

    @staticmethod
    def _values() -> tuple[int, int]:
        names = ("mirror_ingest_archived_files_total", "mirror_ingest_archive_failures_total")
        archived, failures = (int(counted(name)) for name in names)
        return archived, failures


@pytest.fixture
def counts() -> Counts:
    return Counts()


@pytest.fixture
def refusing() -> Iterator[None]:
    """A database that rejects archive_location, so that each batch with archived files is rolled back."""
    with connection.cursor() as cursor:
        cursor.execute(
            "create function refuse() returns trigger language plpgsql as "
            "$$ begin raise exception 'refused'; end $$"
        )
        cursor.execute(
            "create trigger refuse before insert on archive_location for each row execute function refuse()"
        )
    yield
    with connection.cursor() as cursor:
        cursor.execute("drop function refuse cascade")


def test_archived_files_are_counted(archive, network, counts):
    load(network)
    assert counts() == (3, 0)


def test_failures_of_loaded_files_are_counted_and_logged(archive, network, no_pause, counts, caplog):
    archive.write_text("no folder")
    follow(network)
    assert counts() == (0, 3)
    assert "files_not_archived" in caplog.text


def test_failures_of_files_that_are_not_loaded_are_not_counted(archive, network, counts, caplog):
    Pipeline().run([])
    (archive / "recordstreams").write_text("no folder")
    with pytest.raises(ArchivingFailed):
        load(network, require_archive=True)
    assert counts() == (0, 0)
    assert "files_not_archived" not in caplog.text


def test_rolled_back_batch_counts_nothing(archive, network, counts, refusing):
    with pytest.raises(DatabaseError, match="refused"):
        load(network)
    assert counts() == (0, 0)
