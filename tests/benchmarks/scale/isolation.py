"""Short requests next to slow ones: eight threads request the slowest of all cases for a minute."""

import http.client
import multiprocessing
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg

from tests.benchmarks.scale import cases
from tests.benchmarks.scale.databases import ROOT, environment, reachable
from tests.benchmarks.scale.values import values
from tests.node import free_port

#: Their 99th percentile next to slow ones may be this many times that of an idle server.
MAX_TIMES = 2.0
_SLOW_CLIENTS, _SLOWEST, _SHORT_CLIENTS = 8, 40, 2
_SHORT = (
    "block-number",
    "transaction-id",
    "token-id",
    "account-id-no-transactions",
    "topic-message",
    "transactions-account-quiet",
    "balances-account",
)
_START_SECONDS = 120.0


@dataclass
class Answers:
    """Milliseconds and statuses of requests."""

    milliseconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    def percentile(self, percent: float) -> float:
        ordered = sorted(self.milliseconds)
        return ordered[min(int(len(ordered) * percent / 100), len(ordered) - 1)]

    def __str__(self) -> str:
        return (
            f"{len(self.milliseconds)} requests, p50 {self.percentile(50):.1f} ms, p99 "
            f"{self.percentile(99):.1f} ms, longest {max(self.milliseconds):.0f} ms, statuses "
            f"{dict(self.statuses)}"
        )


def measure(where: str, seconds: float, tell: Callable[[str], None]) -> bool:
    """Say how short requests fare, alone and next to slow ones; return whether they meet the target."""
    with reachable(where) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            named = values(connection)
        short = filled([case for case in cases.kinds() if case.name in _SHORT], named)
        with serving(url) as port:
            # Statements are prepared, and pages are in memory.
            _ask(port, short, time.monotonic() + 3, Answers(), random.Random(1))
            slow = _slowest(port, filled(cases.worst_cases(), named), tell)
            idle = _asked(port, short, seconds / 3)
            tell(f"alone: {idle}")
            pressing = _spawned(_press, port, slow, seconds)
            time.sleep(1)
            busy = _asked(port, short, seconds - 2)
            pressing.join()
            tell(f"next to {_SLOW_CLIENTS} threads of slow ones: {busy}")
    times = busy.percentile(99) / idle.percentile(99)
    tell(f"p99 next to slow ones is {times:.1f} times that of an idle server (at most {MAX_TIMES}).")
    return times <= MAX_TIMES


def filled(some: list[cases.Case], named: dict[str, str]) -> list[str]:
    return [url for case in some if (url := cases.filled(case, named)) is not None]


def _slowest(port: int, urls: list[str], tell: Callable[[str], None]) -> list[str]:
    taken = []
    connection = connected(port)
    for url in urls:
        milliseconds, status = one(connection, url)
        if status != 400:
            taken.append((milliseconds, url))
    taken.sort(reverse=True)
    tell(f"The slowest takes {taken[0][0]:.0f} ms: {taken[0][1]}")
    return [url for _, url in taken[:_SLOWEST]]


def _asked(port: int, urls: list[str], seconds: float) -> Answers:
    """Short requests by some clients."""
    seen, ends = Answers(), time.monotonic() + seconds
    clients = [
        threading.Thread(target=_ask, args=(port, urls, ends, seen, random.Random(number)))
        for number in range(_SHORT_CLIENTS)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    return seen


def _spawned(work: Callable[..., None], *arguments: Any) -> Any:
    """In a process of its own, so that its clients do not wait for those here."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=arguments, daemon=True)
    process.start()
    return process


def _press(port: int, urls: list[str], seconds: float) -> None:
    seen, ends = Answers(), time.monotonic() + seconds
    clients = [
        threading.Thread(target=_ask, args=(port, urls, ends, seen, random.Random(number)))
        for number in range(_SLOW_CLIENTS)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    print(f"slow ones: {seen}", file=sys.stderr, flush=True)


def _ask(port: int, urls: list[str], ends: float, seen: Answers, dice: random.Random) -> None:
    connection = connected(port)
    while time.monotonic() < ends:
        milliseconds, status = one(connection, dice.choice(urls))
        seen.milliseconds.append(milliseconds)
        seen.statuses[status] += 1


def connected(port: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=60)


def one(connection: http.client.HTTPConnection, url: str) -> tuple[float, int]:
    began = time.perf_counter()
    try:
        connection.request("GET", url)
        answer = connection.getresponse()
        answer.read()
        status = answer.status
    except (OSError, http.client.HTTPException):
        connection.close()
        status = 0
    return (time.perf_counter() - began) * 1000, status


@contextmanager
def serving(url: str) -> Iterator[int]:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "manage.py", "serve"],
        cwd=ROOT,
        env=environment(url, PORT=str(port)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + _START_SECONDS
        while one(connected(port), "/api/v1/blocks?limit=1")[1] != 200:
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("The web server did not start.")
            time.sleep(0.2)
        yield port
    finally:
        process.terminate()
        process.wait()
