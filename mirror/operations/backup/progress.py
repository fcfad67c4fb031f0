"""Progress of a backup or a restore, by bytes: a bar on a terminal, else a line every few seconds."""

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from mirror.core.processes.progress import SECONDS_BETWEEN_LINES, time_left
from mirror.core.values.human_readable import byte_size


class Display:
    """Shows how many bytes of a total are done; any thread may add some."""

    def __init__(self, say: Callable[[str], None], doing: str, total: int) -> None:
        self._say, self._doing, self._total = say, doing, total
        self._done = 0
        self._lock = threading.Lock()
        self._began = self._last = time.monotonic()
        columns = (BarColumn(), DownloadColumn(binary_units=True), TransferSpeedColumn())
        self._bar: Progress | None = None
        if sys.stdout.isatty():
            self._bar = Progress(TextColumn(doing), *columns, TextColumn("{task.fields[left]}"))
            self._task = self._bar.add_task("bytes", total=total, left="")

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar:
            self._bar.stop()

    def add(self, count: int) -> None:
        with self._lock:
            self._done += count
            now = time.monotonic()
            left = time_left(self._done, self._total, now - self._began)
            if self._bar:
                self._bar.update(self._task, completed=self._done, left=left.removeprefix(", "))
            elif now - self._last >= SECONDS_BETWEEN_LINES:
                self._last = now
                rate = byte_size(self._done / (now - self._began))
                self._say(
                    f"{self._doing}: {byte_size(self._done)} of {byte_size(self._total)}, "
                    f"{rate} per second{left}"
                )
