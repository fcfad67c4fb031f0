"""Kill every kind of process of a live node repeatedly: seconds until it answers and loads, and losses.

    python -m tests.benchmarks.crashes FOLDER --times 5
    python -m tests.benchmarks.crashes FOLDER --outside

The folder is made anew; the node's log stays there as `output`. With `--outside`, health checks, metrics and
`manage.py status` are watched meanwhile, and each fault is struck once: a second table says how soon each of
them reported it, and its end. Processes that are stopped for a while are among the faults then.

    python -m tests.benchmarks.crashes FOLDER --silent --times 5

PostgreSQL is stopped for a minute while clients ask for lists, calls, the page and the documentation: the
longest wait of each kind, and what was answered how often.
"""

import os
import re
import signal
import time
import urllib.error
import urllib.request
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event
from typing import NamedTuple

from tests.benchmarks.probes import Probes
from tests.node import BLOCKS, LiveNode, children
from tests.waiting import PATIENT_ENVIRONMENT

PATIENCE_SECONDS = 240
_MAX_LAG_SECONDS = 20
# Processes are stopped for so long that the node falls behind.
_STOPPED_SECONDS, _SILENT_SECONDS = 40.0, 60.0
# So long after a fault has ended, no probe may report anything else.
_CALM_SECONDS = 5.0
_STOPPED = ", stopped"


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--only", default="", help="the faults whose names begin so")
    parser.add_argument("--outside", action="store_true", help="watch the node from outside")
    parser.add_argument("--silent", action="store_true", help="stop PostgreSQL while clients ask")
    parser.add_argument("--block-node", action="store_true", help="the demo network writes blocks")
    options = parser.parse_args()
    options.folder.mkdir(parents=True)
    options.folder.chmod(0o755)
    node = LiveNode(options.folder)
    faults: dict[str, Callable[[], int | None]] = {
        "PostgreSQL backend": node.backend,
        "postmaster": node.server.pid,
        "PostgreSQL, restarted": node.server.pid,
        "web server": node.web_server,
        "web worker": node.web_worker,
        "loader (live demo)": node.loader,
        "simulation starter": node.starter,
        "simulation worker": node.simulator,
    }
    if options.outside:
        faults |= {f"PostgreSQL{_STOPPED}": node.server.pid, f"loader{_STOPPED}": node.loader}
    try:
        live = ("--live", *(("--block-node",) if options.block_node else ()))
        # The limits of tests are those of slow machines.
        limits = dict.fromkeys(PATIENT_ENVIRONMENT, "")
        limits["SVC_MIRROR_HEALTH_MAXLAG"] = f"{_MAX_LAG_SECONDS}s"
        node.start("up", *live, **limits)
        node.wait_for(lambda: node.last() > BLOCKS + 1 and node.calls() and node.simulator())
        if options.silent:
            for _ in range(options.times):
                show_silence(node)
            node.stop(signal.SIGTERM)
            return
        if options.outside:
            show_outside(node, {name: faults[name] for name in faults if name.startswith(options.only)})
            node.stop(signal.SIGTERM)
            return
        print("| what died | answers again (s) | loads again (s) | lost |\n|---|---|---|---|")
        for name, victim in faults.items():
            if not name.startswith(options.only):
                continue
            rows = [strike(node, name, victim) for _ in range(options.times)]
            answers = ", ".join(f"{row.answered:.1f}" for row in rows)
            loads = ", ".join(f"{row.loaded:.1f}" for row in rows)
            lost = ", ".join(sorted({row.lost for row in rows}))
            print(f"| {name} | {answers} | {loads} | {lost} |", flush=True)
        node.stop(signal.SIGTERM)
    finally:
        node.kill()


class Struck(NamedTuple):
    """When a process was killed, the seconds until the node answered and loaded, and what was lost."""

    began: float
    answered: float
    loaded: float
    lost: str


def strike(node: LiveNode, name: str, victim: Callable[[], int | None]) -> Struck:
    """Kill a process, and wait until the node has recovered."""
    pid = 0

    def is_there() -> bool:
        nonlocal pid
        pid = victim() or 0
        return bool(pid and node.calls() and node.last() >= 0)

    node.wait_for(is_there)
    before = node.last()
    began = time.monotonic()
    os.kill(pid, signal.SIGINT if "restarted" in name else signal.SIGKILL)
    answered = 0.0
    deadline = began + PATIENCE_SECONDS
    while True:
        last, called = node.last(), node.calls()
        now = time.monotonic() - began
        if last < 0 or not called:
            # It answers at the next attempt at the earliest.
            answered = now
        elif last > before + 1:
            return Struck(began, answered, now, "nothing" if node.unbroken() else "BROKEN CHAIN")
        if time.monotonic() > deadline:
            raise TimeoutError(name)
        time.sleep(0.05)


