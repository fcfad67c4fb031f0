"""Writing into the kept place: a folder or a bucket that holds nothing but kept files.

A file is there with all its bytes or not at all. Once `settle` has returned it outlasts a power cut.
"""

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Protocol
from uuid import uuid4

import obstore
from obstore.exceptions import BaseError
from obstore.store import ObjectStore

from ledger.archive.access import archive_access
from ledger.archive.location import PLACE, archive_location
from ledger.stream.source.bucket import InvalidLocation, open_store
from mirror.core import config
from mirror.core.config.errors import OperatorError
from mirror.core.values.human_readable import byte_size

MARKER = "kept-by-ledger-mirror.json"
_PARTS = ".parts"
# A part of a file that nobody has touched for so long was left behind by a process that was killed.
_SECONDS_OF_A_PART = 3_600
# The database is mostly on the same disk, and can do nothing once that is full.
_LEAST_FREE_BYTES = 1 << 30
# Of moving a file into a folder that is removed again and again.
_TRIES = 10


class ArchiveUnavailable(Exception):
    """The place can't be written or listed now; the message says why."""


class WrongPlace(OperatorError):
    """The place is not one for kept files of this network."""

    exit_code = 2


class ArchiveStore(Protocol):
    """Errors of every method: PlaceAway."""

    location: str
    #: How many files are best written at once.
    at_once: int

    def prepare(self, network: str, *, used: bool) -> None:
        """Claim a place that is empty, or that the operator has put an empty marker into.

        One that was `used` before and has no marker is never claimed: it is the mount point of a disk that is
        away, or another bucket. Errors: WrongPlace.
        """
        ...

    def put(self, path: str, data: bytes) -> None: ...

    def settle(self) -> None:
        """Make all that was put so far outlast a power cut."""
        ...

    def folders(self, folder: str) -> list[str]:
        """Return the paths of the folders in a folder; none if it does not exist."""
        ...

    def paths(self, folder: str) -> Iterator[str]:
        """Yield the paths of the files in a folder and below it, sorted by name within each folder."""
        ...

    def read(self, path: str) -> bytes: ...

    def delete(self, paths: Sequence[str]) -> None:
        """Delete files, and folders that are empty then; a file that is not there is no error."""
        ...


def open_place() -> ArchiveStore:
    """Open the place of the settings. Errors: OperatorError."""
    location = archive_location()
    if "://" not in location:
        return FolderArchive(Path(location))
    if not location.startswith(("s3://", "gs://")):
        raise WrongPlace(
            _wrong(f"{location} can't be written to: name a folder, s3://bucket or gs://bucket.")
        )
    try:
        return BucketArchive(open_store(location, archive_access()), location)
    except InvalidLocation as error:
        raise WrongPlace(_wrong(str(error))) from error


