"""Progress of a command: a bar on a terminal, else a line every few seconds."""

import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol, Self

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

from mirror.core.logs import Echo
from mirror.core.values.human_readable import byte_size, duration

SECONDS_BETWEEN_LINES = 5
# The time left is unknown before this share is done.
MIN_SHARE = 0.1


class Done(Protocol):
    """Files loaded, files that needed no work, and transactions of those loaded."""

    @property
    def files(self) -> int: ...
    @property
    def skipped(self) -> int: ...
    @property
    def transactions(self) -> int: ...


def time_left(done: int, total: int, seconds: float) -> str:
    """Return a clause about the time left, from the `seconds` so far; empty before a tenth is done."""
    if done < total * MIN_SHARE:
        return ""
    return f", about {duration(round(seconds / done * (total - done)))} left" if done else ""


class Pace:
    """The pace of lines: one is due every few seconds."""

    def __init__(self) -> None:
        self._began = self._last = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def is_due(self) -> bool:
        """Return whether a line is due; then the next one is due after the pause."""
        now = time.monotonic()
        if now - self._last < SECONDS_BETWEEN_LINES:
            return False
        self._last = now
        return True


class Display:
    """The progress of one task; any thread may update it."""

    def __init__(self, echo: Echo, total: int, *columns: ProgressColumn) -> None:
        self._echo, self._total, self._pace = echo, total, Pace()
        self._lock = threading.Lock()
        self._bar = Progress(*columns) if sys.stdout.isatty() else None
        if self._bar:
            self._task = self._bar.add_task("", total=total, rate=0.0, left="")

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar:
            self._bar.stop()

    def echo(self, sentence: str) -> None:
        """Print a line, above the bar if there is one."""
        if self._bar:
            self._bar.console.print(sentence, markup=False, highlight=False, soft_wrap=True)
        else:
            self._echo(sentence)

    def _update(self, completed: int, line: Callable[[], str], **fields: Any) -> None:
        if self._bar:
            self._bar.update(self._task, completed=completed, **fields)
        elif self._pace.is_due():
            self._echo(line())


class _TimeLeft(TimeRemainingColumn):
    def render(self, task: Task) -> Text:
        return super().render(task) if task.percentage >= 100 * MIN_SHARE else Text("")


class FileDisplay(Display):
    """Progress through files; `doing` is a word such as "Loading"."""

    def __init__(self, doing: str, total: int, echo: Echo) -> None:
        super().__init__(
            echo,
            total,
            TextColumn(doing),
            BarColumn(),
            TextColumn("{task.completed:,.0f} of {task.total:,.0f} files"),
            TextColumn("{task.fields[rate]:,.0f} transactions/s"),
            _TimeLeft(),
        )

    def show(self, progress: Done) -> None:
        files, seconds = progress.files + progress.skipped, self._pace.seconds
        rate = progress.transactions / seconds
        self._update(
            files,
            lambda: (
                f"{files:,} of {self._total:,} files, {progress.transactions:,} transactions, "
                f"{rate:,.0f} per second{time_left(files, self._total, seconds)}"
            ),
            rate=rate,
        )


class ByteDisplay(Display):
    def __init__(self, doing: str, total: int, echo: Echo) -> None:
        columns = TextColumn(doing), BarColumn(), DownloadColumn(binary_units=True), TransferSpeedColumn()
        super().__init__(echo, total, *columns, TextColumn("{task.fields[left]}"))
        self._doing, self._done = doing, 0

    def add(self, count: int) -> None:
        with self._lock:
            self._done += count
            seconds = self._pace.seconds
            left = time_left(self._done, self._total, seconds)
            self._update(
                self._done,
                lambda: (
                    f"{self._doing}: {byte_size(self._done)} of {byte_size(self._total)}, "
                    f"{byte_size(self._done / seconds)} per second{left}"
                ),
                left=left.removeprefix(", "),
            )