def show_outside(node: LiveNode, faults: dict[str, Callable[[], int | None]]) -> None:
    """Strike each fault once, and print what was seen from probes."""
    print(
        "| fault | over after (s) | probe | reported the death after (s) | not ready after (s) "
        "| ready again, after the end (s) |\n|---|---|---|---|---|---|"
    )
    for name, victim in faults.items():
        with Probes(node) as probes:
            _wait_until(name, probes.all_ready)
            began = time.monotonic()
            if name.endswith(_STOPPED):
                stop_for_a_while(name, victim)
                ended = _STOPPED_SECONDS
            else:
                struck = strike(node, name, victim)
                began, ended = struck.began, struck.answered
            calm = time.monotonic() + _CALM_SECONDS
            _wait_until(name, partial(probes.ready_since, calm))
        for report in probes.reports(began):
            again = "-" if report.first_no is None else f"{max(report.ready_again - ended, 0):.1f}"
            print(
                f"| {name} | {ended:.1f} | {report.name} | {_seconds(report.death)} "
                f"| {_seconds(report.first_no)} | {again} |",
                flush=True,
            )


def stop_for_a_while(name: str, victim: Callable[[], int | None]) -> None:
    """Stop a process, and those that it has started, for a while."""
    pid = victim() or 0
    assert pid, name
    pids = [pid, *children(pid)]
    for each in pids:
        os.kill(each, signal.SIGSTOP)
    time.sleep(_STOPPED_SECONDS)
    for each in pids:
        os.kill(each, signal.SIGCONT)


_REQUESTS: Mapping[str, bytes | None] = {
    "/api/v1/blocks?limit=5": None,
    "/api/v1/transactions?limit=5": None,
    "/api/v1/contracts/call": b'{"to":"0x0000000000000000000000000000000000000004","data":"0x01"}',
    "/": None,
    "/api/v1/nonsense": None,
    "/api/v1/docs/": None,
}


class Asked(NamedTuple):
    """What a request was answered, and after how many seconds."""

    path: str
    status: int
    detail: str
    seconds: float


def show_silence(node: LiveNode) -> None:
    """Stop PostgreSQL for a minute while a client for each path asks; print what they saw."""
    node.wait_for(lambda: node.last() >= 0 and node.calls())
    over, said = Event(), len(node.said)
    with ThreadPoolExecutor(len(_REQUESTS)) as clients:
        asking = [clients.submit(_ask_until, node, over, path, body) for path, body in _REQUESTS.items()]
        time.sleep(2)
        pids = node.server.pids()
        for each in pids:
            os.kill(each, signal.SIGSTOP)
        stopped = time.monotonic()
        while "database_away" not in node.said[said:] and time.monotonic() < stopped + _SILENT_SECONDS:
            time.sleep(0.05)
        print(f"database_away after {time.monotonic() - stopped:.1f} s")
        time.sleep(max(stopped + _SILENT_SECONDS - time.monotonic(), 0))
        for each in pids:
            os.kill(each, signal.SIGCONT)
        continued = time.monotonic()
        node.wait_for(lambda: node.last() >= 0 and node.calls())
        print(f"answers again after {time.monotonic() - continued:.1f} s")
        over.set()
        answers = [answer for each in asking for answer in each.result()]
    print("| path | longest wait (s) | answers |\n|---|---|---|")
    for path in _REQUESTS:
        its = [each for each in answers if each.path == path]
        counted = Counter((each.status, each.detail) for each in its)
        told = ", ".join(f"{count} x {status} {detail}" for (status, detail), count in counted.items())
        print(f"| {path} | {max(each.seconds for each in its):.1f} | {told} |", flush=True)


def _ask_until(node: LiveNode, over: Event, path: str, body: bytes | None) -> list[Asked]:
    answers = []
    url = f"http://127.0.0.1:{node.port}{path}"
    while not over.wait(0.1):
        began = time.monotonic()
        try:
            request = urllib.request.Request(url, body, {"content-type": "application/json"})
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                answer.read()
                status, detail = answer.status, ""
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read().decode()
            found = re.search(r'"detail":"([^"]*)"', text)
            detail = f"{found[1] if found else ''} (Retry-After: {error.headers['Retry-After']})"
        except OSError as error:
            status, detail = 0, str(error)
        answers.append(Asked(path, status, detail, time.monotonic() - began))
    return answers


def _wait_until(name: str, happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        if time.monotonic() > deadline:
            raise TimeoutError(name)
        time.sleep(0.1)


def _seconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.1f}"


if __name__ == "__main__":
    main()
