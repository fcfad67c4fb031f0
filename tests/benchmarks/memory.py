"""Memory, descriptors and connections of each process of a node under a mixed load.

    python -m tests.benchmarks.memory [--minutes 30] [--rate 100] [--clients 32] [--checkout FOLDER]

starts a node of its own with the live demo network, and requests all that it serves: every endpoint with
random limits, times and next pages, contract calls, estimates and traces, pages, static files, metrics,
unknown paths, and large lists that some clients read slowly. Every ten seconds it prints the memory of the
web workers. The table at the end has each kind of process at the start, after a minute of load and at the
end, and the most. Memory is the proportional set size (PSS), in which shared pages count once for all
processes, and the resident set size (RSS) of the largest process of the kind.
"""

import argparse
import http.client
import json
import random
import signal
import socket
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil

from mirror.core.processes import process_table
from tests.node import ROOT, LiveNode

_SAMPLE_SECONDS, _WARM_UP_SECONDS = 10.0, 60.0
_SLOW_READERS = 6
_PAGES = ["/", "/docs/", "/docs/calls", "/docs/settings", "/api/v1/docs/", "/admin/login/", "/metrics"]
_PAGES += [
    "/api/v1/docs/openapi.json",
    "/health/readiness",
    "/health/liveness",
    "/favicon.ico",
    "/api/v1/docs/openapi.yml",
]
_LOOP = "0x5b600056"
Sample = dict[str, dict[str, int]]


class Load:
    """What is requested, from the node's own description of its API."""

    def __init__(self, port: int, clients: int, rate: float) -> None:
        self._port, self._clients, self._pause = port, clients, clients / rate
        self._stopping = threading.Event()
        self.statuses: Counter[int] = Counter()
        self._description = json.loads(self._get("/api/v1/docs/openapi.json"))
        self._gets = [
            (path, operations["get"])
            for path, operations in self._description["paths"].items()
            if "get" in operations
        ]
        self._bodies = [
            example["value"]
            for example in self._description["paths"]["/api/v1/contracts/call"]["post"]["requestBody"][
                "content"
            ]["application/json"]["examples"].values()
        ]
        first, last = (self._time(order) for order in ("asc", "desc"))
        self._first, self._last = first, last
        self._next: list[str] = []
        self._kinds: list[tuple[int, Callable[[random.Random], tuple[str, str, bytes | None]]]] = [
            (70, self._endpoint),
            (10, self._next_page),
            (8, self._call),
            (5, self._page),
            (3, self._unknown),
            (2, self._creation),
            (2, self._trace),
        ]

    def _get(self, path: str) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        connection.request("GET", path)
        return connection.getresponse().read()

    def _time(self, order: str) -> int:
        page = json.loads(self._get(f"/api/v1/transactions?limit=1&order={order}"))
        return int(page["transactions"][0]["consensus_timestamp"].replace(".", ""))

    def _endpoint(self, choose: random.Random) -> tuple[str, str, bytes | None]:
        path, operation = choose.choice(self._gets)
        query = []
        for parameter in operation.get("parameters", ()):
            name = parameter["name"]
            if parameter["in"] == "path":
                path = path.replace(f"{{{name}}}", quote(str(parameter["example"]), safe=""))
            elif name == "limit":
                query.append(f"limit={choose.choice([1, 2, 10, 25, 50, 100, 100])}")
            elif name == "timestamp" and choose.random() < 0.5:
                query.append(f"timestamp=lt:{choose.randint(self._first, self._last) / 1e9:.9f}")
            elif name == "order":
                query.append(f"order={choose.choice(['asc', 'desc'])}")
        return "GET", f"{path}?{'&'.join(query)}", None

    def _next_page(self, choose: random.Random) -> tuple[str, str, bytes | None]:
        with suppress(IndexError):
            return "GET", self._next.pop(), None
        return self._endpoint(choose)

    def _call(self, choose: random.Random) -> tuple[str, str, bytes | None]:
        body = choose.choice(self._bodies) | {"estimate": choose.random() < 0.3}
        return "POST", "/api/v1/contracts/call", json.dumps(body).encode()

    def _creation(self, choose: random.Random) -> tuple[str, str, bytes | None]:
        """Loop until the gas is used up; each code is another."""
        body = {"data": _LOOP + choose.randbytes(32).hex(), "gas": choose.randint(100_000, 2_000_000)}
        return "POST", "/api/v1/contracts/call", json.dumps(body).encode()

    def _page(self, choose: random.Random) -> tuple[str, str, bytes | None]:
        return "GET", choose.choice(_PAGES), None

    def _unknown(self, choose: random.Random) -> tuple[str, str, bytes | None]:
        return "GET", f"/{choose.choice(['api/v1/', 'static/', ''])}{choose.randbytes(8).hex()}", None

    def _trace(self, choose: random.Random) -> tuple[str, str, bytes | None]:
        page = json.loads(self._get("/api/v1/contracts/results?limit=25"))
        digest = choose.choice(page["results"])["hash"]
        return "GET", f"/api/v1/contracts/results/{digest}/opcodes?memory=true&storage=true", None

    def _run(self, seed: int) -> None:
        choose = random.Random(seed)
        weights = [weight for weight, _ in self._kinds]
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        while not self._stopping.wait(choose.expovariate(1 / self._pause)):
            try:
                (_, kind), *_ = choose.choices(self._kinds, weights)
                method, path, body = kind(choose)
                headers = {"content-type": "application/json"} if body else {}
                headers["accept-encoding"] = choose.choice(["identity", "gzip", "br, gzip"])
                connection.request(method, path, body, headers)
                answer = connection.getresponse()
                content = answer.read()
            except (OSError, http.client.HTTPException):
                self.statuses[0] += 1
                connection.close()
                continue
            self.statuses[answer.status] += 1
            if content.startswith(b"{") and len(self._next) < 100:
                with suppress(ValueError, TypeError, KeyError):
                    if following := json.loads(content)["links"]["next"]:
                        self._next.append(following)
            # Some clients use a connection for a few requests only.
            if choose.random() < 0.1:
                connection.close()

    def _read_slowly(self) -> None:
        request = b"GET /api/v1/transactions?limit=100 HTTP/1.1\r\nhost: localhost\r\n\r\n"
        while not self._stopping.is_set():
            with suppress(OSError), socket.socket() as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.connect(("127.0.0.1", self._port))
                client.sendall(request * 20)
                for _ in range(60):
                    client.recv(8192)
                    if self._stopping.wait(0.5):
                        return

    def __enter__(self) -> "Load":
        runs: list[Callable[[], None]] = [self._read_slowly] * _SLOW_READERS
        runs += [lambda seed=seed: self._run(seed) for seed in range(self._clients)]  # type: ignore[misc]
        self._threads = [threading.Thread(target=run) for run in runs]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()


