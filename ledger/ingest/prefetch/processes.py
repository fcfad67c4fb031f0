"""Processes that read files ahead of their turn, each on a core of its own.

The loader gets every file in order. A reader that dies costs only time: the files that it had are read in
their turn, as all are when no reader is left.
"""

import gc
import multiprocessing
import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, Self

from django.db import connections

from ledger.ingest.prefetch.reading import PrefetchRequest, Reader, ReadFile
from ledger.ingest.rows.registry import load_handlers
from ledger.stream.source.stream_file import StreamFile
from mirror.core import config, logs
from mirror.core.metrics import files
from mirror.core.processes import deaths, signals

log = logs.logger(__name__)

PROCESSES = "importer.parser.processes"

# Files are handed over in portions, as small ones are read in less time than that takes.
_PORTION_BYTES, _PORTION_FILES = 100_000, 32
_MOST_BYTES_AHEAD = 8_000_000
# Portions of each reader: one that it reads and one that waits for it.
_AT_A_READER = 2
# Below this size all files are read before another process is of use.
_LEAST_BYTES = 1_000_000
_STOP_SECONDS = 5.0
_NICENESS = 5

# Connections that the loader had when a reader was copied from it.
_abandoned: list[Any] = []


class Arrival(NamedTuple):
    """A file in its turn, or None when none follows for now; with what was read of it, and by what."""

    source: StreamFile | None
    asked: PrefetchRequest | None = None
    read: ReadFile | None = None


@dataclass(slots=True)
class _Portion:
    """Consecutive files of a size (bytes), and what was read of each once `done` is set: nothing where no
    reader is asked.
    """

    sources: list[StreamFile | None]
    asked: PrefetchRequest | None
    size: int
    done: threading.Event
    read: Sequence[ReadFile | None] = ()

    def answer(self, read: Sequence[ReadFile | None]) -> None:
        self.read = read
        self.done.set()

    def arrivals(self) -> Iterator[Arrival]:
        self.done.wait()
        for index, source in enumerate(self.sources):
            yield Arrival(source, self.asked, self.read[index] if self.read else None)


class Readers:
    """Reading processes; `with` ends them."""

    def __init__(self, count: int) -> None:
        self._waiting: queue.SimpleQueue[_Portion | None] = queue.SimpleQueue()
        self._alive = 0
        self._lock = threading.Lock()
        self._most_ahead = count * (_AT_A_READER + 1)
        # All are copied from this process before it has a thread more, and with what each would import.
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
        # Nobody notices the death of one that has nothing to read.
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
        self, files: Iterable[StreamFile | None], ask: Callable[[StreamFile], PrefetchRequest | None]
    ) -> Generator[Arrival, None, None]:
        """Yield every file in order, with what was read of it.

        `ask` tells by what a file is read ahead, or None where it should not be.
        """
        portions = _portions(files, ask)
        ahead: deque[_Portion] = deque()
        try:
            while True:
                while self._has_room(ahead) and (portion := next(portions, None)):
                    ahead.append(portion)
                    self._hand_out(portion)
                    if portion.sources[-1] is None:
                        break
                if not ahead:
                    return
                yield from ahead.popleft().arrivals()
        finally:
            with suppress(queue.Empty):
                while True:
                    if portion := self._waiting.get_nowait():
                        portion.answer(())

    def _has_room(self, ahead: Collection[_Portion]) -> bool:
        """Tell if one more portion may be read ahead: rows take many times the memory of their files."""
        return len(ahead) < self._most_ahead and sum(portion.size for portion in ahead) < _MOST_BYTES_AHEAD

    def _hand_out(self, portion: _Portion) -> None:
        with self._lock:
            if portion.asked and self._alive:
                self._waiting.put(portion)
                return
        portion.answer(())

    def _feed(self, reader: "_ReaderProcess") -> None:
        """Hand portions to a reader, and take what it has read, until it ends."""
        sent: deque[_Portion] = deque()
        try:
            while True:
                while len(sent) < _AT_A_READER:
                    try:
                        portion = self._waiting.get(block=not sent)
                    except queue.Empty:
                        break
                    if portion is None:
                        return
                    sent.append(portion)
                    reader.ask(portion)
                answer = reader.answer()
                sent.popleft().answer(answer)
        except (OSError, EOFError):
            self._lost(reader)
        finally:
            for portion in sent:
                portion.answer(())

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
        deaths.record(process, reason)
        log.error("process_died", process=process, reason=reason)
        if none_left:
            with suppress(queue.Empty):
                while True:
                    if portion := self._waiting.get_nowait():
                        portion.answer(())


