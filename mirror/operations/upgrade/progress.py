"""The progress of an upgrade: a bar on a terminal, else a line every few seconds."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn

from mirror.core.db.backfill import TITLES
from mirror.core.processes.progress import SECONDS_BETWEEN_LINES
from mirror.core.values.human_readable import duration
from mirror.operations.upgrade.remaining import Remaining

Say = Callable[[str], None]


@contextmanager
def shown(say: Say) -> Iterator[Callable[[Remaining], None]]:
    """Yield a function that shows how far a backfill is."""
    if not sys.stdout.isatty():
        yield lines(say)
        return
    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[rows]:,} rows{task.fields[left]}"))
    with Progress(TextColumn("{task.description}"), *columns) as progress:
        bars: dict[str, TaskID] = {}

        def show(state: Remaining) -> None:
            if state.name not in bars:
                bars[state.name] = progress.add_task(TITLES[state.name], total=1.0, rows=0, left="")
            left = state.seconds_left
            about = f", about {duration(round(left))} left" if left and not state.finished else ""
            progress.update(bars[state.name], completed=state.share, rows=state.rows, left=about)

        yield show


def lines(say: Say) -> Callable[[Remaining], None]:
    """Return a function that says how far a backfill is: at its start, now and then, and at its end."""
    last: dict[str, float] = {}

    def show(state: Remaining) -> None:
        now = time.monotonic()
        if not state.finished and now - last.get(state.name, -now) < SECONDS_BETWEEN_LINES:
            return
        last[state.name] = now
        say(f"Upgrading: {state.text}, {state.rows:,} rows changed.")

    return show
