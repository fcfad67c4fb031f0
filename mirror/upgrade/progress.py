"""The progress of an upgrade: a bar for each backfill on a terminal, else a line every few seconds."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn

from mirror.core.db.schema.backfill import TITLES
from mirror.core.logs import Echo
from mirror.core.processes.progress import Pace
from mirror.upgrade.remaining import Remaining


@contextmanager
def shown(echo: Echo) -> Iterator[Callable[[Remaining], None]]:
    """Yield a function that shows the progress of a backfill."""
    if not sys.stdout.isatty():
        yield lines(echo)
        return
    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[rows]:,} rows{task.fields[left]}"))
    with Progress(TextColumn("{task.description}"), *columns) as progress:
        bars: dict[str, TaskID] = {}

        def show(state: Remaining) -> None:
            if state.name not in bars:
                bars[state.name] = progress.add_task(TITLES[state.name], total=1.0, rows=0, left="")
            progress.update(bars[state.name], completed=state.share, rows=state.rows, left=state.time_left)

        yield show


def lines(echo: Echo) -> Callable[[Remaining], None]:
    """Return a function that prints the progress of a backfill: at its start and end, and periodically."""
    paces: dict[str, Pace] = {}

    def show(state: Remaining) -> None:
        is_new = state.name not in paces
        if paces.setdefault(state.name, Pace()).is_due() or is_new or state.finished:
            echo(f"Upgrading: {state.text}, {state.rows:,} rows changed.")

    return show