def sample(node: LiveNode) -> Sample:
    """Return what each role of a node has: its processes, memory in kB, descriptors, connections."""
    roles: Sample = defaultdict(lambda: defaultdict(int))
    postgres = set(node.server.pids())
    for pid in node.processes():
        with suppress(psutil.Error):
            process = psutil.Process(pid)
            title = process_table.command(pid)
            is_named = title.startswith("mirror")
            role = roles["postgres" if pid in postgres else title[7:].strip() if is_named else "starting"]
            memory = process.memory_full_info()
            role["processes"] += 1
            role["memory"] += memory.pss
            role["largest"] = max(role["largest"], memory.rss)
            role["descriptors"] += process.num_fds()
            role["connections"] += len(process.net_connections(kind="all"))
            role["threads"] += process.num_threads()
    total: dict[str, int] = defaultdict(int)
    for role in roles.values():
        for name, value in role.items():
            total[name] += value
    return roles | {"total": total}


def _print_table(samples: list[tuple[float, Sample]]) -> None:
    first, last = samples[0][1], samples[-1][1]
    warm = next((each for seconds, each in samples if seconds >= _WARM_UP_SECONDS), last)
    print(
        "| process | of it | at the start | after a minute | at the end | most |\n|---|---|---|---|---|---|"
    )
    units: dict[str, int] = {"processes": 1, "memory": 1 << 20, "largest": 1 << 20}
    names = {"memory": "PSS, MB", "largest": "RSS of the largest, MB"}
    for role in sorted(last):
        for name in ("processes", "memory", "largest", "threads", "descriptors", "connections"):
            values: list[Any] = [each.get(role, {}).get(name, 0) for each in (first, warm, last)]
            values.append(max(each.get(role, {}).get(name, 0) for _, each in samples))
            cells = [f"{value / units.get(name, 1):.0f}" for value in values]
            print(f"| {role} | {names.get(name, name)} | {' | '.join(cells)} |")


def measure(minutes: float, rate: float, clients: int, checkout: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="memory-") as folder:
        node = LiveNode(Path(folder), SVC_MIRROR_DEMO_BLOCKS="400")
        node.checkout = checkout
        try:
            node.start("up", "--live")
            node.goes_on()
            node.wait_for(node.calls)
            samples = [(0.0, sample(node))]
            began = time.monotonic()
            with Load(node.port, clients, rate) as load:
                while (passed := time.monotonic() - began) < minutes * 60:
                    time.sleep(_SAMPLE_SECONDS)
                    samples.append((passed + _SAMPLE_SECONDS, sample(node)))
                    workers = samples[-1][1].get("web-worker") or samples[-1][1]["web worker"]
                    print(
                        f"{samples[-1][0]:5.0f} s  web workers: PSS {workers['memory'] >> 20} MB, RSS of the "
                        f"largest {workers['largest'] >> 20} MB, {workers['threads']} threads; total PSS "
                        f"{samples[-1][1]['total']['memory'] >> 20} MB; {load.statuses.total()} requests",
                        flush=True,
                    )
            print(f"answers by status (0: none): {dict(sorted(load.statuses.items()))}")
            _print_table(samples)
        finally:
            with suppress(AssertionError):
                node.stop(signal.SIGTERM)
            node.kill()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--rate", type=float, default=100.0, help="requests per second")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--checkout", type=Path, default=ROOT)
    given = parser.parse_args()
    measure(given.minutes, given.rate, given.clients, given.checkout.resolve())


if __name__ == "__main__":
    main()
