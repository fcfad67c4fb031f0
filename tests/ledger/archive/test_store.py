"""Writing into the archive, in parallel, and while its disk is mounted and unmounted."""

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ledger.archive import store
from ledger.archive.store import MARKER, ArchiveUnavailable, FolderArchive, WrongArchive

WRITERS = 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "archive"


def side_by_side(work: Callable[[int], None], writers: int = WRITERS) -> None:
    """Do the same in several threads that begin at once."""
    beginning = threading.Barrier(writers)

    def begin(writer: int) -> None:
        beginning.wait()
        work(writer)

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(begin, range(writers)))


def files_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_folder_can_be_prepared_while_others_write(folder):
    FolderArchive(folder).prepare("demo", used=False)
    until = time.monotonic() + 1.0

    def work(writer: int) -> None:
        number = 0
        while time.monotonic() < until:
            place = FolderArchive(folder)
            place.prepare("demo", used=True)
            place.put(f"recordstreams/{writer}/{number % 50}", str(number).encode())
            place.sync()
            number += 1

    side_by_side(work)


def test_several_writers_can_claim_an_empty_folder_at_once(tmp_path):
    for attempt in range(60):
        folder = tmp_path / str(attempt)

        def work(writer: int, folder: Path = folder) -> None:
            place = FolderArchive(folder)
            place.prepare("demo", used=False)
            place.put(f"recordstreams/{writer}/file", b"file")
            place.sync()

        side_by_side(work)
        assert files_of(folder) == {MARKER, *(f"recordstreams/{writer}/file" for writer in range(WRITERS))}


def test_files_are_written_while_retention_removes_their_folders(folder):
    FolderArchive(folder).prepare("demo", used=False)
    until = time.monotonic() + 1.0

    def work(writer: int) -> None:
        place = FolderArchive(folder)
        path = f"recordstreams/record/{writer}/file"
        while time.monotonic() < until:
            place.put(path, b"file")
            FolderArchive(folder).delete([path])

    side_by_side(work)


def test_folders_made_again_are_settled(folder, monkeypatch):
    place = FolderArchive(folder)
    place.prepare("demo", used=False)
    place.put("one/two/three", b"file")
    place.sync()
    FolderArchive(folder).delete(["one/two/three"])
    place.put("one/two/three", b"file")
    synced = set[Path]()
    monkeypatch.setattr(store, "fsync", synced.add)

    place.sync()

    assert synced == {folder, folder / "one", folder / "one" / "two"}


def test_part_left_by_a_killed_process_is_removed_later(folder):
    FolderArchive(folder).prepare("demo", used=False)
    old, new = folder / ".parts" / "old", folder / ".parts" / "new"
    for part in (old, new):
        part.touch()
    os.utime(old, (time.time() - 7_200,) * 2)

    FolderArchive(folder).prepare("demo", used=True)

    assert not old.exists()
    assert new.exists()


def test_a_folder_with_parts_and_something_else_is_not_claimed(folder):
    (folder / ".parts").mkdir(parents=True)
    FolderArchive(folder).prepare("demo", used=False)
    (folder / MARKER).unlink()
    (folder / "letter.txt").touch()
    with pytest.raises(WrongArchive, match="holds something else"):
        FolderArchive(folder).prepare("demo", used=False)


@pytest.mark.parametrize("mount_point", [True, False], ids=["mount point", "no folder"])
def test_nothing_is_written_where_a_disk_is_unmounted(folder, tmp_path, mount_point):
    place = FolderArchive(folder)
    place.prepare("demo", used=False)
    place.put("recordstreams/one/file", b"file")
    place.sync()
    place.put("recordstreams/one/another", b"file")
    folder.rename(tmp_path / "disk")
    if mount_point:
        folder.mkdir()
    left = list(tmp_path.rglob("*"))

    for path in ("recordstreams/one/third", "recordstreams/two/first", MARKER):
        with pytest.raises(ArchiveUnavailable):
            place.put(path, b"file")
    # What was put last may not be on the disk.
    with pytest.raises(ArchiveUnavailable):
        place.sync()
    with pytest.raises(ArchiveUnavailable, match="as if the disk were not mounted"):
        FolderArchive(folder).prepare("demo", used=True)
    assert list(tmp_path.rglob("*")) == left

    if mount_point:
        folder.rmdir()
    (tmp_path / "disk").rename(folder)
    for again in (place, FolderArchive(folder)):
        again.prepare("demo", used=True)
        again.put("recordstreams/one/third", b"file")
        again.sync()
