"""Processes that prefetch files, each on a core of its own.

The loader gets every file in order. A reader that dies costs only time: the loader reads the files that it
had, and all files when no reader is left.
"""

import gc
import multiprocessing
import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, Self

from django.db import connections

from ledger.ingest.prefetch.reading import PrefetchedFile, PrefetchRequest, Reader
from ledger.ingest.rows.registry import load_handlers
from ledger.stream.source.stream_file import StreamFile
from mirror.core import config, logs
from mirror.core.metrics import files
from mirror.core.processes import exits, signals

log = logs.logger(__name__)

PROCESSES = "importer.parser.processes"

# Files are handed over in portions, as small ones take less time to read than to hand over.
_PORTION_BYTES, _PORTION_FILES = 100_000, 32
_MAX_PREFETCHED_BYTES = 8_000_000
# One that a reader reads and one that waits for it.
_PORTIONS_PER_READER = 2
# Smaller folders are read before another process is of use.
_MIN_BYTES = 1_000_000
_STOP_SECONDS = 5.0
_NICENESS = 5

# Connections that the loader had when a reader was copied from it.
_abandoned: list[Any] = []


class Arrival(NamedTuple):
    """A file of the stream, or None when none follows for now; with what was prefetched, and by what."""

    source: StreamFile | None
    request: PrefetchRequest | None = None
    prefetched: PrefetchedFile | None = None


@dataclass(slots=True)
class _Portion:
    """Consecutive files of a size (bytes), and once `done` is set what was prefetched of each.

    Nothing is prefetched without a request.
    """

    sources: list[StreamFile | None] = field(default_factory=list)
    request: PrefetchRequest | None = None
    size: int = 0
    done: threading.Event = field(default_factory=threading.Event)
    prefetched: Sequence[PrefetchedFile | None] = ()

    def finish(self, prefetched: Sequence[PrefetchedFile | None]) -> None:
        self.prefetched = prefetched
        self.done.set()

    def arrivals(self) -> Iterator[Arrival]:
        self.done.wait()
        for index, source in enumerate(self.sources):
            yield Arrival(source, self.request, self.prefetched[index] if self.prefetched else None)


