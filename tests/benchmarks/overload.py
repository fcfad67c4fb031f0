"""A storm of clients: how fast the node answers, what it refuses, and how soon it is itself again.

    python -m tests.benchmarks.overload http://127.0.0.1:8000 [--clients 500] [--seconds 10] [--patient]

requests transactions of a running node with a history at random times: by one connection while it is idle,
then by many at once, each as soon as it has an answer (`--patient` clients wait as `Retry-After` says), and
at last by one again.
"""

import argparse
import asyncio
import json
import random
import statistics
import time
import urllib.request
from collections import defaultdict
from urllib.parse import urlsplit

_IDLE_SECONDS = 3.0
_LOOK_SECONDS = 0.02
#: The node is itself again when so many requests in a row are answered as fast as the slowest idle ones.
_IN_A_ROW = 10

Times = dict[int, list[float]]


class Client:
    """A connection that requests one page after the other."""

    def __init__(self, host: str, port: int, period: tuple[int, int]) -> None:
        self._host, self._port, self._period = host, port, period

    async def __aenter__(self) -> "Client":
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port)
        return self

    async def __aexit__(self, *error: object) -> None:
        self._writer.close()

    async def ask(self) -> tuple[int, float, float]:
        """Return the status, the seconds it took, and those of Retry-After."""
        path = f"/api/v1/transactions?limit=25&timestamp=lt:{random.randint(*self._period) / 1e9:.9f}"
        began = time.perf_counter()
        self._writer.write(f"GET {path} HTTP/1.1\r\nhost: {self._host}\r\n\r\n".encode())
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if line)
        await self._reader.readexactly(int(headers["content-length"]))
        return int(head[9:12]), time.perf_counter() - began, float(headers.get("retry-after", 0))


async def _ask_on(client: Client, until: float, times: Times, *, patient: bool) -> None:
    async with client:
        while time.perf_counter() < until:
            status, seconds, pause = await client.ask()
            times[status].append(seconds)
            if patient and pause:
                await asyncio.sleep(pause)


async def measure(url: str, clients: int, seconds: float, *, patient: bool) -> None:
    parts = urlsplit(url)
    place = parts.hostname or "127.0.0.1", parts.port or 80, _period(url)
    idle: Times = defaultdict(list)
    await _ask_on(Client(*place), time.perf_counter() + _IDLE_SECONDS, idle, patient=False)
    print(f"idle, one connection:    {_line(idle[200], _IDLE_SECONDS)}")
    storm: Times = defaultdict(list)
    until = time.perf_counter() + seconds
    clients_at_once = (_ask_on(Client(*place), until, storm, patient=patient) for _ in range(clients))
    failed = [
        each for each in await asyncio.gather(*clients_at_once, return_exceptions=True) if each is not None
    ]
    ended = time.perf_counter()
    for status, times in sorted(storm.items()):
        print(f"{clients} connections, {status}: {_line(times, seconds)}")
    print(f"{clients} connections: {len(failed)} failed {failed[:1]}")
    slowest, in_a_row = max(idle[200]), 0
    async with Client(*place) as client:
        while in_a_row < _IN_A_ROW:
            status, took, _ = await client.ask()
            in_a_row = in_a_row + 1 if status == 200 and took <= slowest else 0
            await asyncio.sleep(_LOOK_SECONDS)
    recovered = time.perf_counter() - ended - _IN_A_ROW * _LOOK_SECONDS
    print(f"as fast as before after {max(recovered, 0.0):.2f} s")


def _line(times: list[float], seconds: float) -> str:
    if len(times) < 2:
        return f"{len(times)} answers"
    cuts = statistics.quantiles(times, n=100)
    return (
        f"{len(times) / seconds:8.0f}/s  median {cuts[49] * 1000:7.1f} ms  p99 {cuts[98] * 1000:7.1f} ms  "
        f"most {max(times) * 1000:7.1f} ms"
    )


def _period(url: str) -> tuple[int, int]:
    """Return the first and last consensus time of the history, in nanoseconds."""
    ends = []
    for order in ("asc", "desc"):
        with urllib.request.urlopen(f"{url}/api/v1/transactions?limit=1&order={order}") as answer:
            text: str = json.load(answer)["transactions"][0]["consensus_timestamp"]
        ends.append(int(text.replace(".", "")))
    return ends[0], ends[1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url")
    parser.add_argument("--clients", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--patient", action="store_true")
    given = parser.parse_args()
    asyncio.run(measure(given.url, given.clients, given.seconds, patient=given.patient))


if __name__ == "__main__":
    main()
