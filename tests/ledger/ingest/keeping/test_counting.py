"""What the counters and the log say of files that are kept, and of those that could not be."""

from collections.abc import Iterator

import pytest
from django.db import DatabaseError, connection

from ledger.archive.archiver import ArchivingFailed
from ledger.ingest.pipeline import Pipeline
from mirror.core.metrics import ingest
from mirror.core.metrics.kinds import Counter
from tests.ledger.ingest.following.network import follow
from tests.ledger.ingest.keeping.test_keeping import load

pytestmark = pytest.mark.usefixtures("ledger_tables")


class Counts:
    """How far the counters have risen since the test began."""

    def __init__(self) -> None:
        self._before = self._values()

    def __call__(self) -> tuple[int, int]:
        kept, archive_failure = self._values()
        return kept - self._before[0], archive_failure - self._before[1]

    @staticmethod
    def _values() -> tuple[int, int]:
        def value(counter: Counter) -> int:
            return int(counter.values().get((), 0))

        return value(ingest.KEPT), value(ingest.NOT_KEPT)


@pytest.fixture
def counts() -> Counts:
    return Counts()


@pytest.fixture
def refusing() -> Iterator[None]:
    """A database that refuses to remember a place, so that each batch with kept files is rolled back."""
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


def test_files_that_are_kept_are_counted(kept, network, counts):
    load(network)
    assert counts() == (3, 0)


def test_files_that_are_loaded_without_being_kept_are_counted_and_logged(kept, network, away, counts, caplog):
    kept.write_text("no folder")
    follow(network)
    assert counts() == (0, 3)
    assert "files_not_kept" in caplog.text


def test_files_that_are_not_loaded_as_they_can_not_be_kept_are_not_counted(kept, network, counts, caplog):
    Pipeline().run([])
    (kept / "recordstreams").write_text("no folder")
    with pytest.raises(ArchivingFailed):
        load(network, require_archive=True)
    assert counts() == (0, 0)
    assert "files_not_kept" not in caplog.text


def test_a_batch_that_is_rolled_back_counts_nothing(kept, network, counts, refusing):
    with pytest.raises(DatabaseError, match="refused"):
        load(network)
    assert counts() == (0, 0)
