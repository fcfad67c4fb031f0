"""An empty folder or bucket that files have been kept in is not taken for a new place."""

import json
import shutil
from pathlib import Path

import pytest

from ledger.archive.archiver import ArchivingFailed
from ledger.archive.originals import Original
from ledger.archive.store import MARKER
from tests.ledger.ingest.following.network import follow
from tests.ledger.ingest.keeping.places import in_bucket_of
from tests.ledger.ingest.keeping.test_keeping import files_of, load, open_keeper
from tests.ledger.ingest.load import stored
from tests.ledger.stream.source.servers import S3Server

pytestmark = pytest.mark.usefixtures("ledger_tables")


def unmount(kept: Path) -> Path:
    """Leave an empty folder where the place was; return where its files are now."""
    disk = kept.rename(kept.with_name("disk"))
    kept.mkdir()
    return disk


def mount(disk: Path, kept: Path) -> None:
    kept.rmdir()
    disk.rename(kept)


def test_a_first_start_claims_an_empty_folder_and_the_tables_remember_it(kept, network):
    kept.mkdir()
    with open_keeper():
        assert (kept / MARKER).exists()
        assert not stored("archive_location", "location")

    follow(network)
    ((location, since),) = stored("archive_location", "location, since")
    assert location == str(kept)

    network.happen()
    load(network)
    assert stored("archive_location", "location, since") == [(location, since)]


@pytest.mark.parametrize("left", ["nothing", "files", "no folder"])
def test_a_node_started_while_the_disk_is_away_goes_on_and_writes_nothing(kept, network, away, left):
    follow(network)
    disk = unmount(kept)
    if left == "files":
        (kept / "NOT MOUNTED").touch()
    elif left == "no folder":
        kept.rmdir()
    before = kept.exists(), list(kept.rglob("*"))
    network.happen()

    follow(network, files=1)

    assert (kept.exists(), list(kept.rglob("*"))) == before
    ((name, reason),) = stored("archive_failure", "name, reason")
    assert name == network.files[3]
    assert "as if the disk were not mounted" in reason

    for path in kept.glob("*"):
        path.unlink()
    kept.mkdir(exist_ok=True)
    mount(disk, kept)
    network.happen()
    follow(network, files=1)
    assert len(stored("archive_failure", "name")) == 1
    assert [path for path in files_of(kept) if path.endswith(network.files[4])]


def test_given_files_are_refused_while_the_disk_is_away(kept, network):
    load(network)
    disk = unmount(kept)
    network.happen()

    with pytest.raises(
        ArchivingFailed, match=f"Nothing can be kept in the folder {kept}: this node has kept files"
    ):
        load(network, require_archive=True)
    assert not list(kept.iterdir())
    assert len(stored("record_file", "name")) == 3

    mount(disk, kept)
    assert load(network, require_archive=True).files == 1


@pytest.mark.parametrize("mark", ["", "\n"], ids=["empty", "a line"])
def test_an_empty_marker_begins_a_new_place(kept, network, away, mark):
    load(network)
    shutil.rmtree(kept)
    (kept / "lost+found").mkdir(parents=True)
    (kept / MARKER).write_text(mark)
    network.happen()

    load(network, require_archive=True)

    assert json.loads((kept / MARKER).read_text()) == {"network": "demo"}
    assert [path for path in files_of(kept) if path.endswith(network.files[3])]


def test_a_disk_that_goes_away_before_the_first_batch_is_missed_as_well(kept, network, away):
    with open_keeper() as archiver:
        unmount(kept)
        for _ in range(2):
            problems = [part.result() for part in archiver.begin([Original("recordstreams/file", b"")])]
    assert "as if the disk were not mounted" in problems[0]
    assert not list(kept.iterdir())


def test_a_loader_learns_that_another_has_kept_files_since_it_began(kept, network, away):
    kept.write_text("no folder")
    with open_keeper() as archiver:
        kept.unlink()
        load(network)
        unmount(kept)
        problems = [part.result() for part in archiver.begin([Original("recordstreams/file", b"")])]
    assert "as if the disk were not mounted" in problems[0]
    assert not list(kept.iterdir())


def test_a_place_is_not_remembered_before_a_file_is_kept_in_it(kept, network, away):
    kept.mkdir()
    (kept / "recordstreams").touch()
    (kept / MARKER).touch()

    load(network)

    assert len(stored("archive_failure", "name")) == 3
    assert not stored("archive_location", "location")


def test_an_empty_bucket_is_no_new_place_unless_it_has_an_empty_marker(
    kept, network, settings_of, away, tmp_path
):
    bucket = tmp_path / "s3"
    bucket.mkdir()
    with S3Server(bucket) as server:
        settings_of(in_bucket_of(server))
        load(network)
        shutil.rmtree(bucket)
        bucket.mkdir()
        network.happen()
        load(network)
        assert not list(bucket.iterdir())
        ((reason,),) = stored("archive_failure", "reason")
        assert "as if this were another bucket" in reason

        (bucket / MARKER).touch()
        network.happen()
        load(network)
    assert json.loads((bucket / MARKER).read_text()) == {"network": "demo"}
    assert [path for path in files_of(bucket) if path.endswith(network.files[4])]
