"""Writing into the archive: a folder or a bucket that holds nothing but archived stream files.

A file is there with all its bytes or not at all. After `sync` it survives a power cut.
"""

import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from threading import Lock
from uuid import uuid4

import obstore
from obstore.exceptions import BaseError
from obstore.store import ObjectStore

from ledger.archive.location import LOCATION, archive_location
from ledger.stream.source.bucket import Access, Bucket, InvalidLocation, first_line, open_bucket, open_store
from mirror.core import config
from mirror.core.config.setting import OperatorError
from mirror.core.processes.files import fsync
from mirror.core.values.human_readable import byte_size

MARKER = "kept-by-ledger-mirror.json"
_TEMP_FOLDER = ".parts"
# A part of a file that is older than this was left by a process that was killed.
_MAX_TEMP_SECONDS = 3_600
# The database is mostly on the same disk, and fails once that is full.
_MIN_FREE_BYTES = 1 << 30
# Attempts to move a file into a folder that retention removes meanwhile.
_TRIES = 10


class ArchiveUnavailable(Exception):
    """The archive can't be written or listed now; the message says why."""


class WrongArchive(OperatorError):
    """The location is not one for archived files of this network."""

    exit_code = 2


@contextmanager
def _unavailable() -> Iterator[None]:
    """Raise ArchiveUnavailable for an error of the disk or the bucket."""
    try:
        yield
    except (BaseError, OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise ArchiveUnavailable(reason or first_line(error)) from error


class ArchiveStore(ABC):
    """An archive. Errors of every method: ArchiveUnavailable."""

    #: How many files are best written at once.
    concurrency: int
    #: Why a marker may be gone, after "as if".
    cause: str

    def __init__(self, location: str) -> None:
        self.location = location

    def prepare(self, network: str, *, used: bool) -> None:
        """Claim a location that is empty, or that has an empty marker, put there by the operator.

        One that was `used` before and has no marker is never claimed: it is the mount point of a disk that is
        not mounted, or another bucket. Errors: WrongArchive.
        """
        if not self._has_marker(network, used=used):
            self._create_folders()
            self.put(MARKER, json.dumps({"network": network}).encode() + b"\n")
            self.sync()

    @abstractmethod
    def put(self, path: str, data: bytes) -> None: ...

    def sync(self) -> None:  # noqa: B027
        """Make all files that were put survive a power cut."""

    @abstractmethod
    def folders(self, folder: str) -> list[str]:
        """Return the paths of the folders in a folder; none if it does not exist."""

    @abstractmethod
    def paths(self, folder: str) -> Iterator[str]:
        """Yield the paths of the files in a folder and below it, sorted by name within each folder."""

    @_unavailable()
    def read(self, path: str) -> bytes:
        return self._content(path)

    @abstractmethod
    def delete(self, paths: Sequence[str]) -> None:
        """Delete files, and folders that are empty then; a file that is not there is no error."""

    def _create_folders(self) -> None:  # noqa: B027
        """Make what writing needs."""

    def _has_files(self) -> bool:
        return next(self.paths(""), None) is not None

    def _has_marker(self, network: str, *, used: bool) -> bool:
        """Return whether the archive has the network's marker. Errors: ArchiveUnavailable, WrongArchive."""
        marker = self._read_marker()
        if marker is None and used:
            raise ArchiveUnavailable(
                f"this node has archived files there, but the file {MARKER} is gone, as if {self.cause}; if "
                "you have emptied it on purpose, put an empty file of that name there to begin a new archive"
            )
        if marker is None and self._has_files():
            # Another process may have claimed it since, and written files.
            marker = self._read_marker()
            if marker is None:
                raise _wrong(
                    f"{self.location} holds something else than archived stream files: name an empty "
                    "location, or one that does not exist yet."
                )
        if not marker:
            return False
        try:
            marked = json.loads(marker)["network"]
        except (ValueError, TypeError, KeyError):
            marked = None
        if marked != network:
            owner = f"of the network {marked}" if marked else f"with a {MARKER} that names no network"
            raise _wrong(f"{self.location} is an archive {owner}, not of {network}: name another location.")
        return True

    @_unavailable()
    def _read_marker(self) -> bytes | None:
        with suppress(FileNotFoundError):
            return self._content(MARKER).strip()
        return None

    @abstractmethod
    def _content(self, path: str) -> bytes:
        """Return the bytes of a file. Errors: those of the disk or the bucket."""


def archive_access() -> Access:
    settings = "importer.archive."
    return Access(
        endpoint=config.value(settings + "endpointOverride"),
        region=config.value(settings + "region"),
        access_key=config.value(settings + "accessKey"),
        secret_key=config.value(settings + "secretKey"),
        project=config.value(settings + "gcpProjectId"),
        timeout=config.value(settings + "timeout"),
        retries=config.value("importer.downloader.retries"),
    )


def archive_bucket() -> Bucket | None:
    """Open the archive for reading; None if its folder does not exist. Errors: OperatorError."""
    location = archive_location()
    if "://" not in location and not Path(location).is_dir():
        return None
    try:
        return open_bucket(location, archive_access())
    except InvalidLocation as error:
        raise _wrong(str(error)) from error


def open_archive() -> ArchiveStore:
    """Open the archive of the settings. Errors: OperatorError."""
    location = archive_location()
    if "://" not in location:
        return FolderArchive(Path(location))
    if not location.startswith(("s3://", "gs://")):
        raise _wrong(f"{location} can't be written to: name a folder, s3://bucket or gs://bucket.")
    try:
        return BucketArchive(open_store(location, archive_access()), location)
    except InvalidLocation as error:
        raise _wrong(str(error)) from error


class FolderArchive(ArchiveStore):
    """A local folder, which is made if it does not exist."""

    concurrency = 4
    cause = "the disk were not mounted"

    def __init__(self, folder: Path) -> None:
        super().__init__(f"the folder {folder}")
        self._folder = folder
        self._temp_folder = folder / _TEMP_FOLDER
        self._unsynced: set[Path] = set()
        self._created: set[Path] = set()
        self._lock = Lock()

    @_unavailable()
    def prepare(self, network: str, *, used: bool) -> None:
        super().prepare(network, used=used)
        self._create_folders()
        for temp_file in self._temp_folder.iterdir():
            # Another writer may have moved it to its path meanwhile.
            with suppress(FileNotFoundError):
                if temp_file.stat().st_mtime < time.time() - _MAX_TEMP_SECONDS:
                    temp_file.unlink()

    def _create_folders(self) -> None:
        self._temp_folder.mkdir(parents=True, exist_ok=True)

    @_unavailable()
    def put(self, path: str, data: bytes) -> None:
        target = self._folder / path
        try:
            if _has_content(target, data):
                # A process that was killed may not have settled it.
                self._make_folder(target.parent)
            else:
                self._require_free_space()
                self._write(target, data)
        except OSError:
            # Folders may have been removed.
            with self._lock:
                self._created.clear()
            raise
        with self._lock:
            self._unsynced.add(target.parent)

    @_unavailable()
    def sync(self) -> None:
        with self._lock:
            folders, self._unsynced = self._unsynced, set()
        try:
            for folder in folders:
                # Retention may have removed it, with all that was in it.
                with suppress(FileNotFoundError):
                    fsync(folder)
            if folders:
                # Where this one is missing as well, the disk was unmounted with what was put.
                self._temp_folder.stat()
        except OSError:
            with self._lock:
                self._unsynced |= folders
            raise

    @_unavailable()
    def folders(self, folder: str) -> list[str]:
        try:
            with os.scandir(self._folder / folder) as entries:
                return sorted(f"{folder}/{entry.name}" for entry in entries if entry.is_dir())
        except FileNotFoundError:
            return []

    def paths(self, folder: str) -> Iterator[str]:
        with _unavailable():
            for parent, folders, names in os.walk(self._folder / folder, onerror=_raise_unless_missing):
                folders.sort()
                below = PurePosixPath(Path(parent).relative_to(self._folder).as_posix())
                for name in sorted(names):
                    yield str(below / name)

    def _content(self, path: str) -> bytes:
        return (self._folder / path).read_bytes()

    @_unavailable()
    def delete(self, paths: Sequence[str]) -> None:
        for path in paths:
            (self._folder / path).unlink(missing_ok=True)
        for path in paths:
            with suppress(OSError):
                for parent in PurePosixPath(path).parents[:-1]:
                    (self._folder / parent).rmdir()
        with self._lock:
            self._created.clear()

    def _has_files(self) -> bool:
        try:
            # A process that was killed may have made no more than the folder of parts.
            return any(path.name != _TEMP_FOLDER for path in self._folder.iterdir())
        except FileNotFoundError:
            return False

    def _require_free_space(self) -> None:
        disk = os.statvfs(self._folder)
        if disk.f_bavail * disk.f_frsize < _MIN_FREE_BYTES:
            raise ArchiveUnavailable(
                f"less than {byte_size(_MIN_FREE_BYTES)} are free, which the database may need"
            )

    def _write(self, target: Path, data: bytes) -> None:
        temp_file = self._temp_folder / uuid4().hex
        try:
            temp_file.write_bytes(data)
            fsync(temp_file)
            # Not before: where the disk is not mounted, there is no folder of parts, and none shall be made.
            self._move(temp_file, target)
        except BaseException:
            temp_file.unlink(missing_ok=True)
            raise

    def _move(self, temp_file: Path, target: Path) -> None:
        for tries_left in reversed(range(_TRIES)):
            try:
                self._make_folder(target.parent)
                temp_file.rename(target)
                return
            except (FileNotFoundError, FileExistsError):
                # Retention removes empty folders. Without the part, the disk is not mounted.
                if not tries_left or not temp_file.exists():
                    raise
                with self._lock:
                    self._created.clear()

    def _make_folder(self, folder: Path) -> None:
        with self._lock:
            if folder in self._created:
                return
        folder.mkdir(parents=True, exist_ok=True)
        with self._lock:
            self._created.add(folder)
            # Also of those that are there already: a process that was killed may not have settled them.
            self._unsynced |= {each for each in folder.parents if each.is_relative_to(self._folder)}


class BucketArchive(ArchiveStore):
    """A bucket: a file that was put is durable at once."""

    concurrency = 16
    cause = "this were another bucket"

    def __init__(self, store: ObjectStore, location: str) -> None:
        super().__init__(f"the bucket {location}")
        self._store = store

    @_unavailable()
    def put(self, path: str, data: bytes) -> None:
        obstore.put(self._store, path, data, use_multipart=False)

    @_unavailable()
    def folders(self, folder: str) -> list[str]:
        return sorted(obstore.list_with_delimiter(self._store, folder)["common_prefixes"])

    def paths(self, folder: str) -> Iterator[str]:
        with _unavailable():
            for page in obstore.list(self._store, folder or None):
                for entry in page:
                    yield entry["path"]

    def _content(self, path: str) -> bytes:
        return bytes(obstore.get(self._store, path).bytes())

    @_unavailable()
    def delete(self, paths: Sequence[str]) -> None:
        with suppress(FileNotFoundError):
            obstore.delete(self._store, list(paths))


def _has_content(path: Path, data: bytes) -> bool:
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except FileNotFoundError:
        return False


def _raise_unless_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _wrong(cause: str) -> WrongArchive:
    return WrongArchive(f"{config.lookup(LOCATION).variable}: {cause}")