class FolderArchive:
    """A local folder, which is made if it does not exist."""

    at_once = 4
    #: Why a marker may be gone, after "as if".
    as_if = "the disk were not mounted"

    def __init__(self, folder: Path) -> None:
        self.location = f"the folder {folder}"
        self._folder = folder
        self._unsettled: set[Path] = set()
        self._made: set[Path] = set()
        self._lock = Lock()

    def prepare(self, network: str, *, used: bool) -> None:
        parts = self._folder / _PARTS
        try:
            marked = _is_marked(self, network, used=used)
            parts.mkdir(parents=True, exist_ok=True)
            if not marked:
                self.put(MARKER, _marker(network))
                self.settle()
            for part in parts.iterdir():
                # Another writer may have moved it to its path meanwhile.
                with suppress(FileNotFoundError):
                    if part.stat().st_mtime < time.time() - _SECONDS_OF_A_PART:
                        part.unlink()
        except OSError as error:
            raise ArchiveUnavailable(_reason(error)) from error

    def put(self, path: str, data: bytes) -> None:
        target = self._folder / path
        try:
            if _holds(target, data):
                # A process that was killed may not have settled it.
                self._make_folder(target.parent)
                with self._lock:
                    self._unsettled.add(target.parent)
                return
            self._require_room()
            part = self._folder / _PARTS / uuid4().hex
            try:
                with part.open("wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                # Not before: where the disk is away, there is no folder of parts, and none shall be made.
                self._move(part, target)
            except BaseException:
                part.unlink(missing_ok=True)
                raise
        except OSError as error:
            # Somebody may have removed folders.
            with self._lock:
                self._made.clear()
            raise ArchiveUnavailable(_reason(error)) from error
        with self._lock:
            self._unsettled.add(target.parent)

    def settle(self) -> None:
        with self._lock:
            folders, self._unsettled = self._unsettled, set()
        try:
            for folder in folders:
                _sync(folder)
            if folders:
                # Where this one is missing as well, the disk is away with what was put.
                (self._folder / _PARTS).stat()
        except OSError as error:
            with self._lock:
                self._unsettled |= folders
            raise ArchiveUnavailable(_reason(error)) from error

    def folders(self, folder: str) -> list[str]:
        try:
            with os.scandir(self._folder / folder) as entries:
                return sorted(f"{folder}/{entry.name}" for entry in entries if entry.is_dir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ArchiveUnavailable(_reason(error)) from error

    def paths(self, folder: str) -> Iterator[str]:
        for parent, folders, names in os.walk(self._folder / folder, onerror=_raise_away):
            folders.sort()
            below = PurePosixPath(Path(parent).relative_to(self._folder).as_posix())
            for name in sorted(names):
                yield str(below / name)

    def read(self, path: str) -> bytes:
        try:
            return (self._folder / path).read_bytes()
        except OSError as error:
            raise ArchiveUnavailable(_reason(error)) from error

    def delete(self, paths: Sequence[str]) -> None:
        try:
            for path in paths:
                (self._folder / path).unlink(missing_ok=True)
        except OSError as error:
            raise ArchiveUnavailable(_reason(error)) from error
        for path in paths:
            with suppress(OSError):
                for parent in PurePosixPath(path).parents[:-1]:
                    (self._folder / parent).rmdir()
        with self._lock:
            self._made.clear()

    def marker(self) -> bytes | None:
        try:
            return (self._folder / MARKER).read_bytes().strip()
        except FileNotFoundError:
            return None

    def holds_something(self) -> bool:
        try:
            # A process that was killed may have made no more than the folder of parts.
            return any(path.name != _PARTS for path in self._folder.iterdir())
        except FileNotFoundError:
            return False

    def _require_room(self) -> None:
        disk = os.statvfs(self._folder)
        if disk.f_bavail * disk.f_frsize < _LEAST_FREE_BYTES:
            raise ArchiveUnavailable(
                f"less than {byte_size(_LEAST_FREE_BYTES)} are free, which the database may need"
            )

    def _move(self, part: Path, target: Path) -> None:
        for tries_left in reversed(range(_TRIES)):
            try:
                self._make_folder(target.parent)
                part.rename(target)
                return
            except (FileNotFoundError, FileExistsError):
                # Retention removes folders that are empty. Without the part, the disk is away.
                if not tries_left or not part.exists():
                    raise
                with self._lock:
                    self._made.clear()

    def _make_folder(self, folder: Path) -> None:
        with self._lock:
            if folder in self._made:
                return
        folder.mkdir(parents=True, exist_ok=True)
        with self._lock:
            self._made.add(folder)
            # Also of those that are there already: a process that was killed may not have settled them.
            self._unsettled |= {each for each in folder.parents if each.is_relative_to(self._folder)}


class BucketArchive:
    """A bucket: a file that was put outlasts everything."""

    at_once = 16
    as_if = "this were another bucket"

    def __init__(self, store: ObjectStore, location: str) -> None:
        self.location = f"the bucket {location}"
        self._store = store

    def prepare(self, network: str, *, used: bool) -> None:
        if not _is_marked(self, network, used=used):
            self.put(MARKER, _marker(network))

    def put(self, path: str, data: bytes) -> None:
        try:
            obstore.put(self._store, path, data, use_multipart=False)
        except (BaseError, OSError, ValueError) as error:
            raise ArchiveUnavailable(_reason(error)) from error

    def settle(self) -> None:
        pass

    def folders(self, folder: str) -> list[str]:
        try:
            return sorted(obstore.list_with_delimiter(self._store, folder)["common_prefixes"])
        except (BaseError, OSError, ValueError) as error:
            raise ArchiveUnavailable(_reason(error)) from error

    def paths(self, folder: str) -> Iterator[str]:
        try:
            for page in obstore.list(self._store, folder or None):
                for entry in page:
                    yield entry["path"]
        except (BaseError, OSError, ValueError) as error:
            raise ArchiveUnavailable(_reason(error)) from error

    def read(self, path: str) -> bytes:
        try:
            return bytes(obstore.get(self._store, path).bytes())
        except (BaseError, OSError, ValueError) as error:
            raise ArchiveUnavailable(_reason(error)) from error

    def delete(self, paths: Sequence[str]) -> None:
        try:
            obstore.delete(self._store, list(paths))
        except FileNotFoundError:
            return
        except (BaseError, OSError, ValueError) as error:
            raise ArchiveUnavailable(_reason(error)) from error

    def marker(self) -> bytes | None:
        try:
            return bytes(obstore.get(self._store, MARKER).bytes()).strip()
        except FileNotFoundError:
            return None
        except (BaseError, OSError, ValueError) as error:
            raise ArchiveUnavailable(_reason(error)) from error

    def holds_something(self) -> bool:
        return next(self.paths(""), None) is not None


def _is_marked(place: FolderArchive | BucketArchive, network: str, *, used: bool) -> bool:
    """Tell if the place has the marker of the network; if not, it may be claimed.

    Errors: PlaceAway, WrongPlace.
    """
    marker = place.marker()
    if marker is None and used:
        raise ArchiveUnavailable(_lost(place.as_if))
    if marker is None and place.holds_something():
        # Another process may have claimed it since, and written files.
        marker = place.marker()
        if marker is None:
            raise WrongPlace(_not_empty(place.location))
    if marker:
        _check(marker, network, place.location)
    return bool(marker)


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except FileNotFoundError:
        return False


def _sync(folder: Path) -> None:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        # Retention has removed it, with all that was in it.
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _raise_away(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise ArchiveUnavailable(_reason(error)) from error


# WORDS


def _lost(cause: str) -> str:
    return (
        f"this node has kept files there, but the file {MARKER} is gone, as if {cause}; if you have emptied "
        "it on purpose, put an empty file of that name there to begin a new place"
    )


def _marker(network: str) -> bytes:
    return json.dumps({"network": network}).encode() + b"\n"


def _check(marker: bytes, network: str, location: str) -> None:
    try:
        kept = json.loads(marker)["network"]
    except (ValueError, TypeError, KeyError):
        kept = None
    if kept != network:
        whose = f"of the network {kept}" if kept else f"as its {MARKER} says nothing of a network"
        raise WrongPlace(
            _wrong(f"{location} keeps stream files {whose}, not of {network}: name another place.")
        )


def _not_empty(location: str) -> str:
    return _wrong(
        f"{location} holds something else than kept stream files: name an empty place, or one that does not "
        "exist yet."
    )


def _wrong(cause: str) -> str:
    return f"{config.described(PLACE).variable}: {cause}"


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(" .:") if lines else type(error).__name__
