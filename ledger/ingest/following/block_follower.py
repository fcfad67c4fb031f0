"""The follower of a block stream: its blocks in order, verified, as they appear.

Each has to continue the hash chain and to be signed, so none is skipped: any other block is refused and
requested again, from another source if there is one.
"""

import threading
import time
from collections.abc import Iterator

from ledger.ingest.chain import Position, block_number
from ledger.ingest.errors import IngestError
from ledger.ingest.following.retry_state import RetryState
from ledger.ingest.reporting import Reporting
from ledger.ingest.trust import Trust
from ledger.stream.errors import NoTrustedSigners, StreamFileError
from ledger.stream.source.blocks import BlockSource, FetchedBlock
from ledger.stream.source.stream_file import StreamFile
from mirror.core import config

# Waiting for a block is divided into waits of this length, so that the loader may be stopped.
_LOOK_SECONDS = 0.5
# Another source may have the block, and there is a new one every other second.
_LONGEST_PAUSE = 2.0


class BlockFollower:
    """Follows a block stream from where the tables end, to `until` (ns)."""

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
        self._source, self._trust, self._report = source, trust, report
        self._until, self._sidecars = until, sidecars
        self._stopping = stopping or threading.Event()
        self._frequency: float = config.value("importer.block.frequency")
        self._last: Position | None = None
        self._number = 0
        self._retry = RetryState(self._frequency, _LONGEST_PAUSE, report)
        # How long to wait before the next look into the source, and in the source for the block (seconds).
        self._wait = self._look = 0.0

    @property
    def problem(self) -> StreamFileError | IngestError | None:
        """The reason why it waits, if it does."""
        return self._retry.problem

    @property
    def fetching(self) -> bool:
        """False, as each block is yielded at once."""
        return False

    def files(self) -> Iterator[StreamFile | None]:
        """Yield the blocks in order, None whenever the next is not there yet, until stopped or at `until`."""
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
