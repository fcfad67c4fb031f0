"""First stage: the files in stream order, each with what a reader process has read of it in advance."""

from collections.abc import Generator, Iterable

from ledger.ingest.rows.deferred_lookups import DirtyKeys
from ledger.ingest.stages.options import LoadOptions, Progress
from ledger.ingest.stages.prefetching import PrefetchedFile, PrefetchRequest
from ledger.ingest.stages.reader_processes import Arrival
from ledger.stream.source.stream_file import StreamFile


class ReadStage:
    """Hands files to reader processes, if there are any, and drops results that are out of date."""

    def __init__(self, options: LoadOptions, dirty: DirtyKeys) -> None:
        self._readers, self._quorums, self._balances = options.readers, options.quorums, options.balances
        self._dirty = dirty

    def arrivals(
        self, files: Iterable[StreamFile | None], progress: Progress, *, prefetch: bool
    ) -> Generator[Arrival, None, None]:
        """Yield every file; None where none follows for now."""
        if self._readers and prefetch:
            yield from self._readers.arrivals(files, lambda source: self._request(source, progress))
        else:
            yield from map(Arrival, files)

    def usable(self, arrival: Arrival) -> PrefetchedFile | None:
        """Return the prefetched file, unless the files before it have changed what it relied on."""
        _, request, prefetched = arrival
        if request is None or prefetched is None:
            return None
        if self._quorums and request.quorum is not self._quorums.latest():
            return None
        self._dirty.discard_until(request.committed)
        return None if self._dirty.changed_since(request.committed, prefetched.lookup_keys) else prefetched

    def _request(self, source: StreamFile, progress: Progress) -> PrefetchRequest | None:
        """Return what a file is read by in advance, None for one that the stream has passed."""
        if progress.last and progress.last.reaches(source):
            return None
        if not progress.last and self._balances and source.instant <= self._balances.last:
            # Only a part of it is loaded.
            return None
        return PrefetchRequest(self._dirty.committed, self._quorums.latest() if self._quorums else None)
