"""Processor time that metrics and request ids cost, of requests that the cache answers and of others.

    python -m tests.benchmarks.observing

Start a node with the same settings first (`manage.py up`): its database is read. Requests go through the web
server's gateway in this process, in rounds with and without what observes them, one after the other; the
difference of the medians is compared with what the node's web workers take for such a request, all in all.
The part of a second that a process takes to write its counts down comes in addition.
"""

import http.client
import os
import statistics
import threading
import time
from argparse import ArgumentParser
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirror.settings")

_PATHS = ("/api/v1/blocks", "/api/v1/transactions", "/api/v1/accounts", "/api/v1/network/nodes")


class _Nothing:
    """Stands for what observes requests, and does nothing."""

    def begin(self, environment: dict[str, Any]) -> str:
        from mirror.web.requests.observer import ENVIRONMENT_ID

        environment[ENVIRONMENT_ID] = ""
        return ""

    def end(self, *_: object, **__: object) -> None: ...

    def add(self, *_: object, **__: object) -> None: ...


class _Protocol:
    """Granian's object that takes an answer."""

    def __init__(self) -> None:
        self.answered = threading.Event()
        self.status = 0

    def response_bytes(self, status: int, *_: object) -> None:
        self.status = status
        self.answered.set()


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--cached", type=int, default=4000, help="requests of a round")
    parser.add_argument("--uncached", type=int, default=300, help="requests of a round")
    options = parser.parse_args()
    django.setup()
    print("| requests | gateway without (us) | with (us) | web worker (us) | cost |\n|---|---|---|---|---|")
    _compare("from the cache", options.cached, options.rounds, cached=True)
    _compare("from the database", options.uncached, options.rounds, cached=False)
    _show_writing()


def _compare(name: str, count: int, rounds: int, *, cached: bool) -> None:
    from mirror.core import config
    from mirror.core.db.scheduling import slow_slot
    from mirror.core.metrics import http as counts
    from mirror.web.requests.gateway import Gateway
    from mirror.wsgi import ApiHandler

    restore = config.overridden({"rest.cache.response.enabled": cached})
    slot = slow_slot.SlowRequestSlot(slow_slot.files())
    gateway: Any = Gateway(ApiHandler(), [slot])
    threading.Thread(target=gateway.scheduler.serve_slot, args=(slot,), daemon=True).start()
    restore()
    observers: dict[str, Any] = {"with": gateway.observer, "without": _Nothing()}
    counters: dict[str, Any] = {"with": counts.CACHE, "without": _Nothing()}
    seconds: dict[str, list[float]] = {"with": [], "without": []}
    for number in range(2 * (rounds + 1)):
        kind = ("with", "without")[(number + number // 2) % 2]
        gateway.observer, counts.CACHE = observers[kind], counters[kind]
        began = time.process_time()
        for request in range(count):
            _ask(gateway, _PATHS[request % len(_PATHS)])
        # The first round of each warms up.
        if number > 1:
            seconds[kind].append((time.process_time() - began) / count)
    counts.CACHE = counters["with"]
    without, observed = (statistics.median(seconds[kind]) * 1e6 for kind in ("without", "with"))
    whole = _of_node(count, cached=cached) * 1e6
    cost = (observed - without) / (whole - (observed - without))
    print(f"| {name} | {without:.1f} | {observed:.1f} | {whole:.1f} | {cost:.1%} |", flush=True)


def _of_node(count: int, *, cached: bool) -> float:
    """Return the processor seconds that the web workers of the node take for a request."""
    from django.conf import settings

    from mirror.core import config
    from mirror.core.metrics import files
    from mirror.node.health.processes import WEB_WORKER, of_node
    from mirror.node.postgres.place import place

    def seconds() -> float:
        processes = of_node(files.read().processes, place(settings.DATA_DIR).data)
        return sum(process.processor_seconds for process in processes if process.role == WEB_WORKER)

    client = http.client.HTTPConnection("127.0.0.1", config.value("web.port"))
    began = seconds()
    for number in range(count):
        # What the cache does not know yet comes from the database.
        beyond = "" if cached else f"&timestamp=gt:{number}"
        path = _PATHS[number % 2] if not cached else _PATHS[number % len(_PATHS)]
        client.request("GET", f"{path}?limit=5{beyond}")
        response = client.getresponse()
        response.read()
        assert response.status == 200, response.status
    client.close()
    return (seconds() - began) / count


def _ask(gateway: Any, path: str) -> None:
    protocol = _Protocol()
    gateway(
        protocol,
        {
            "REQUEST_METHOD": "GET",
            "PATH_INFO": path,
            "QUERY_STRING": "limit=5",
            "REMOTE_ADDR": "127.0.0.1",
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": "8000",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "wsgi.url_scheme": "http",
        },
    )
    assert protocol.answered.wait(30)
    assert protocol.status == 200, protocol.status


def _show_writing() -> None:
    from mirror.core.metrics import files
    from mirror.core.metrics import http as counts

    writer = files.Writer("benchmark")
    took = []
    for _ in range(50):
        counts.CACHE.add("hit")
        began = time.process_time()
        writer.write()
        took.append(time.process_time() - began)
    seconds = statistics.median(took)
    print(f"\nWriting the counts once a second takes {seconds * 1000:.2f} ms: {seconds:.2%} of a processor.")


if __name__ == "__main__":
    main()
