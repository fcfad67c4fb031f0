"""The followers of a stream: its files in order, verified, as they appear.

Every file has to continue the hash chain and to be signed, so none is skipped: one that can't be downloaded
or verified is tried again, after growing pauses, until it can. Record files are prefetched. A block that is
refused is requested again, from another source if there is one.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from ledger.ingest import IngestError
from ledger.ingest.hash_chain import NO_HASH, Position, block_number, chained
from ledger.ingest.reporting import Problem, Reporting
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream import record_names
from ledger.stream.errors import NoTrustedSigners, StreamFileError
from ledger.stream.signature.quorum import Quorum
from ledger.stream.source.download import Download, Listing, Published
from ledger.stream.source.stream_blocks import BlockSource, FetchedBlock
from ledger.stream.source.stream_file import StreamFile, VerifiedFile
from mirror.core import config, logs
from mirror.core.metrics import ingest
from mirror.core.values.hashes import describe_difference
from mirror.core.values.timestamp import NANOS_PER_SECOND

log = logs.logger(__name__)

MAX_PAUSE = 30.0
# A file may appear so long after its time: at the end of the time to follow, wait for it.
_GRACE_SECONDS = 120

_WAITING_SECONDS = 1.0
# Waiting for a block is divided into waits of this length, so that the loader may be stopped.
_POLL_SECONDS = 0.5
# Another source may have the block, and there is a new one every other second.
_MAX_BLOCK_PAUSE = 2.0
# A file that only some nodes have published is a problem after this time.
SECONDS_BEFORE_STUCK = 10.0
# Far more than the time between the first and the last transaction of any record file (ns).
_MAX_FILE_NS = 3_600 * NANOS_PER_SECOND


@dataclass(frozen=True)
class _Fetch:
    """A file being downloaded, and the quorum that has to sign it."""

    published: Published
    quorum: Quorum
    file: Future[VerifiedFile]


@dataclass(frozen=True, kw_only=True)
class Span:
    """The time to follow (ns); `from_containing_file`: from the file that holds the time before `start`."""

    start: int | None = None
    until: int | None = None
    from_containing_file: bool = False


class RetryState:
    """Why a follower waits, since when, and how long until the next try. Pauses are in seconds."""

    def __init__(self, shortest: float, longest: float, report: Reporting | None) -> None:
        self._shortest = shortest
        self._longest = longest
        self._report = report
        self._failing_since: float | None = None
        self._next = shortest
        # How long to wait now (seconds).
        self.pause = shortest
        # The reason, None if the last try succeeded.
        self.problem: StreamFileError | IngestError | None = None

    def note(self, problem: StreamFileError | IngestError) -> None:
        """Note a failed try: the pauses grow, and a lasting problem is reported."""
        now = time.monotonic()
        self._failing_since = self._failing_since or now
        self.problem = problem
        self.pause, self._next = self._next, min(self._next * 2, self._longest)
        ingest.REFUSED.labels(problem.kind).inc()
        log.info("file_awaited", file=problem.file, reason=str(problem), pause_s=round(self.pause, 1))
        if self._report and now - self._failing_since >= SECONDS_BEFORE_STUCK:
            self._report.stuck(Problem.from_error(problem))

    def end(self) -> None:
        self.pause = self._next = self._shortest
        self._failing_since, self.problem = None, None


class StreamFollower(ABC):
    """Follows a stream. Setting `stopping` ends it at the next file, from any thread."""

    def __init__(
        self, quorums: Quorums, report: Reporting | None, stopping: threading.Event | None, retry: RetryState
    ) -> None:
        self._quorums, self._report, self._retry = quorums, report, retry
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
    def files(self) -> Generator[StreamFile | None]:
        """Yield the files in order, None while the next is not there yet. Closing it closes their source."""


class Follower(StreamFollower):
    """Follows the record files of a bucket or folder."""

    def __init__(
        self,
        download: Download,
        quorums: Quorums,
        report: Reporting | None = None,
        *,
        stopping: threading.Event | None = None,
        span: Span | None = None,
    ) -> None:
        frequency: float = config.value("importer.downloader.record.frequency")
        super().__init__(quorums, report, stopping, RetryState(frequency, MAX_PAUSE, report))
        self._download = download
        self._span = span or Span()
        self._prefetch_count: int = config.value("importer.downloader.batchSize")
        self._fetching = ThreadPoolExecutor(self._prefetch_count, thread_name_prefix="fetch")
        self._listed, self._fetches = deque[Published](), deque[_Fetch]()
        # Downloaded after a file that could not be; by name.
        self._downloaded: dict[str, _Fetch] = {}
        self._listed_until = self._hash = ""

    @property
    def fetching(self) -> bool:
        return bool(self._fetches or self._listed)

    def files(self) -> Generator[VerifiedFile | None]:
        try:
            self._begin()
            while not self._stopping.is_set():
                if not self._fetches and not self._listed and not self._list():
                    yield None
                    if self._ended():
                        return
                    self._stopping.wait(self._retry.pause)
                    continue
                if not self._prefetch():
                    return
                while not self._fetches[0].file.done() and not self._stopping.is_set():
                    yield None
                    wait([self._fetches[0].file], _WAITING_SECONDS)
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
            self._listed_until = _listing_position(last)
            self._hash = last.hash
        elif start:
            self._listed_until = record_names.parse(record_names.record_name(start - 1)).after
            if self._span.from_containing_file:
                self._listed_until = self._listing_start(start)

    def _listing_start(self, start: int) -> str:
        """Return after which name to list so that the last file that begins before a time comes first."""
        after = record_names.parse(record_names.record_name(start - _MAX_FILE_NS)).after
        quorum = self._quorums.quorum()
        positions = [record_names.parse(record_names.record_name(start - 1)).after]
        while files := self._download.listing(quorum, after).files:
            positions += [file.name for file in files if file.instant < start]
            after = files[-1].after
            if files[-1].instant >= start:
                break
        # A name sorts after the time that it begins with.
        return positions[0] if len(positions) == 1 else record_names.parse(positions[-1]).time

    def _list(self) -> bool:
        listing = self._download.listing(self._quorums.quorum(), self._listed_until)
        self._listed.extend(listing.files)
        if listing.files:
            if self._report:
                self._report.newest(listing.files[-1].instant)
            return True
        if listing.problems:
            self._retry.note(_listing_error(self._download.bucket.location, listing))
        else:
            self._retry.end()
            if self._report:
                self._report.waiting()
        return False

    def _ended(self) -> bool:
        until = self._span.until
        if until is None or self.problem is not None:
            return False
        return time.time() > until / 1e9 + _GRACE_SECONDS

    def _prefetch(self) -> bool:
        """Prefetch files. Return False when the next file is after the time to follow."""
        until = self._span.until
        while self._listed and len(self._fetches) < self._prefetch_count:
            if until is not None and self._listed[0].instant > until:
                if not self._fetches:
                    return False
                break
            self._start_fetch(self._listed.popleft())
        return True

    def _start_fetch(self, published: Published) -> None:
        quorum = self._quorums.quorum()
        fetch = self._downloaded.pop(published.name, None)
        if fetch is None or fetch.quorum is not quorum:
            file = self._fetching.submit(self._download.fetch, published, quorum)
            fetch = _Fetch(published, quorum, file)
        self._fetches.append(fetch)

    def _next(self) -> VerifiedFile | None:
        """Return the next file of the chain; without one, list again, as the next listing may be complete."""
        if self._fetches[0].quorum is not self._quorums.quorum():
            # The nodes have changed: prefetched files have to be signed by the new ones.
            self._listed.extendleft(fetch.published for fetch in reversed(self._fetches))
            self._fetches.clear()
            return None
        problem: StreamFileError | None = None
        for number, fetch in enumerate(self._fetches):
            try:
                file = fetch.file.result()
                self._require_next(file)
            except StreamFileError as error:
                problem = problem or error
                if not self._is_chained:
                    # Without a chain it is not known if a later file is the next one.
                    break
                continue
            for _ in range(number):
                log.warning("file_skipped", file=self._fetches.popleft().published.name)
            self._fetches.popleft()
            self._listed_until, self._hash = fetch.published.after, file.record.hash
            self._retry.end()
            return file
        self._downloaded = {
            fetch.published.name: fetch
            for fetch in self._fetches
            if not fetch.file.done() or not (fetch.file.cancelled() or fetch.file.exception())
        }
        self._fetches.clear()
        self._listed.clear()
        if problem:
            self._retry.note(problem)
        return None

    @property
    def _is_chained(self) -> bool:
        return self._hash not in ("", NO_HASH)

    def _require_next(self, file: VerifiedFile) -> None:
        if chained(file.record.previous_hash, self._hash):
            return
        previous, expected = describe_difference(file.record.previous_hash, self._hash)
        raise StreamFileError(
            file.name,
            0,
            f"its previous hash {previous} is not the hash {expected} of the last file, that of "
            f"{self._listed_until.removesuffix('_')}: a file between them is missing",
            "The missing file may appear; if it is lost for good, start anew after it by --from.",
            kind=ingest.CHAIN,
        )


class BlockFollower(StreamFollower):
    """Follows a block stream from where the tables end, to `until` (ns). Each block is yielded at once."""

    def __init__(
        self,
        source: BlockSource,
        quorums: Quorums,
        report: Reporting | None = None,
        *,
        stopping: threading.Event | None = None,
        until: int | None = None,
        sidecars: bool = True,
    ) -> None:
        self._frequency: float = config.value("importer.block.frequency")
        retry = RetryState(self._frequency, _MAX_BLOCK_PAUSE, report)
        super().__init__(quorums, report, stopping, retry)
        self._source, self._until, self._sidecars = source, until, sidecars
        self._last: Position | None = None
        self._number = 0
        # How long to wait before the next look into the source, and in the source for the block (seconds).
        self._wait = self._poll_seconds = 0.0

    def files(self) -> Generator[StreamFile | None]:
        try:
            self._last = Position.stored()
            self._number = self._last.index + 1 if self._last else config.value("importer.startBlockNumber")
            if self._report:
                self._report.block_source_from(self._source.status)
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
        """Return the next block of the chain, None while there is none; only the first look does not wait."""
        started_at, poll_seconds, self._poll_seconds = time.monotonic(), self._poll_seconds, 0.0
        try:
            block = self._source.next(self._number, poll_seconds)
            if block is not None:
                return self._verified(block)
        except (StreamFileError, IngestError) as error:
            self._retry.note(error)
            self._wait = self._retry.pause
            return None
        if self._report and self.problem is None:
            self._report.waiting()
        self._poll_seconds = _POLL_SECONDS
        if poll_seconds:
            # A bucket does not wait by itself.
            self._wait = max(0.0, self._frequency - (time.monotonic() - started_at))
        return None

    def _verified(self, block: FetchedBlock) -> StreamFile:
        """Return the block, verified as the next of the chain. Errors: StreamFileError, IngestError."""
        file = block.file
        try:
            if self._last:
                self._last.require_next(file)
            verified = block.verify(self._quorums.latest_quorum, sidecars=self._sidecars)
        except NoTrustedSigners:
            # Blocks of other sources can't be verified either.
            raise
        except (StreamFileError, IngestError) as error:
            self._source.reject(error.cause)
            raise
        self._last = Position.from_file(file, block_number(file, self._last))
        self._number = self._last.index + 1
        self._retry.end()
        if self._report:
            self._report.newest(file.consensus_end)
        return verified


def _listing_position(last: Position) -> str:
    """Return after which name to list: that of the last file, or its last transaction if it was a block."""
    try:
        return record_names.parse(last.name).after
    except StreamFileError:
        return record_names.parse(record_names.record_name(last.consensus_end)).after


def _listing_error(location: str, listing: Listing) -> StreamFileError:
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
