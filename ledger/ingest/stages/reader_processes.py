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

from ledger.ingest.rows.registry import load_handlers
from ledger.ingest.stages.prefetching import PrefetchedFile, PrefetchRequest, Reader
from ledger.stream.source.stream_file import StreamFile
from mirror.core import config, metrics
from mirror.core.processes import exits, operating_system, signals

PROCESSES = "importer.parser.processes"

# Files are handed over in chunks, as small ones take less time to read than to hand over.
_CHUNK_BYTES, _CHUNK_FILES = 100_000, 32
_MAX_PREFETCHED_BYTES = 8_000_000
# One that a reader reads and one that waits for it.
_CHUNKS_PER_READER = 2
# Smaller folders are read before another process is of use.
_MIN_BYTES = 1_000_000
_STOP_SECONDS = 5.0
_NICENESS = 5

# Connections that the loader had when a reader was copied from it.
_abandoned: list[Any] = []


class Arrival(NamedTuple):
    """A stream file and its prefetched content; `source` is None while there is no next file."""

    source: StreamFile | None
    request: PrefetchRequest | None = None
    prefetched: PrefetchedFile | None = None


@dataclass(slots=True)
class _Chunk:
    """Consecutive files, and once `is_done` is set what was prefetched of each, by a request."""

    sources: list[StreamFile | None] = field(default_factory=list)
    request: PrefetchRequest | None = None
    size: int = 0
    is_done: threading.Event = field(default_factory=threading.Event)
    prefetched: Sequence[PrefetchedFile | None] = ()

    def set_result(self, prefetched: Sequence[PrefetchedFile | None]) -> None:
        self.prefetched = prefetched
        self.is_done.set()

    def arrivals(self) -> Iterator[Arrival]:
        self.is_done.wait()
        for index, source in enumerate(self.sources):
            yield Arrival(source, self.request, self.prefetched[index] if self.prefetched else None)


