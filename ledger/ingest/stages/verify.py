"""Second stage: each file is signed by a quorum and follows the last one; loaded files are skipped."""

import time
from dataclasses import dataclass, replace

from ledger.ingest.hash_chain import (
    ChainedFile,
    LoadedFiles,
    Position,
    block_number,
    left_out,
    provisional_offset,
)
from ledger.ingest.stages.options import LoadOptions, Progress
from ledger.ingest.stages.prefetching import PrefetchedFile
from ledger.stream.record_file import RecordFile
from ledger.stream.source.stream_file import StreamFile
from mirror.core.metrics import ingest


@dataclass(frozen=True, slots=True)
class NextFile:
    """The next file to load, verified, with the number of its transactions; `load_start` is in ms."""

    source: StreamFile
    chained: ChainedFile
    prefetched: PrefetchedFile | None
    load_start: int
    count: int
    signed_by: tuple[int, ...]
    proved: bool

    @property
    def file(self) -> RecordFile:
        return self.chained.file


class VerifyStage:
    """Verifies files, those with `sidecars` along with them."""

    def __init__(self, options: LoadOptions, *, sidecars: bool) -> None:
        self._quorums, self._options, self._sidecars = options.quorums, options, sidecars
        self._loaded = LoadedFiles()

    def next(
        self, source: StreamFile, prefetched: PrefetchedFile | None, progress: Progress
    ) -> NextFile | None:
        """Return the file, verified; None if it is loaded or before the start. Errors: IngestError."""
        last, balances = progress.last, self._options.balances
        if last and last.reaches(source) and self._loaded.has(source, last):
            progress.skipped += 1
            return None
        load_start = time.time_ns() // 1_000_000
        if self._quorums and not prefetched:
            with ingest.stage("verify"):
                source = source.verify(self._quorums.latest_quorum, sidecars=self._sidecars)
        with ingest.stage("read"):
            file = prefetched.file if prefetched else source.record_file()
        if last:
            chained = self._chained(source, file, last)
            if chained is None:
                progress.skipped += 1
                return None
        elif balances and file.consensus_end <= balances.last:
            progress.earlier += 1
            return None
        else:
            chained = ChainedFile(file, None, block_number(file, None))
        count, verified = (prefetched or file).count, prefetched or source
        return NextFile(source, chained, prefetched, load_start, count, verified.signed_by, verified.proved)

    def _chained(self, source: StreamFile, file: RecordFile, last: Position) -> ChainedFile | None:
        """Return the file as it follows the last one, None if it is loaded already.

        Only the next file of the chain may begin before the last one ends: in blocks, transactions need not
        be in the order of their times. Errors: IngestError.
        """
        file = last.joined(file)
        if file.consensus_start <= last.consensus_end or last.reaches(source):
            if self._loaded.has_content(file, last):
                return None
            if file.consensus_end <= last.consensus_end or file.previous_hash != last.hash:
                raise left_out(file, last)
        chained = ChainedFile(
            file, last, block_number(file, last), block_offset=provisional_offset(file, last)
        )
        if self._options.allow_gap or self._starts_anew(last, source):
            return replace(chained, follows=last.is_followed_by(file))
        last.require_next(file)
        return replace(chained, follows=True, wrapper_problem=last.wrapper_problem(file))

    def _starts_anew(self, last: Position, source: StreamFile) -> bool:
        start = self._options.start
        return start is not None and last.consensus_end < start <= source.instant
