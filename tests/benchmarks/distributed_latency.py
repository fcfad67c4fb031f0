"""How long requests and contract calls take on a distributed database, next to a single one.

    python -m tests.benchmarks.distributed_latency SINGLE DISTRIBUTED [--urls FILE] [--runs 60]

SINGLE and DISTRIBUTED are URLs of PostgreSQL databases with the same rows. With --urls the requests of a file
are sent, a name and a path in each line; else contracts of the demo network are called, with what was
read lately cached and without. Both sides take turns. Prints a table: median and 99th percentile,
and of the statements for the distributed database how many ask one shard, and how many ask all of them.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

from mirror.core.db.reading.statements import Noted
from tests.benchmarks.calls import bodies, get
from tests.benchmarks.scale.databases import ROOT, environment
from tests.conformance.serve import NO_CACHES
from tests.node import free_port

_HEAD = """\
| request | one machine p50 | p99 | distributed p50 | p99 ms | statements | of one shard | of all shards |
|---|---|---|---|---|---|---|---|"""
_CALL = "/api/v1/contracts/call"
_PLAN_SECONDS = 5.0
# The throttle would refuse calls that come so fast.
_UNLIMITED = {
    "SVC_MIRROR_WEB3_THROTTLE_REQUESTSPERSECOND": "1000000",
    "SVC_MIRROR_WEB3_THROTTLE_GASUNIT": "1000",
}


class Plans(NamedTuple):
    """The statements of a request: on how many of them Citus reads one shard, or more than one."""

    statements: int
    one_shard: int
    all_shards: int


def main() -> None:
    if sys.argv[1:] == ["answer"]:
        _answer_orders()
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("single")
    parser.add_argument("distributed")
    parser.add_argument("--urls", type=Path)
    parser.add_argument("--runs", type=int, default=60)
    given = parser.parse_args()
    print(_HEAD)
    if given.urls:
        _measure_urls(given)
        return
    for name, settings in (("", {}), (", nothing remembered", NO_CACHES)):
        with (
            _server(given.single, distributed=False, **settings) as single,
            _server(given.distributed, distributed=True, **settings) as distributed,
        ):
            _measure_calls(name, single, distributed, given.runs)


def _line(name: str, single: list[float], distributed: list[float], plans: Plans | None) -> str:
    figures = [f"{figure:.1f}" for times in (single, distributed) for figure in _figures(times)]
    return f"| {' | '.join([name, *figures, *map(str, plans or ('', '', ''))])} |"


def _figures(times: list[float]) -> tuple[float, float]:
    return statistics.median(times), statistics.quantiles(times, n=100)[98]


# REQUESTS


class Side:
    """A process that answers requests on one of the databases."""

    def __init__(self, url: str, *, distributed: bool) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __spec__.name, "answer"],
            cwd=ROOT,
            env=environment(url, SVC_MIRROR_DB_DISTRIBUTED="true" if distributed else "false"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, url: str, *, plans: bool = False) -> dict[str, Any]:
        assert self._process.stdin and self._process.stdout
        print(json.dumps({"url": url, "plans": plans}), file=self._process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def _measure_urls(given: argparse.Namespace) -> None:
    lines = (line.split(None, 1) for line in given.urls.read_text().splitlines())
    with ExitStack() as until_the_end:
        sides = Side(given.single, distributed=False), Side(given.distributed, distributed=True)
        for side in sides:
            until_the_end.callback(side.close)
        for name, url in ((line[0], line[1].strip()) for line in lines if len(line) == 2 and line[0] != "#"):
            plans = Plans(*sides[1].ask(url, plans=True)["plans"])
            # A statement is prepared when it runs for the second time.
            answers = [[side.ask(url) for _ in range(2)][-1]["body"] for side in sides]
            times: tuple[list[float], list[float]] = ([], [])
            for _ in range(given.runs):
                for side, taken in zip(sides, times, strict=True):
                    taken.append(side.ask(url)["milliseconds"])
            print(_line(name, *times, plans) + ("" if answers[0] == answers[1] else " DIFFERENT"), flush=True)


def _answer_orders() -> None:
    from mirror.core.db.reading import statements
    from tests.benchmarks.scale.requests import timed

    for line in sys.stdin:
        order = json.loads(line)
        statements.begin()
        taken, status, body = timed(order["url"])
        noted = statements.end()
        answer: dict[str, Any] = {"milliseconds": taken.wall, "body": f"{status} {body.decode()}"}
        if order["plans"]:
            answer["plans"] = _plans(noted)
        print(json.dumps(answer), flush=True)


def _plans(noted: list[Noted]) -> Plans:
    from mirror.core.db.reading import plans

    most = []
    for statement, values, *_ in noted:
        assert values is not None
        plan = plans.plan(statement, values, seconds=_PLAN_SECONDS)
        # A plan may have parts; a statement of tables that are not distributed has none of them.
        most.append(max(map(int, re.findall(r"Task Count: (\d+)", plan)), default=0))
    return Plans(len(noted), most.count(1), sum(count > 1 for count in most))


# CONTRACT CALLS


@contextmanager
def _server(url: str, *, distributed: bool, **settings: str) -> Iterator[str]:
    port = free_port()
    settings |= _UNLIMITED | {"SVC_MIRROR_DB_DISTRIBUTED": "true" if distributed else "false"}
    options = ["--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port), "--workers", "1", "--no-ws"]
    process = subprocess.Popen(
        [sys.executable, "-m", "granian", *options, "--blocking-threads", "2", "mirror.wsgi:application"],
        cwd=ROOT,
        env=environment(url, PORT=str(port), **settings),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address)
        yield address
    finally:
        process.terminate()
        process.wait()


def _wait(address: str) -> None:
    for _ in range(200):
        try:
            get(f"{address}/api/v1/blocks?limit=1")
            return
        except OSError:
            time.sleep(0.1)
    sys.exit("The server did not start.")


def _measure_calls(name: str, single: str, distributed: str, runs: int) -> None:
    requests = bodies(single)
    blocks = get(f"{single}/api/v1/blocks?limit=25")["blocks"]
    requests |= {
        f"{call}, at a block": body | {"block": str(blocks[-1]["number"])} for call, body in requests.items()
    }
    clients = [HTTPConnection(address.removeprefix("http://")) for address in (single, distributed)]
    for call, body in requests.items():
        times: tuple[list[float], list[float]] = ([], [])
        answers = [_called(client, body)[0] for client in clients for _ in range(3)]
        for _ in range(runs):
            for client, taken in zip(clients, times, strict=True):
                answer, milliseconds = _called(client, body)
                answers.append(answer)
                taken.append(milliseconds)
        print(_line(call + name, *times, None), flush=True)
        if len(different := {*answers}) > 1:
            print(f"DIFFERENT: {sorted(different)}"[:1000], flush=True)


def _called(client: HTTPConnection, body: dict[str, str]) -> tuple[bytes, float]:
    began = time.perf_counter()
    client.request("POST", _CALL, json.dumps(body), {"Content-Type": "application/json"})
    answer = client.getresponse().read()
    return answer, 1000 * (time.perf_counter() - began)


if __name__ == "__main__":
    main()