class Readers:
    """Reading processes; `with` ends them."""

    def __init__(self, count: int) -> None:
        self._waiting: queue.SimpleQueue[_Portion | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._most_portions = count * (_PORTIONS_PER_READER + 1)
        # They are forked before this process starts threads, with the modules that each would import.
        load_handlers()
        self.processes = [_ReaderProcess(number) for number in range(count)]
        self._alive = count
        self._gone: set[int] = set()
        self._feeders = [
            threading.Thread(target=self._feed, args=(reader,), name="reader", daemon=True)
            for reader in self.processes
        ]
        for feeder in self._feeders:
            feeder.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        # The death of a reader with nothing to read has not been noticed yet.
        for reader in self.processes:
            if reader.has_ended:
                self._lost(reader)
        with self._lock:
            self._alive = 0
        for reader in self.processes:
            reader.stop()
            self._waiting.put(None)
        for feeder in self._feeders:
            feeder.join(_STOP_SECONDS)

    def arrivals(
        self, files: Iterable[StreamFile | None], request_for: Callable[[StreamFile], PrefetchRequest | None]
    ) -> Generator[Arrival, None, None]:
        """Yield every file in order, with what was prefetched of it.

        `request_for` returns by what a file is prefetched, None if it should not be.
        """
        portions = _portions(files, request_for)
        pending: deque[_Portion] = deque()
        try:
            while True:
                while self._has_room(pending) and (portion := next(portions, None)):
                    pending.append(portion)
                    self._hand_out(portion)
                    if portion.sources[-1] is None:
                        break
                if not pending:
                    return
                yield from pending.popleft().arrivals()
        finally:
            self._give_back()

    def _has_room(self, pending: Collection[_Portion]) -> bool:
        """Return whether to prefetch one more portion: rows take many times the memory of their files."""
        return (
            len(pending) < self._most_portions
            and sum(portion.size for portion in pending) < _MAX_PREFETCHED_BYTES
        )

    def _hand_out(self, portion: _Portion) -> None:
        with self._lock:
            if portion.request and self._alive:
                self._waiting.put(portion)
                return
        portion.finish(())

    def _feed(self, reader: "_ReaderProcess") -> None:
        """Hand portions to a reader, and collect what it has read, until it ends."""
        sent: deque[_Portion] = deque()
        try:
            while True:
                while len(sent) < _PORTIONS_PER_READER:
                    try:
                        portion = self._waiting.get(block=not sent)
                    except queue.Empty:
                        break
                    if portion is None:
                        return
                    sent.append(portion)
                    reader.send(portion)
                prefetched = reader.receive()
                sent.popleft().finish(prefetched)
        except (OSError, EOFError):
            self._lost(reader)
        finally:
            for portion in sent:
                portion.finish(())

    def _lost(self, reader: "_ReaderProcess") -> None:
        with self._lock:
            if not self._alive or reader.pid in self._gone:
                return
            self._gone.add(reader.pid)
            self._alive -= 1
            none_left = not self._alive
        reason = reader.reason_of_end()
        reader.stop()
        process = f"a reader of stream files (process {reader.pid})"
        exits.record(process, reason)
        log.error("process_died", process=process, reason=reason)
        if none_left:
            self._give_back()

    def _give_back(self) -> None:
        """Leave the portions that no reader has begun to the loader."""
        with suppress(queue.Empty):
            while True:
                if portion := self._waiting.get_nowait():
                    portion.finish(())


class _ReaderProcess:
    """One process, as the loader sees it."""

    def __init__(self, number: int) -> None:
        self._connection, others = multiprocessing.Pipe()
        context = multiprocessing.get_context("fork")
        self._process = context.Process(
            target=_run, args=(others, self._connection), name=f"reader {number + 1}", daemon=True
        )
        with signals.signals_blocked():
            self._process.start()
        others.close()
        self.pid = self._process.pid or 0

    def send(self, portion: _Portion) -> None:
        """Errors: OSError."""
        self._connection.send((portion.sources, portion.request))

    def receive(self) -> list[PrefetchedFile | None]:
        """Errors: OSError, EOFError."""
        prefetched: list[PrefetchedFile | None] = self._connection.recv()
        return prefetched

    @property
    def has_ended(self) -> bool:
        return not self._process.is_alive()

    def reason_of_end(self) -> str:
        """Say why the process, whose connection has ended, has ended itself."""
        self._process.join(_STOP_SECONDS)
        return exits.reason(self._process.exitcode)

    def stop(self) -> None:
        self._process.terminate()
        self._process.join(_STOP_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._connection.close()


@contextmanager
def readers_for(total_bytes: int) -> Iterator[Readers | None]:
    """Start readers if files of this size are worth it; call it before the process has other threads."""
    count = config.value(PROCESSES) or len(os.sched_getaffinity(0))
    if count < 2 or total_bytes < _MIN_BYTES:
        yield None
        return
    with Readers(count) as readers:
        yield readers


def _portions(
    files: Iterable[StreamFile | None], request_for: Callable[[StreamFile], PrefetchRequest | None]
) -> Iterator[_Portion]:
    portion = _Portion()
    for source in files:
        wanted = request_for(source) if source and source.stored_bytes else None
        is_full = portion.size >= _PORTION_BYTES or len(portion.sources) >= _PORTION_FILES
        if portion.sources and (is_full or wanted != portion.request):
            yield portion
            portion = _Portion()
        portion.sources.append(source)
        portion.request = wanted
        portion.size += source.stored_bytes if source else 0
        if source is None:
            yield portion
            portion = _Portion()
    if portion.sources:
        yield portion


# IN THE PROCESS


def _run(connection: Connection, others: Connection) -> None:
    signals.start_supervised()
    signals.end_with_parent()
    others.close()
    # The loader and the database get a core first: readers are of no use without them.
    os.nice(_NICENESS)
    files.start_writing("file reader")
    _abandon_connections()
    # Files are large and have hardly a cycle, as the loader knows.
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)
    wanted: queue.SimpleQueue[tuple[list[StreamFile], PrefetchRequest] | None] = queue.SimpleQueue()
    # The loader must never wait for a reader that waits for the loader.
    threading.Thread(target=_receive, args=(connection, wanted), daemon=True).start()
    reader = Reader()
    with suppress(OSError):
        while portion := wanted.get():
            sources, request = portion
            connection.send([reader.read(source, request) for source in sources])


def _receive(
    connection: Connection, wanted: "queue.SimpleQueue[tuple[list[StreamFile], PrefetchRequest] | None]"
) -> None:
    try:
        while True:
            wanted.put(connection.recv())
    except (OSError, EOFError):
        wanted.put(None)


def _abandon_connections() -> None:
    """Close the loader's sockets here without ending its sessions."""
    for connection in connections.all(initialized_only=True):
        if connection.connection is not None:
            os.close(connection.connection.fileno())
            # Never collected, as that would end the loader's session.
            _abandoned.append(connection.connection)
            connection.connection = None
