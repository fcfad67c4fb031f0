"""The followers of a stream: its files in order, verified, as they appear.

Every file has to continue the hash chain and to be signed, so none is skipped: one that can't be downloaded
or verified is tried again, after growing pauses, until it can. Record files are prefetched. A block that is
refused is requested again, from another source if there is one.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from ledger.ingest.errors import IngestError
from ledger.ingest.following.retry_state import RetryState
from ledger.ingest.hash_chain import NO_HASH, Position, block_number, chained
from ledger.ingest.reporting import Reporting
from ledger.ingest.trusted_nodes import Trust
from ledger.stream.errors import NoTrustedSigners, StreamFileError
from ledger.stream.record import names
from ledger.stream.signature.quorum import Quorum
from ledger.stream.source.blocks import BlockSource, FetchedBlock
from ledger.stream.source.download import Download, Listing, Published
from ledger.stream.source.stream_file import StreamFile, VerifiedFile
from mirror.core import config, logs
from mirror.core.metrics import ingest
from mirror.core.values.hashes import describe_difference
from mirror.core.values.timestamp import NANOS_PER_SECOND

log = logs.logger(__name__)

MAX_PAUSE = 30.0
# A file may appear so long after its time: at the end of the time to follow, wait for it.
_SECONDS_OF_GRACE = 120

_WAITING_SECONDS = 1.0
# Waiting for a block is divided into waits of this length, so that the loader may be stopped.
_LOOK_SECONDS = 0.5
# Another source may have the block, and there is a new one every other second.
_MAX_PAUSE_OF_BLOCKS = 2.0
# Far more than the time between the first and the last transaction of any record file (ns).
_MAX_FILE = 3_600 * NANOS_PER_SECOND


@dataclass(frozen=True)
class _Wanted:
    """A file being downloaded, and the quorum that has to sign it."""

    published: Published
    quorum: Quorum
    file: Future[VerifiedFile]


@dataclass(frozen=True, kw_only=True)
class Span:
    """The time to follow (ns): from where the tables end, or from `start` if that is later, to `until`.

    `within`: begin with the file that holds the time before `start`, if it lasts until then.
    """

    start: int | None = None
    until: int | None = None
    within: bool = False


class StreamFollower(ABC):
    """Follows a stream. Setting `stopping` ends it at the next file, from any thread."""

    def __init__(
        self, trust: Trust, report: Reporting | None, stopping: threading.Event | None, retry: RetryState
    ) -> None:
        self._trust, self._report, self._retry = trust, report, retry
        self._stopping = stopping or threading.Event()

    @property
    def problem(self) -> StreamFileError | IngestError | None:
        """The reason why it waits, if it does."""
        return self._retry.problem

    @property
    def fetching(self) -> bool:
        """Whether a file was found that it has not yielded yet."""
        return False

    @abstractmethod
    def files(self) -> Iterator[StreamFile | None]:
        """Yield the files in order, None whenever the next is not there yet, until stopped or at the end."""


class Follower(StreamFollower):
    """Follows the record files of a bucket or folder."""

    def __init__(
        self,
        download: Download,
        trust: Trust,
        report: Reporting | None = None,
        *,
        stopping: threading.Event | None = None,
        span: Span | None = None,
    ) -> None:
        frequency: float = config.value("importer.downloader.record.frequency")
        super().__init__(trust, report, stopping, RetryState(frequency, MAX_PAUSE, report))
        self._download = download
        self._span = span or Span()
        self._prefetched: int = config.value("importer.downloader.batchSize")
        self._fetching = ThreadPoolExecutor(self._prefetched, thread_name_prefix="fetch")
        self._listed, self._wanted = deque[Published](), deque[_Wanted]()
        # Downloaded after a file that could not be; by name.
        self._downloaded: dict[str, _Wanted] = {}
        self._after = self._hash = ""

    @property
    def fetching(self) -> bool:
        return bool(self._wanted or self._listed)

    def files(self) -> Iterator[VerifiedFile | None]:
        try:
            self._begin()
            while not self._stopping.is_set():
                if not self._wanted and not self._listed and not self._list():
                    yield None
                    if self._ended():
                        return
                    self._stopping.wait(self._retry.pause)
                    continue
                if not self._fill():
                    return
                while not self._wanted[0].file.done() and not self._stopping.is_set():
                    yield None
                    wait([self._wanted[0].file], _WAITING_SECONDS)
                if self._stopping.is_set():
                    return
                file = self._next()
                yield file
                if file is None and self.problem is not None:
                    self._stopping.wait(self._retry.pause)
        finally:
            self._fetching.shutdown(wait=False, cancel_futures=True)
            self._download.close()

    def _begin(self) -> None:
        last, start = Position.stored(), self._span.start
        if last and (start is None or start <= last.consensus_end):
            self._after = _after(last)
            self._hash = last.hash
        elif start:
            self._after = names.parse(names.record_name(start - 1)).after
            if self._span.within:
                self._after = self._before(start)

    def _before(self, start: int) -> str:
        """Return after which name to list so that the last file that begins before a time comes first."""
        after, quorum = names.parse(names.record_name(start - _MAX_FILE)).after, self._trust.quorum()
        before = [names.parse(names.record_name(start - 1)).after]
        while files := self._download.listing(quorum, after).files:
            before += [file.name for file in files if file.instant < start]
            after = files[-1].after
            if files[-1].instant >= start:
                break
        # A name sorts after the time that it begins with.
        return before[0] if len(before) == 1 else names.parse(before[-1]).time

    def _list(self) -> bool:
        """Look for new files, and return whether there are any."""
        listing = self._download.listing(self._trust.quorum(), self._after)
        self._listed.extend(listing.files)
        if listing.files:
            if self._report:
                self._report.newest(listing.files[-1].instant)
            return True
        if listing.problems:
            self._retry.note(_unlisted(self._download.bucket.location, listing))
        else:
            self._retry.end()
            if self._report:
                self._report.waiting()
        return False

    def _ended(self) -> bool:
        until = self._span.until
        if until is None or self.problem is not None:
            return False
        return time.time() > until / 1e9 + _SECONDS_OF_GRACE

    def _fill(self) -> bool:
        """Prefetch files. Return False when the next file is after the time to follow."""
        until = self._span.until
        while self._listed and len(self._wanted) < self._prefetched:
            if until is not None and self._listed[0].instant > until:
                if not self._wanted:
                    return False
                break
            self._want(self._listed.popleft())
        return True

    def _want(self, published: Published) -> None:
        quorum = self._trust.quorum()
        wanted = self._downloaded.pop(published.name, None)
        if wanted is None or wanted.quorum is not quorum:
            file = self._fetching.submit(self._download.fetch, published, quorum)
            wanted = _Wanted(published, quorum, file)
        self._wanted.append(wanted)

    def _next(self) -> VerifiedFile | None:
        """Return the next file of the chain; without one, list again, as the next listing may be complete."""
        if self._wanted[0].quorum is not self._trust.quorum():
            # The nodes have changed: prefetched files have to be signed by the new ones.
            self._listed.extendleft(wanted.published for wanted in reversed(self._wanted))
            self._wanted.clear()
            return None
        problem: StreamFileError | None = None
        for number, wanted in enumerate(self._wanted):
            try:
                file = wanted.file.result()
                self._require_next(file)
            except StreamFileError as error:
                problem = problem or error
                if not self._chained:
                    # Without a chain it is not known if a later file is the next one.
                    break
                continue
            for _ in range(number):
                log.warning("file_skipped", file=self._wanted.popleft().published.name)
            self._wanted.popleft()
            self._after, self._hash = wanted.published.after, file.record.hash
            self._retry.end()
            return file
        self._downloaded = {
            wanted.published.name: wanted
            for wanted in self._wanted
            if not wanted.file.done() or not (wanted.file.cancelled() or wanted.file.exception())
        }
        self._wanted.clear()
        self._listed.clear()
        if problem:
            self._retry.note(problem)
        return None

    @property
    def _chained(self) -> bool:
        return self._hash not in ("", NO_HASH)

    def _require_next(self, file: VerifiedFile) -> None:
        if chained(file.record.previous_hash, self._hash):
            return
        previous, own = describe_difference(file.record.previous_hash, self._hash)
        raise StreamFileError(
            file.name,
            0,
            f"its previous hash {previous} is not the hash {own} "
            f"of the last file, that of {self._after.removesuffix('_')}: a file between them is missing",
            "The missing file may appear; if it is lost for good, start anew after it by --from.",
            kind=ingest.CHAIN,
        )


class BlockFollower(StreamFollower):
    """Follows a block stream from where the tables end, to `until` (ns). Each block is yielded at once."""

    def __init__(
        self,
        source: BlockSource,
        trust: Trust,
        report: Reporting | None = None,
        *,
        stopping: threading.Event | None = None,
        until: int | None = None,
        sidecars: bool = True,
    ) -> None:
        self._frequency: float = config.value("importer.block.frequency")
        retry = RetryState(self._frequency, _MAX_PAUSE_OF_BLOCKS, report)
        super().__init__(trust, report, stopping, retry)
        self._source, self._until, self._sidecars = source, until, sidecars
        self._last: Position | None = None
        self._number = 0
        # How long to wait before the next look into the source, and in the source for the block (seconds).
        self._wait = self._look = 0.0

    def files(self) -> Iterator[StreamFile | None]:
        self._last = Position.stored()
        start: int = config.value("importer.startBlockNumber")
        self._number = self._last.index + 1 if self._last else start
        if self._report:
            self._report.block_source_from(self._source.status)
        try:
            while not self._stopping.is_set():
                block = self._next()
                if block is None:
                    yield None
                    self._stopping.wait(self._wait)
                    self._wait = 0.0
                    continue
                if self._until is not None and block.record_file().consensus_start > self._until:
                    return
                yield block
        finally:
            if self._report:
                self._report.block_source_from(None)
            self._source.close()

    def _next(self) -> StreamFile | None:
        """Return the next block of the chain, None while there is none or after a refused one.

        The first look does not wait, so that the blocks before are stored first; the next one does.
        """
        began, look, self._look = time.monotonic(), self._look, 0.0
        try:
            block = self._source.next(self._number, look)
            if block is not None:
                return self._accepted(block)
        except (StreamFileError, IngestError) as error:
            self._retry.note(error)
            self._wait = self._retry.pause
            return None
        if self._report and self.problem is None:
            self._report.waiting()
        self._look = _LOOK_SECONDS
        if look:
            # A bucket does not wait by itself.
            self._wait = max(0.0, self._frequency - (time.monotonic() - began))
        return None

    def _accepted(self, block: FetchedBlock) -> StreamFile:
        """Return the block, verified as the next of the chain. Errors: StreamFileError, IngestError."""
        file = block.file
        try:
            if self._last:
                self._last.require_next(file)
            verified = block.verify(self._trust.latest_quorum, sidecars=self._sidecars)
        except NoTrustedSigners:
            # Blocks of other sources can't be verified either.
            raise
        except (StreamFileError, IngestError) as error:
            self._source.refuse(error.cause)
            raise
        self._last = Position.after(file, block_number(file, self._last))
        self._number = self._last.index + 1
        self._retry.end()
        if self._report:
            self._report.newest(file.consensus_end)
        return verified


def _after(last: Position) -> str:
    """Return after which name to list: that of the last file, or its last transaction if it was a block."""
    try:
        return names.parse(last.name).after
    except StreamFileError:
        return names.parse(names.record_name(last.consensus_end)).after


def _unlisted(location: str, listing: Listing) -> StreamFileError:
    nodes, causes = len(listing.problems), list(listing.problems.values())
    # If the bucket does not answer, the causes differ only in the node's address.
    cause = causes[0] if len(set(causes)) == 1 else f"{causes[0]}; and alike"
    return StreamFileError(
        location,
        0,
        f"the files of {nodes} node{'s' if nodes > 1 else ''} can't be listed: {cause}",
        "See that the bucket can be reached and read with the configured credentials.",
        kind=ingest.SOURCE,
    )
