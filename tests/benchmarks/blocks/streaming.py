"""Following a block node on this machine: how soon rows are there, and what memory it takes."""

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psycopg

from ledger.stream.source.block_node.api_pb2 import BlockEnd, BlockItemSet, SubscribeStreamResponse
from mirror.demo.publish.block_node import BlockNodeServer, items_of
from mirror.demo.streams.blocks.frame import NativeBlock
from tests.benchmarks.blocks.history import Node, blocks_of, node
from tests.node import free_port
from tests.waiting import wait_until

_SETS = 20
_LOOK_SECONDS = 0.001
_PATIENCE_SECONDS = 300.0
_NONE = -1


class Paced(BlockNodeServer):
    """A block node that sends each block over some seconds, as the network would make it."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds
        self._begun = 0.0
        #: When the end of each block was sent (monotonic seconds).
        self.ended: dict[int, float] = {}

    def messages(self, number: int, block: bytes) -> Iterator[SubscribeStreamResponse]:
        self._begun = self._begun or time.monotonic()
        items = items_of(block)
        size = -(-len(items) // _SETS)
        for part, first in enumerate(range(0, len(items), size), 1):
            self._sleep_until(self._begun + self._seconds * part / _SETS)
            yield SubscribeStreamResponse(block_items=BlockItemSet(block_items=items[first : first + size]))
        self._sleep_until(self._begun + self._seconds)
        self._begun = time.monotonic() if self._seconds == 0 else self._begun + self._seconds
        self.ended[number] = time.monotonic()
        yield SubscribeStreamResponse(end_of_block=BlockEnd(block_number=number))

    @staticmethod
    def _sleep_until(time_of_set: float) -> None:
        time.sleep(max(0.0, time_of_set - time.monotonic()))


@contextmanager
def _following(into: Node, server: Paced) -> Iterator[subprocess.Popen[bytes]]:
    environment = into.environment | {
        "SVC_MIRROR_IMPORTER_BLOCK_ENABLED": "true",
        "SVC_MIRROR_IMPORTER_BLOCK_SOURCETYPE": "BLOCK_NODE",
        "SVC_MIRROR_IMPORTER_BLOCK_AUTODISCOVERYENABLED": "false",
        "SVC_MIRROR_IMPORTER_BLOCK_NODES": f"127.0.0.1:{server.port}",
        "SVC_MIRROR_IMPORTER_DOWNLOADER_TIMEOUT": "300s",
    }
    loader = subprocess.Popen(into.command("ingest", "--follow"), env=environment)
    try:
        yield loader
    finally:
        loader.send_signal(signal.SIGINT)
        loader.wait()


@contextmanager
def _serving(into: Node) -> Iterator[int]:
    """Run a web server and yield its port.

    It caches no answers: a cached one may be a second older than the newest block, as its cache-control says.
    """
    port = free_port()
    environment = into.environment | {"PORT": str(port), "SVC_MIRROR_REST_CACHE_RESPONSE_ENABLED": "false"}
    server = subprocess.Popen(into.command("serve"), env=environment)
    try:
        wait_until(lambda: server.poll() is not None or _newest_over_rest(port) is not None)
        yield port
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()


def latency(folder: Path, stream: str, rates: list[int], seconds: int) -> None:
    with node(folder) as into, _serving(into) as port, ThreadPoolExecutor() as threads:
        for rate in rates:
            into.empty()
            blocks = blocks_of(stream, rate * seconds, rate)
            last = blocks[-1].number
            with Paced(1.0) as server:
                for block in blocks:
                    server.publish(block.number, block.content)
                with _following(into, server), into.connect() as connection:
                    stored = threads.submit(_seen, partial(_newest_row, connection), last)
                    shown = threads.submit(_seen, partial(_newest_over_rest, port), last)
                    for what, seen in (("its row", stored), ("an answer with it", shown)):
                        _print(f"{rate:,} {stream} per second", what, seen.result(), server.ended)


def _print(stream: str, what: str, seen: dict[int, float], ended: dict[int, float]) -> None:
    # What comes before the stream begins with accounts and tokens, and the first time of each thing.
    times = sorted(seen[number] - ended[number] for number in seen if number > 4)
    if times:
        print(
            f"{stream}, {len(times)} blocks: p50 {_part(times, 0.5)} ms, p99 {_part(times, 0.99)} ms from "
            f"the end of a block to {what}",
            flush=True,
        )


def _part(times: list[float], part: float) -> str:
    return f"{times[min(len(times) - 1, int(part * len(times)))] * 1000:.0f}"


def _newest_row(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("select index from record_file order by consensus_end desc limit 1")
    newest: int = (row.fetchone() or (_NONE,))[0]
    return newest


def _newest_over_rest(port: int) -> int | None:
    """Return the number of the newest block that the API has; None if it does not answer yet."""
    try:
        with urlopen(f"http://127.0.0.1:{port}/api/v1/blocks?limit=1&order=desc") as answer:
            blocks = json.load(answer)["blocks"]
    except OSError:
        return None
    return blocks[0]["number"] if blocks else _NONE


def _seen(newest_now: Callable[[], int | None], last: int) -> dict[int, float]:
    """Return when each block was seen first (monotonic seconds)."""
    seen: dict[int, float] = {}
    newest, until = _NONE, time.monotonic() + _PATIENCE_SECONDS
    while newest < last and time.monotonic() < until:
        number = newest_now()
        at = time.monotonic()
        if number is not None:
            seen |= dict.fromkeys(range(newest + 1, number + 1), at)
            newest = max(newest, number)
        time.sleep(_LOOK_SECONDS)
    return seen


def memory(folder: Path, count: int, number: int) -> None:
    blocks: list[NativeBlock] = blocks_of("transfers", count * number, count)
    size = max(len(block.content) for block in blocks)
    with node(folder) as into, Paced(0) as server:
        for block in blocks:
            server.publish(block.number, block.content)
        with _following(into, server) as loader:
            stopping, most = threading.Event(), [0]
            sampling = threading.Thread(target=_sample, args=(loader.pid, stopping, most))
            sampling.start()
            began = time.monotonic()
            with into.connect() as connection:
                _seen(partial(_newest_row, connection), blocks[-1].number)
            stopping.set()
            sampling.join()
    print(
        f"{number} blocks of {count:,} transfers, {size / 2**20:.0f} MB each: the loader took at most "
        f"{most[0] / 2**20:.0f} MB, and {time.monotonic() - began:.0f} s"
    )


def _sample(process: int, stopping: threading.Event, most: list[int]) -> None:
    while not stopping.wait(0.05):
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        pss = next((int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:")), 0)
        most[0] = max(most[0], pss)