class _ReaderProcess:
    """One process, as the loader sees it."""

    def __init__(self, number: int) -> None:
        self._connection, others = multiprocessing.Pipe()
        context = multiprocessing.get_context("fork")
        self._process = context.Process(
            target=_run, args=(others, self._connection), name=f"reader {number + 1}", daemon=True
        )
        with signals.held():
            self._process.start()
        others.close()
        self.pid = self._process.pid or 0

    def ask(self, portion: _Portion) -> None:
        """Errors: OSError."""
        self._connection.send((portion.sources, portion.asked))

    def answer(self) -> list[ReadFile | None]:
        """Errors: OSError, EOFError."""
        answer: list[ReadFile | None] = self._connection.recv()
        return answer

    @property
    def has_ended(self) -> bool:
        return not self._process.is_alive()

    def reason_of_end(self) -> str:
        """Return in words why the process, whose connection has ended, has ended itself."""
        self._process.join(_STOP_SECONDS)
        return deaths.reason(self._process.exitcode)

    def stop(self) -> None:
        self._process.terminate()
        self._process.join(_STOP_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._connection.close()


@contextmanager
def readers_for(total_bytes: int) -> Iterator[Readers | None]:
    """Start the readers that files of this size deserve; call it before the process has other threads."""
    count = config.value(PROCESSES) or len(os.sched_getaffinity(0))
    if count < 2 or total_bytes < _LEAST_BYTES:
        yield None
        return
    with Readers(count) as readers:
        yield readers


def _portions(
    files: Iterable[StreamFile | None], ask: Callable[[StreamFile], PrefetchRequest | None]
) -> Iterator[_Portion]:
    sources: list[StreamFile | None] = []
    asked: PrefetchRequest | None = None
    size = 0
    for source in files:
        by = ask(source) if source and source.stored_bytes else None
        if sources and (by != asked or size >= _PORTION_BYTES or len(sources) >= _PORTION_FILES):
            yield _Portion(sources, asked, size, threading.Event())
            sources, size = [], 0
        sources.append(source)
        asked = by
        size += source.stored_bytes if source else 0
        if source is None:
            yield _Portion(sources, None, size, threading.Event())
            sources, size = [], 0
    if sources:
        yield _Portion(sources, asked, size, threading.Event())


# IN THE PROCESS


def _run(connection: Connection, others: Connection) -> None:
    signals.leave_to_supervisor()
    signals.end_with_parent()
    others.close()
    # The loader and the database get a core first: nobody can go on before they have.
    os.nice(_NICENESS)
    files.begin("file reader")
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
            sources, asked = portion
            connection.send([reader.read(source, asked) for source in sources])


def _receive(
    connection: Connection, wanted: "queue.SimpleQueue[tuple[list[StreamFile], PrefetchRequest] | None]"
) -> None:
    try:
        while True:
            wanted.put(connection.recv())
    except (OSError, EOFError):
        wanted.put(None)


def _abandon_connections() -> None:
    """Leave the loader's connections to the loader: their server must not think that they go on here."""
    for connection in connections.all(initialized_only=True):
        if connection.connection is not None:
            os.close(connection.connection.fileno())
            # Never collected, or its end would be the end of the loader's session.
            _abandoned.append(connection.connection)
            connection.connection = None
