"""Every list in a small and a large database: what grows, what is slow, what reads a table whole."""

import json
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from tests.benchmarks.scale import cases
from tests.benchmarks.scale.databases import ROOT, environment, reachable
from tests.benchmarks.scale.requests import STOPPED, Time
from tests.benchmarks.scale.values import values

#: The targets.
MAX_GROWTH, MAX_MILLISECONDS = 1.3, 50.0
# Less than this is no growth: it is what the machine does meanwhile.
_NOISE_MILLISECONDS = 1.0
_RUNS, _SECONDS = 3, 0.3
_TURNS, _TURNS_IN_DOUBT = 2, 3


class Asker:
    """A process that answers requests on one database."""

    def __init__(self, url: str, **settings: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.benchmarks.scale.requests"],
            cwd=ROOT,
            env=environment(url, **settings),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, url: str, *, explain: bool = False) -> dict[str, Any]:
        assert self._process.stdin and self._process.stdout
        order = {"url": url, "runs": _RUNS, "seconds": _SECONDS, "explain": explain}
        print(json.dumps(order), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"The process that answers ended at {url}.")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@dataclass
class Side:
    """What a request cost in one database."""

    url: str
    by: str
    times: list[Time] = field(default_factory=list)
    answer: dict[str, Any] = field(default_factory=dict)

    @property
    def wall(self) -> float:
        """The median by the clock, whatever is compared."""
        return statistics.median(each.wall for each in self.times)

    @property
    def median(self) -> float:
        return float(statistics.median(getattr(each, self.by) for each in self.times))

    def add(self, answer: dict[str, Any]) -> None:
        self.times += [Time(*each) for each in answer["times"]]
        self.answer |= answer


@dataclass
class Measured:
    """A case in both databases."""

    name: str
    small: Side
    large: Side

    @property
    def growth(self) -> float:
        return self.large.median / self.small.median

    def misses(self) -> list[str]:
        """The targets it misses, in words."""
        found = []
        if self.growth > MAX_GROWTH and self.large.median - self.small.median > _NOISE_MILLISECONDS:
            found.append(f"grows {self.growth:.1f} times")
        if self.large.median > MAX_MILLISECONDS:
            found.append(f"over {MAX_MILLISECONDS:.0f} ms")
        if self.large.answer["status"] not in (200, 404):
            found.append(f"status {self.large.answer['status']}")
        found += [
            "a statement was stopped" if table == STOPPED else f"reads {table} whole"
            for table in self.large.answer.get("whole", ())
        ]
        return found


def measure(
    small: str, large: str, urls: Path | None, only: str, by: str, tell: Callable[[str], None]
) -> Iterator[Measured]:
    """Ask each case in both databases in turn, and compare times `by` one of their names."""
    with ExitStack() as open_until_the_end:
        sides = [open_until_the_end.enter_context(_asker(where)) for where in (small, large)]
        tell("Looking for busy and quiet values.")
        named = [_values(open_until_the_end.enter_context(reachable(where))) for where in (small, large)]
        chosen = [case for case in _cases(urls) if re.search(only, case.name)]
        for number, case in enumerate(chosen, 1):
            filled = [cases.filled(case, each) for each in named]
            if filled[0] is not None and filled[1] is not None:
                one = Measured(case.name, Side(filled[0], by), Side(filled[1], by))
                _ask(one, sides)
                if one.small.answer["status"] != 400:
                    yield one
            if number % 50 == 0 or number == len(chosen):
                tell(f"{number} of {len(chosen)} requests.")


@contextmanager
def _asker(where: str) -> Iterator[Asker]:
    with reachable(where) as url:
        asker = Asker(url)
        try:
            yield asker
        finally:
            asker.close()


def _values(url: str) -> dict[str, str]:
    with psycopg.connect(url, autocommit=True) as connection:
        return values(connection)


def _cases(urls: Path | None) -> list[cases.Case]:
    """Those of each kind, or of a file with a name and a path on each line; and the worst ones."""
    kinds = cases.kinds()
    if urls is not None:
        lines = [line.split(None, 1) for line in urls.read_text().splitlines()]
        kinds = [
            cases.Case(name, path.strip().replace("{", "{{").replace("}", "}}"))
            for name, path in (line for line in lines if len(line) == 2 and not line[0].startswith("#"))
        ]
    return [*kinds, *cases.worst_cases()]


def _ask(one: Measured, askers: Iterable[Asker]) -> None:
    """In turns, as the machine has better and worse seconds; longer where it looks like a miss."""
    pairs = list(zip(askers, (one.small, one.large), strict=True))
    for lease in range(_TURNS):
        for asker, side in pairs:
            side.add(asker.ask(side.url, explain=lease == 0))
        # A slow one is sure soon enough.
        if one.large.median > _SECONDS * 1000:
            return
    if one.misses():
        for _ in range(_TURNS_IN_DOUBT):
            for asker, side in pairs:
                side.add(asker.ask(side.url))


# REPORT


def table(measured: Iterable[Measured]) -> str:
    """A markdown table."""
    lines = [
        "| request | small ms | large ms | growth | large by the clock | pages small | pages large "
        "| rows | misses |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for one in measured:
        answer, pages = one.large.answer, one.small.answer.get("pages", "")
        rows = "" if answer["rows"] is None else f"{answer['rows']}{'+' if answer['more'] else ''}"
        lines.append(
            f"| {one.name} | {one.small.median:.1f} | {one.large.median:.1f} | {one.growth:.2f} "
            f"| {one.large.wall:.1f} | {pages} | {answer.get('pages', '')} | {rows} "
            f"| {', '.join(one.misses())} |"
        )
    return "\n".join(lines)


def report(measured: list[Measured]) -> str:
    missing = sorted((one for one in measured if one.misses()), key=lambda one: -one.large.median)
    lines = [
        f"{len(measured)} requests, median of single ones: {len(measured) - len(missing)} meet the targets "
        f"(growth at most {MAX_GROWTH}, at most {MAX_MILLISECONDS:.0f} ms, no table read whole), "
        f"{len(missing)} do not.",
        "",
        table(missing),
        "",
        *(f"- {one.name}: `{one.large.url}`" for one in missing),
        "",
        "## All requests",
        "",
        table(measured),
        "",
    ]
    return "\n".join(lines)
