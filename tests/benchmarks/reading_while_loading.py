"""Readers next to a loader: 16 connections read from a node that follows 2,000 transactions per second.

    manage.py demo --out STREAM --blocks 60 --tps 2000
    python -m tests.benchmarks.reading_while_loading STREAM [--seconds 60]

loads the first blocks of the stream into an empty database, reads for a while, lets the loader follow the
rest, a block every two seconds, and reads on. Requests are one of each kind; the response cache is off.
"""

import argparse
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import psycopg

from tests.benchmarks.scale import cases
from tests.benchmarks.scale.databases import ROOT, reachable
from tests.benchmarks.scale.isolation import Answers, connected, filled, one, serving
from tests.benchmarks.scale.values import values

#: The 99th percentile while blocks are loaded may be this many times that of an idle node.
MAX_TIMES = 3.0
_CLIENTS, _BLOCK_SECONDS, _FIRST_BLOCKS = 16, 2.0, 15
_IDLE_PART, _WARM_UP_SECONDS = 1 / 3, 5.0
_NAME_LENGTH = len("2025-01-01T21_00_02.000000000Z")
_LOADED = "select count(*), coalesce(sum(count), 0)::bigint from record_file"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stream", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ledger-mirror-benchmark-"))
    folder.chmod(0o755)
    try:
        sys.exit(0 if measure(options.stream, folder, options.seconds) else 1)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(stream: Path, folder: Path, seconds: float) -> bool:
    """Print how requests fare, idle and while blocks are loaded; return whether they meet the target."""
    files = _files(stream)
    blocks, bucket = sorted(files), folder / "bucket"
    bucket.mkdir()
    shutil.copy(stream / "addressbook.bin", bucket)
    for block in blocks[:_FIRST_BLOCKS]:
        _publish(stream, folder, files[block])
    (folder / "data").mkdir(mode=0o755)
    node = os.environ | {"SVC_MIRROR_NETWORK": "simulated", "SVC_MIRROR_DATA": str(folder / "data")}
    ingest = [sys.executable, "manage.py", "ingest"]
    with ExitStack() as stack:
        url = stack.enter_context(reachable(str(folder / "data")))
        node |= {"DATABASE_URL": url}
        subprocess.run(
            [sys.executable, "manage.py", "migrate"],
            cwd=ROOT,
            env=node,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        subprocess.run([*ingest, bucket], cwd=ROOT, env=node, check=True, stdout=subprocess.DEVNULL)
        connection = stack.enter_context(psycopg.connect(url, autocommit=True))
        connection.execute("vacuum analyze")
        urls = filled(cases.kinds(), values(connection))
        port = stack.enter_context(serving(url))
        _asked(port, urls, _WARM_UP_SECONDS)
        idle = _asked(port, urls, seconds * _IDLE_PART)
        print(f"idle:          {idle}")
        stack.enter_context(_running([*ingest, "--follow", str(bucket)], node))
        first, *rest = blocks[_FIRST_BLOCKS:]
        _publish(stream, folder, files[first])
        while _loaded(connection)[0] <= _FIRST_BLOCKS:
            time.sleep(0.1)
        ending = threading.Event()
        publisher = threading.Thread(target=_publish_on, args=(stream, folder, files, rest, ending))
        publisher.start()
        time.sleep(_WARM_UP_SECONDS)
        before = _loaded(connection)
        busy = _asked(port, urls, seconds)
        number, transactions = (now - then for now, then in zip(_loaded(connection), before, strict=True))
        ending.set()
        publisher.join()
        print(f"while loading: {busy}")
        print(f"Loaded meanwhile: {number} blocks, {transactions / seconds:,.0f} transactions per second.")
    times = busy.percentile(99) / idle.percentile(99)
    print(f"p99 while loading is {times:.1f} times that of an idle node (at most {MAX_TIMES}).")
    failed = sum(count for status, count in busy.statuses.items() if status not in (200, 404))
    print(f"{failed} requests failed.")
    return times <= MAX_TIMES and not failed


def _loaded(connection: "psycopg.Connection[tuple[int, int]]") -> tuple[int, int]:
    """Return the numbers of blocks and transactions that are loaded."""
    return connection.execute(_LOADED).fetchone() or (0, 0)


# THE STREAM


def _files(stream: Path) -> dict[str, list[Path]]:
    """Return block -> its files of all nodes, signatures first."""
    files: dict[str, list[Path]] = {}
    for path in (stream / "recordstreams").rglob("*.rcd*"):
        files.setdefault(path.name[:_NAME_LENGTH], []).append(path)
    for paths in files.values():
        paths.sort(key=lambda path: not path.name.endswith("_sig"))
    return files


def _publish(stream: Path, folder: Path, files: list[Path]) -> None:
    for path in files:
        place = folder / "bucket" / path.relative_to(stream)
        place.parent.mkdir(parents=True, exist_ok=True)
        # It is never seen half written.
        shutil.copy(path, folder / path.name)
        (folder / path.name).rename(place)


def _publish_on(
    stream: Path, folder: Path, files: dict[str, list[Path]], blocks: list[str], ending: threading.Event
) -> None:
    for block in blocks:
        _publish(stream, folder, files[block])
        if ending.wait(_BLOCK_SECONDS):
            return


@contextmanager
def _running(command: list[str], environment: dict[str, str]) -> Iterator[None]:
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


# THE CLIENTS


def _asked(port: int, urls: list[str], seconds: float) -> Answers:
    """Ask from a process of its own, whose work others do not wait for."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_ask_all, args=(port, urls, seconds, sender), daemon=True)
    process.start()
    milliseconds, statuses = receiver.recv()
    process.join()
    return Answers(milliseconds, statuses)


def _ask_all(port: int, urls: list[str], seconds: float, sender: Connection) -> None:
    seen, ends = Answers(), time.monotonic() + seconds
    clients = [
        threading.Thread(target=_ask, args=(port, urls, ends, seen, number)) for number in range(_CLIENTS)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    sender.send((seen.milliseconds, seen.statuses))


def _ask(port: int, urls: list[str], ends: float, seen: Answers, number: int) -> None:
    connection, dice = connected(port), random.Random(number)
    while time.monotonic() < ends:
        milliseconds, status = one(connection, dice.choice(urls))
        seen.milliseconds.append(milliseconds)
        seen.statuses[status] += 1


if __name__ == "__main__":
    main()
