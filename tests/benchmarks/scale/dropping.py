"""Dropping a month while clients ask: how long its statements and requests take, and who waits for a lock.

    python -m tests.benchmarks.scale.dropping 2021-06

drops what is before that month from the database of DATABASE_URL, and prints each statement's milliseconds.
"""

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import psycopg

from tests.benchmarks.scale import cases
from tests.benchmarks.scale.databases import ROOT, environment, reachable
from tests.benchmarks.scale.isolation import Answers, connected, filled, one, serving
from tests.benchmarks.scale.values import values

#: No request may take longer, and no statement of the drop.
MAX_MILLISECONDS = 50.0
# What was dropped is not found.
_GOOD = {200, 404}
_WARM_UP_SECONDS, _AROUND_SECONDS, _SAMPLE_SECONDS = 5.0, 5.0, 0.002
_WAITING = """
    select mode, relation::regclass::text from pg_locks
    where not granted and database = (select oid from pg_database where datname = current_database())"""


class Request(NamedTuple):
    began: float
    milliseconds: float
    status: int
    url: str


def measure(where: str, before: str, clients: int, tell: Callable[[str], None]) -> bool:
    """Drop the months before one, and say how requests fare; return whether that meets the target."""
    with reachable(where) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            urls = filled(cases.kinds(), values(connection))
        with serving(url) as port:
            requests: list[Request] = []
            stopping = threading.Event()
            threads = [
                threading.Thread(target=_ask, args=(port, urls, requests, stopping, random.Random(number)))
                for number in range(clients)
            ]
            waited: list[str] = []
            threads.append(threading.Thread(target=_sample, args=(url, waited, stopping)))
            for thread in threads:
                thread.start()
            try:
                time.sleep(_WARM_UP_SECONDS + _AROUND_SECONDS)
                taken = _drop(url, before)
                time.sleep(_AROUND_SECONDS)
            finally:
                stopping.set()
            for thread in threads:
                thread.join()
    if not taken:
        raise SystemExit("No partition is that old.")
    began, ended = taken[0][0], taken[-1][0] + taken[-1][1] / 1000
    for _, milliseconds, statement in taken:
        tell(f"{milliseconds:8.1f} ms {statement}")
    tell(f"{(ended - began) * 1000:8.1f} ms altogether")
    earlier = [each for each in requests if began - _AROUND_SECONDS < each.began < began - 1]
    during = [
        each for each in requests if each.began < ended and each.began + each.milliseconds / 1000 > began
    ]
    for words, some in (("before", earlier), ("during", during)):
        tell(f"{words}: {_seen(some)}; longest: {max(some, key=lambda each: each.milliseconds).url}")
    tell(f"waits for locks seen every {_SAMPLE_SECONDS * 1000:.0f} ms: {waited or 'none'}")
    return (
        all(each.status in _GOOD and each.milliseconds <= MAX_MILLISECONDS for each in during)
        and max(milliseconds for _, milliseconds, _ in taken) <= MAX_MILLISECONDS
    )


def _seen(some: list[Request]) -> Answers:
    seen = Answers([each.milliseconds for each in some])
    seen.statuses.update(each.status for each in some)
    return seen


def _ask(
    port: int, urls: list[str], requests: list[Request], stopping: threading.Event, dice: random.Random
) -> None:
    connection = connected(port)
    while not stopping.is_set():
        url, began = dice.choice(urls), time.time()
        milliseconds, status = one(connection, url)
        requests.append(Request(began, milliseconds, status, url))


def _sample(url: str, waited: list[str], stopping: threading.Event) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        while not stopping.wait(_SAMPLE_SECONDS):
            waited += [f"{mode} of {relation}" for mode, relation in connection.execute(_WAITING).fetchall()]


def _drop(url: str, before: str) -> list[tuple[float, float, str]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.scale.dropping", before],
        cwd=ROOT,
        env=environment(url, DJANGO_SETTINGS_MODULE="mirror.settings"),
        check=True,
        capture_output=True,
        text=True,
    )
    return [tuple(each) for each in json.loads(done.stdout)]


def main() -> None:
    """Print when each statement of a drop began, how long it took, and the statement."""
    from django.core.wsgi import get_wsgi_application

    get_wsgi_application()
    from django.db import connection

    from mirror.core.db.partitions import dropping
    from mirror.core.values.timestamp import parse_iso

    taken: list[tuple[float, float, str]] = []

    def timed(execute: Callable[..., Any], sql: str, params: object, many: bool, context: object) -> Any:
        began = time.time()
        try:
            return execute(sql, params, many, context)
        finally:
            taken.append((began, (time.time() - began) * 1000, " ".join(sql.split())[:90]))

    old = dropping.expired(parse_iso(f"{sys.argv[1]}-01"))
    with connection.execute_wrapper(timed):
        dropping.drop(old)
    print(json.dumps(taken if old else []))


if __name__ == "__main__":
    main()
