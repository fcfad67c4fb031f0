"""Answers and latency of the REST API on a distributed database next to those on a single one.

    python -m tests.benchmarks.distributed SINGLE DISTRIBUTED [--urls FILE] [--only REGEX] [--runs 5]

SINGLE and DISTRIBUTED are URLs of PostgreSQL databases with the same rows. Every list is requested with its
filters alone and in pairs, in both orders (`tests.benchmarks.scale.cases`), also for its second page; and the
tour's requests, and every account, token, contract and transaction of the first pages. Prints each request
with another answer, and the statements that failed; with `--runs` also how long each request takes.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from tests import tour
from tests.benchmarks.scale import cases
from tests.benchmarks.scale.databases import ROOT, environment
from tests.benchmarks.scale.values import values

_API = "/api/v1/"
# Lists whose members are requested one by one: the list, its members, and paths of each.
_MEMBERS = [
    ("accounts?limit=100", "accounts", "account", ("accounts/{}", "accounts/{}?transactions=false")),
    ("accounts?limit=100&order=desc", "accounts", "account", ("accounts/{}", "transactions?account.id={}")),
    ("tokens?limit=100", "tokens", "token_id", ("tokens/{}", "tokens/{}/balances", "tokens/{}/nfts")),
    ("transactions?limit=100", "transactions", "transaction_id", ("transactions/{}",)),
    ("transactions?limit=100&order=asc", "transactions", "transaction_id", ("transactions/{}?nonce=0",)),
    ("schedules?limit=100", "schedules", "schedule_id", ("schedules/{}",)),
    ("contracts?limit=100", "contracts", "contract_id", ("contracts/{}", "contracts/{}/state")),
    (
        "contracts/results?limit=100",
        "results",
        "hash",
        ("contracts/results/{}", "contracts/results/{}/actions"),
    ),
]


class Answer(NamedTuple):
    status: int
    body: str
    milliseconds: list[float]
    statements: int
    failed: list[list[str]]


class Side:
    """A process that answers requests on one of the databases."""

    def __init__(self, url: str, *, distributed: bool) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __spec__.name, "answer"],
            cwd=ROOT,
            env=environment(url, SVC_MIRROR_DB_DISTRIBUTED="true" if distributed else "false"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, url: str, runs: int) -> Answer:
        assert self._process.stdin and self._process.stdout
        print(json.dumps([url, runs]), file=self._process.stdin, flush=True)
        return Answer(*json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


class Compared(NamedTuple):
    name: str
    url: str
    single: Answer
    distributed: Answer

    @property
    def equal(self) -> bool:
        return (self.single.status, self.single.body) == (self.distributed.status, self.distributed.body)


def main() -> int:
    if sys.argv[1:] == ["answer"]:
        return _answer_orders()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("single")
    parser.add_argument("distributed")
    parser.add_argument("--urls", type=Path, help="requests with names, instead of one of each kind")
    parser.add_argument("--only", default="", help="a pattern of names of requests")
    parser.add_argument("--runs", type=int, default=0, help="measure each request so many times")
    given = parser.parse_args()
    compared: list[Compared] = []
    with ExitStack() as until_the_end:
        sides = Side(given.single, distributed=False), Side(given.distributed, distributed=True)
        for side in sides:
            until_the_end.callback(side.close)
        for one in _compare(given, *sides):
            compared.append(one)
            if not one.equal:
                _tell_difference(one)
    if given.runs:
        print(_table(compared))
    different = sum(not one.equal for one in compared)
    print(f"{len(compared)} requests, {different} of them answered differently.")
    return 1 if different else 0


def _compare(given: argparse.Namespace, single: Side, distributed: Side) -> Iterator[Compared]:
    seen = set[str]()
    for name, url in _requests(given):
        if not re.search(given.only, name):
            continue
        following: str | None = url
        for page in ("", " (next page)"):
            if following is None or following in seen:
                break
            seen.add(following)
            one = Compared(
                name + page, following, *(side.ask(following, given.runs) for side in (single, distributed))
            )
            yield one
            following = _next(one.single)
    for path, members, key, paths in _MEMBERS:
        if not re.search(given.only, f"members {path}"):
            continue
        listed = json.loads(single.ask(_API + path, 0).body).get(members, [])
        for member in dict.fromkeys(str(each[key]) for each in listed):
            for each in paths:
                url = _API + each.format(member)
                if url not in seen:
                    seen.add(url)
                    yield Compared(
                        f"members {path}", url, *(side.ask(url, given.runs) for side in (single, distributed))
                    )


def _requests(given: argparse.Namespace) -> Iterator[tuple[str, str]]:
    with psycopg.connect(given.single, autocommit=True) as connection:
        named = values(connection)
    if given.urls:
        lines = (line.split(None, 1) for line in given.urls.read_text().splitlines())
        yield from ((line[0], line[1].strip()) for line in lines if len(line) == 2 and line[0] != "#")
    for page in sorted((ROOT / "mirror" / "docs").glob("*.md")):
        for stop in tour.stops(page.read_text()):
            if stop.body is None:
                yield f"tour: {page.name}", stop.path
    for case in [*cases.kinds(), *cases.worst_cases()]:
        url = cases.filled(case, named)
        if url is not None:
            yield case.name, url


def _next(answer: Answer) -> str | None:
    if answer.status != 200:
        return None
    links = json.loads(answer.body).get("links") or {}
    return links.get("next") if isinstance(links, dict) else None


def _tell_difference(one: Compared) -> None:
    print(f"{one.name}: {one.url}\n  status {one.single.status} and {one.distributed.status}")
    for error, statement in one.distributed.failed:
        print(f"  {error}\n{statement}")
    if not one.distributed.failed:
        print(f"  single:      {one.single.body[:2000]}\n  distributed: {one.distributed.body[:2000]}")


def _table(compared: list[Compared]) -> str:
    lines = [
        "| request | single p50 ms | distributed p50 ms | times | statements | of the single one |",
        "|---|---|---|---|---|---|",
    ]
    for one in compared:
        single, distributed = (statistics.median(side.milliseconds) for side in (one.single, one.distributed))
        lines.append(
            f"| {one.name} | {single:.1f} | {distributed:.1f} | {distributed / single:.1f} "
            f"| {one.distributed.statements} | {one.single.statements} |"
        )
    return "\n".join(lines)


# ANSWERING


def _answer_orders() -> int:
    from mirror.core.db.reading import sql
    from tests.benchmarks.scale.requests import timed

    count, failed = 0, list[tuple[str, str]]()
    run = sql._rows

    def noting(connection: Any, statement: str, *others: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        try:
            return run(connection, statement, *others, **options)
        except psycopg.Error as error:
            failed.append((str(error), statement))
            raise

    sql._rows = noting
    for line in sys.stdin:
        url, runs = json.loads(line)
        failed.clear()
        count = 0
        _, status, body = timed(url)
        statements = count
        if runs:
            # A statement is prepared when it runs for the second time.
            timed(url)
        times = [timed(url)[0].wall for _ in range(runs)]
        print(json.dumps([status, body.decode(), times, statements, failed]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