class Readers:
    """Reading processes; `with` ends them."""

    def __init__(self, count: int) -> None:
        self._waiting: queue.SimpleQueue[_Chunk | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._max_chunks = count * (_CHUNKS_PER_READER + 1)
        # They are forked before this process starts threads, with the modules that each would import.
        load_handlers()
        self.processes = [_ReaderProcess(number) for number in range(count)]
        self._alive = count
        self._dead: set[int] = set()
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
                self._reader_died(reader)
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
        """Yield every file in order, with what was prefetched by the request that `request_for` returns."""
        chunks = _chunks(files, request_for)
        pending: deque[_Chunk] = deque()
        try:
            while True:
                while self._has_room(pending) and (chunk := next(chunks, None)):
                    pending.append(chunk)
                    self._submit(chunk)
                    if chunk.sources[-1] is None:
                        break
                if not pending:
                    return
                yield from pending.popleft().arrivals()
        finally:
            self._return_chunks()

    def _has_room(self, pending: Collection[_Chunk]) -> bool:
        """Return whether to prefetch one more chunk: rows take many times the memory of their files."""
        return (
            len(pending) < self._max_chunks and sum(chunk.size for chunk in pending) < _MAX_PREFETCHED_BYTES
        )

    def _submit(self, chunk: _Chunk) -> None:
        with self._lock:
            if chunk.request and self._alive:
                self._waiting.put(chunk)
                return
        chunk.set_result(())

    def _feed(self, reader: "_ReaderProcess") -> None:
        """Hand chunks to a reader, and collect what it has read, until it ends."""
        sent: deque[_Chunk] = deque()
        try:
            while True:
                while len(sent) < _CHUNKS_PER_READER:
                    try:
                        chunk = self._waiting.get(block=not sent)
                    except queue.Empty:
                        break
                    if chunk is None:
                        return
                    sent.append(chunk)
                    reader.send(chunk)
                prefetched = reader.receive()
                sent.popleft().set_result(prefetched)
        except (OSError, EOFError):
            self._reader_died(reader)
        finally:
            for chunk in sent:
                chunk.set_result(())

    def _reader_died(self, reader: "_ReaderProcess") -> None:
        with self._lock:
            if not self._alive or reader.pid in self._dead:
                return
            self._dead.add(reader.pid)
            self._alive -= 1
            all_dead = not self._alive
        reason = reader.exit_reason()
        reader.stop()
        exits.record(f"a reader of stream files (process {reader.pid})", reason)
        if all_dead:
            self._return_chunks()

    def _return_chunks(self) -> None:
        """Leave the chunks that no reader has begun to the loader."""
        with suppress(queue.Empty):
            while True:
                if chunk := self._waiting.get_nowait():
                    chunk.set_result(())


class _ReaderProcess:
    """One process, as the loader sees it."""

    def __init__(self, number: int) -> None:
        self._connection, other_end = multiprocessing.Pipe()
        context = multiprocessing.get_context("fork")
        self._process = context.Process(
            target=_run, args=(other_end, self._connection), name=f"reader {number + 1}", daemon=True
        )
        with signals.signals_blocked():
            self._process.start()
        other_end.close()
        self.pid = self._process.pid or 0

    def send(self, chunk: _Chunk) -> None:
        """Errors: OSError."""
        self._connection.send((chunk.sources, chunk.request))

    def receive(self) -> list[PrefetchedFile | None]:
        """Errors: OSError, EOFError."""
        prefetched: list[PrefetchedFile | None] = self._connection.recv()
        return prefetched

    @property
    def has_ended(self) -> bool:
        return not self._process.is_alive()

    def exit_reason(self) -> str:
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
    count = config.value(PROCESSES) or operating_system.usable_processors()
    if count < 2 or total_bytes < _MIN_BYTES:
        yield None
        return
    with Readers(count) as readers:
        yield readers


def _chunks(
    files: Iterable[StreamFile | None], request_for: Callable[[StreamFile], PrefetchRequest | None]
) -> Iterator[_Chunk]:
    chunk = _Chunk()
    for source in files:
        chunk_request = request_for(source) if source and source.stored_bytes else None
        is_full = chunk.size >= _CHUNK_BYTES or len(chunk.sources) >= _CHUNK_FILES
        if chunk.sources and (is_full or chunk_request != chunk.request):
            yield chunk
            chunk = _Chunk()
        chunk.sources.append(source)
        chunk.request = chunk_request
        chunk.size += source.stored_bytes if source else 0
        if source is None:
            yield chunk
            chunk = _Chunk()
    if chunk.sources:
        yield chunk


# IN THE PROCESS


def _run(connection: Connection, other_end: Connection) -> None:
    signals.start_supervised()
    signals.end_with_parent()
    other_end.close()
    # The loader and the database get a core first: readers are of no use without them.
    os.nice(_NICENESS)
    operating_system.become_expendable()
    metrics.start("file reader")
    _abandon_connections()
    # Files are large and have hardly a cycle, as the loader knows.
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)
    received: queue.SimpleQueue[tuple[list[StreamFile], PrefetchRequest] | None] = queue.SimpleQueue()
    # The loader must never wait for a reader that waits for the loader.
    threading.Thread(target=_receive, args=(connection, received), daemon=True).start()
    reader = Reader()
    with suppress(OSError):
        while chunk := received.get():
            sources, request = chunk
            connection.send([reader.read(source, request) for source in sources])


def _receive(
    connection: Connection, received: "queue.SimpleQueue[tuple[list[StreamFile], PrefetchRequest] | None]"
) -> None:
    try:
        while True:
            received.put(connection.recv())
    except (OSError, EOFError):
        received.put(None)


def _abandon_connections() -> None:
    """Close the loader's sockets here without ending its sessions."""
    for connection in connections.all(initialized_only=True):
        if connection.connection is not None:
            os.close(connection.connection.fileno())
            # Never collected, as that would end the loader's session.
            _abandoned.append(connection.connection)
            connection.connection = None
