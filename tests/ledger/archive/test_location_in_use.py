"""An empty folder or bucket is not a new archive if files have been archived there."""

import json
import shutil
from pathlib import Path

import pytest

from ledger.archive.archiver import ArchivingFailed
from ledger.archive.originals import Original
from ledger.archive.store import MARKER
from tests.ledger.archive.settings import in_bucket_of
from tests.ledger.archive.test_archiver import files_of, load, open_archiver
from tests.ledger.ingest.following.network import follow
from tests.ledger.ingest.load import stored
from tests.ledger.stream.source.servers import S3Server

pytestmark = pytest.mark.usefixtures("ledger_tables")


def unmount(archive: Path) -> Path:
    """Replace the archive by an empty folder; return where its files are now."""
    disk = archive.rename(archive.with_name("disk"))
    archive.mkdir()
    return disk


def mount(disk: Path, archive: Path) -> None:
    archive.rmdir()
    disk.rename(archive)


def test_first_start_claims_an_empty_folder_and_stores_it(archive, network):
    archive.mkdir()
    with open_archiver():
        assert (archive / MARKER).exists()
        assert not stored("archive_location", "location")

    follow(network)
    ((location, since),) = stored("archive_location", "location, since")
    assert location == str(archive)

    network.happen()
    load(network)
    assert stored("archive_location", "location, since") == [(location, since)]


@pytest.mark.parametrize("left", ["nothing", "files", "no folder"])
def test_node_started_with_unmounted_disk_continues_and_writes_nothing(archive, network, no_pause, left):
    follow(network)
    disk = unmount(archive)
    if left == "files":
        (archive / "NOT MOUNTED").touch()
    elif left == "no folder":
        archive.rmdir()
    before = archive.exists(), list(archive.rglob("*"))
    network.happen()

    follow(network, files=1)

    assert (archive.exists(), list(archive.rglob("*"))) == before
    ((name, reason),) = stored("archive_failure", "name, reason")
    assert name == network.files[3]
    assert "as if the disk were not mounted" in reason

    for path in archive.glob("*"):
        path.unlink()
    archive.mkdir(exist_ok=True)
    mount(disk, archive)
    network.happen()
    follow(network, files=1)
    assert len(stored("archive_failure", "name")) == 1
    assert [path for path in files_of(archive) if path.endswith(network.files[4])]


def test_given_files_are_refused_while_the_disk_is_unmounted(archive, network):
    load(network)
    disk = unmount(archive)
    network.happen()

    with pytest.raises(
        ArchivingFailed,
        match=f"Nothing can be archived in the folder {archive}: this node has archived files",
    ):
        load(network, require_archive=True)
    assert not list(archive.iterdir())
    assert len(stored("record_file", "name")) == 3

    mount(disk, archive)
    assert load(network, require_archive=True).files == 1


@pytest.mark.parametrize("mark", ["", "\n"], ids=["empty", "a line"])
def test_empty_marker_begins_a_new_archive(archive, network, no_pause, mark):
    load(network)
    shutil.rmtree(archive)
    (archive / "lost+found").mkdir(parents=True)
    (archive / MARKER).write_text(mark)
    network.happen()

    load(network, require_archive=True)

    assert json.loads((archive / MARKER).read_text()) == {"network": "demo"}
    assert [path for path in files_of(archive) if path.endswith(network.files[3])]


def test_disk_unmounted_before_the_first_batch_is_detected(archive, network, no_pause):
    with open_archiver() as archiver:
        unmount(archive)
        for _ in range(2):
            problems = [part.result() for part in archiver.submit([Original("recordstreams/file", b"")])]
    assert "as if the disk were not mounted" in problems[0]
    assert not list(archive.iterdir())


def test_archive_used_by_another_loader_since_the_start_is_detected(archive, network, no_pause):
    archive.write_text("no folder")
    with open_archiver() as archiver:
        archive.unlink()
        load(network)
        unmount(archive)
        problems = [part.result() for part in archiver.submit([Original("recordstreams/file", b"")])]
    assert "as if the disk were not mounted" in problems[0]
    assert not list(archive.iterdir())


def test_location_is_not_stored_before_a_file_is_archived(archive, network, no_pause):
    archive.mkdir()
    (archive / "recordstreams").touch()
    (archive / MARKER).touch()

    load(network)

    assert len(stored("archive_failure", "name")) == 3
    assert not stored("archive_location", "location")


def test_emptied_bucket_is_a_new_archive_only_with_an_empty_marker(
    archive, network, settings_of, no_pause, tmp_path
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
