"""The price of observing requests: what metrics, request ids, noted statements and the access log cost.

    SVC_MIRROR_DATA=data python -m tests.benchmarks.request_logs [--rounds 40] 2>/tmp/access.log

answers requests of the API by the gateway of a web server process in this one, from the database of a running
node with a history. Rounds without any observation, with what is on by default, and with the access log as
well take turns. The processor time of this process per request is compared, of the best rounds and of rounds
that follow each other. That of PostgreSQL and of granian is left out: a node pays a smaller share.
"""

import argparse
import itertools
import os
import statistics
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirror.settings")

from mirror.core import config  # noqa: E402
from mirror.core.db.reading import statements  # noqa: E402
from mirror.core.logs import access  # noqa: E402
from mirror.web.requests.gateway import Gateway  # noqa: E402
from mirror.web.requests.observer import ENVIRONMENT_ID, Observer  # noqa: E402
from mirror.wsgi import application  # noqa: E402

# Every request of the first two is another one; the answer to the third is kept in memory.
KINDS = {
    "a list of transactions": ("/api/v1/transactions", "limit=25&timestamp=lt:1900000000.{:09d}"),
    "a list of blocks": ("/api/v1/blocks", "limit=2&timestamp=lt:1900000000.{:09d}"),
    "a kept answer": ("/api/v1/blocks/7", ""),
}
WAYS = ("nothing", "default", "access log")


class _Blind(Observer):
    """Observes nothing."""

    def begin(self, environment: dict[str, Any]) -> str:
        environment[ENVIRONMENT_ID] = ""
        return ""

    def end(self, environment: Mapping[str, Any], *_: Any, **__: Any) -> None: ...


class _Protocol:
    """Granian's object that takes an answer."""

    def __init__(self) -> None:
        self.answered = threading.Semaphore(0)
        self.status = 0

    def response_bytes(self, status: int, *_: Any) -> None:
        self.status = status
        self.answered.release()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--requests", type=int, default=200)
    arguments = parser.parse_args()
    gateway = Gateway(application, [])
    blind, default = _Blind(), Observer()
    config.overridden({"logging.access": True})
    observers = dict(zip(WAYS, (blind, default, Observer()), strict=True))
    assert access.log() is not None
    numbers = itertools.count()
    for kind, (path, query) in KINDS.items():
        times: dict[str, list[float]] = {way: [] for way in WAYS}
        for number in range(-2, arguments.rounds):
            for way in WAYS:
                gateway.observer = observers[way]
                with _noting(way != WAYS[0]):
                    seconds = _round(gateway, path, query, numbers, arguments.requests)
                if number >= 0:
                    times[way].append(seconds)
        best = {way: min(seconds) for way, seconds in times.items()}
        nothing = best[WAYS[0]]
        for way, seconds in best.items():
            # Of two rounds that follow each other, so that what others do on the machine matters less.
            shares = [mine / none - 1 for mine, none in zip(times[way], times[WAYS[0]], strict=True)]
            share, paired = seconds / nothing - 1, statistics.median(shares)
            print(f"{kind}, {way}: {seconds * 1e6:.1f} us per request, {share:+.1%}, in pairs {paired:+.1%}")


@contextmanager
def _noting(noting: bool) -> Iterator[None]:
    begin = statements.begin
    if not noting:
        statements.begin = lambda: None
    try:
        yield
    finally:
        statements.begin = begin


def _round(gateway: Gateway, path: str, query: str, numbers: Iterator[int], requests: int) -> float:
    """Return the processor time of a request, of so many."""
    protocol, began = _Protocol(), time.process_time()
    for number in itertools.islice(numbers, requests):
        gateway(
            protocol,
            {
                "REQUEST_METHOD": "GET",
                "PATH_INFO": path,
                "QUERY_STRING": query.format(number),
                "REMOTE_ADDR": "127.0.0.1",
                "SERVER_NAME": "localhost",
                "SERVER_PORT": "8000",
                "wsgi.url_scheme": "http",
            },
        )
        protocol.answered.acquire()
        assert protocol.status == 200, protocol.status
    return (time.process_time() - began) / requests


if __name__ == "__main__":
    main()
