"""The files of a backfill: on disk, or in a bucket."""

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path

from ledger.ingest.following.configured_bucket import open_download
from ledger.ingest.following.follower import Follower, Span
from ledger.ingest.hash_chain import Position
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.block.names import is_block
from ledger.stream.source.local import FileOnDisk, find_record_files
from ledger.stream.source.stream_file import StreamFile
from mirror.core.config.errors import OperatorError
from mirror.operations.history.plan import Interval, instant_text, last_loaded
from network import bundled


class Folder:
    """Files on disk, which other processes can read."""

    def __init__(self, path: str, *, signed: bool = True) -> None:
        self._path = Path(path)
        self.all: Sequence[FileOnDisk] = find_record_files([self._path])
        self.book = bundled.demo_address_book(self.all)
        self.quorums = Quorums(self.book) if signed else None

    def refresh(self) -> None:
        self.all = find_record_files([self._path])

    def files_within(self, interval: Interval) -> Sequence[FileOnDisk]:
        first = bisect_left(self.all, interval.first, key=_instant)
        return self.all[first : bisect_right(self.all, interval.end, key=_instant)]

    def file_start(self, time: int) -> int:
        """Return where the file begins that a time (ns) is in, or else the time."""
        before = bisect_right(self.all, time, key=_instant)
        if before and self.all[before - 1].record_file().consensus_end >= time:
            return self.all[before - 1].instant
        return time

    def files(self, interval: Interval, stopping: threading.Event) -> Generator[StreamFile | None]:
        last = Position.stored()
        return (file for file in self.files_within(interval) if last is None or not last.reaches(file))

    def check(self, loaded: Iterable[Interval]) -> None:
        """Raise OperatorError if files that the node has loaded are missing."""
        for interval in loaded:
            if (found := len(self.files_within(interval))) < interval.files:
                raise OperatorError(
                    f"{self._path} has {found:,} files from {instant_text(interval.start)} to "
                    f"{instant_text(interval.end)}, and the node has loaded {interval.files:,} of that "
                    "time. A backfill loads them once more, after what comes before: name a source that has "
                    "them all. Nothing is changed."
                )


class Bucket:
    """Files that nodes publish; they are downloaded and verified ahead of loading."""

    def __init__(self, location: str) -> None:
        self._location = location
        self.book = bundled.demo_address_book(())
        self.quorums = Quorums(self.book)

    def refresh(self) -> None:
        pass

    def file_start(self, time: int) -> int:
        """Return a time before the given one, since it is unknown where its file begins."""
        return time - 1

    def files(self, interval: Interval, stopping: threading.Event) -> Generator[StreamFile | None]:
        in_range = interval.first < interval.start
        span = Span(start=interval.start or None, until=interval.end, from_containing_file=in_range)
        return Follower(open_download(self._location), self.quorums, stopping=stopping, span=span).files()

    def check(self, loaded: Iterable[Interval]) -> None:
        """Raise OperatorError if the node has loaded blocks; only loading shows what else is missing."""
        if (last := last_loaded()) and is_block(last.name):
            raise OperatorError(
                f"The node has loaded blocks, up to {last.name}, and a backfill from a bucket loads record "
                "files alone: copy all of them into a folder, and name that. Nothing is changed."
            )


Source = Folder | Bucket


def open_source(location: str, *, signed: bool = True) -> Source:
    """Return the source at a location; by default the bucket of the settings.

    Files of a folder that are not `signed` are loaded without signatures. Errors: OperatorError.
    """
    if location and "://" not in location:
        return Folder(location, signed=signed)
    if not signed:
        raise OperatorError(
            "Files of a bucket are always verified: copy them into a folder to use --without-signatures."
        )
    return Bucket(location)


def _instant(file: FileOnDisk) -> int:
    return file.instant
