"""Progress of a command through files: a bar on a terminal, else a line every few seconds."""

import sys
import time
from collections.abc import Callable
from typing import Protocol, Self

from rich.progress import BarColumn, Progress, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from mirror.core.values.human_readable import duration

SECONDS_BETWEEN_LINES = 5
# The time left is unknown before this share is done.
LEAST_SHARE = 0.1


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
    if done < total * LEAST_SHARE:
        return ""
    return f", about {duration(round(seconds / done * (total - done)))} left" if done else ""


class Lines:
    """Progress as lines, where no terminal shows a bar."""

    def __init__(self, say: Callable[[str], None], total: int) -> None:
        self._say, self._total = say, total
        self._began = self._last = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def show(self, done: Done) -> None:
        now = time.monotonic()
        if now - self._last < SECONDS_BETWEEN_LINES:
            return
        self._last = now
        taken, rate = done.files + done.skipped, done.transactions / (now - self._began)
        self._say(
            f"{taken:,} of {self._total:,} files, {done.transactions:,} transactions, "
            f"{rate:,.0f} per second{time_left(taken, self._total, now - self._began)}"
        )

    def say(self, sentence: str) -> None:
        self._say(sentence)


class _TimeLeft(TimeRemainingColumn):
    def render(self, task: Task) -> Text:
        return super().render(task) if task.percentage >= 100 * LEAST_SHARE else Text("")


class Bar:
    """Progress as a bar on a terminal; `doing` is a word such as "Loading"."""

    def __init__(self, doing: str, total: int) -> None:
        self._progress = Progress(
            TextColumn(doing),
            BarColumn(),
            TextColumn("{task.completed:,.0f} of {task.total:,.0f} files"),
            TextColumn("{task.fields[rate]:,.0f} transactions/s"),
            _TimeLeft(),
        )
        self._total, self._began = total, time.monotonic()
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._progress.start()
        self._task = self._progress.add_task("files", total=self._total, rate=0.0)
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()

    def show(self, done: Done) -> None:
        assert self._task is not None
        rate = done.transactions / (time.monotonic() - self._began)
        self._progress.update(self._task, completed=done.files + done.skipped, rate=rate)

    def say(self, sentence: str) -> None:
        """Print a line above the bar."""
        self._progress.console.print(sentence, markup=False, highlight=False, soft_wrap=True)


def shown(doing: str, total: int, say: Callable[[str], None]) -> Bar | Lines:
    """Return the bar or the lines, by what the output is."""
    return Bar(doing, total) if sys.stdout.isatty() else Lines(say, total)
