"""A snapshot of a node, and the node that is made of it, next to loading as many transactions from files.

    python -m tests.benchmarks.snapshot DATA [--ingest 100000] [--jobs 2]

DATA is the data folder of a node, such as one that `python -m tests.benchmarks.scale fill` has made; its
tables have to be those of this release. A snapshot is saved, checked and loaded into a new data folder, and
all tables of the two are compared. Then a composed stream is loaded from files. Each step is printed with its
time, and with the processor time of all its processes, PostgreSQL's too, which means more on a busy machine.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg

from mirror.operations.backup.manifest import SNAPSHOT, Manifest
from tests.benchmarks import streams
from tests.benchmarks.scale.databases import ROOT, compare, reachable


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--ingest", type=int, default=100_000, help="transactions of the composed stream")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ledger-mirror-benchmark-"))
    folder.chmod(0o755)
    try:
        sys.exit(0 if measure(options.data, folder, options.ingest, str(options.jobs)) else 1)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(data: Path, folder: Path, ingested: int, jobs: str) -> bool:
    """Print what each step takes; return whether the two nodes are equal."""
    saved, second = folder / "snapshot", folder / "second"
    with reachable(str(data)) as url, psycopg.connect(url) as connection:
        (transactions,) = connection.execute("select count(*) from transaction").fetchone() or (0,)
        row = connection.execute("select network from stored_network").fetchone()
    network = row[0] if row else "simulated"
    saving = manage("save", data, network, "snapshot", "save", saved, "--jobs", jobs)
    manage("check", data, network, "snapshot", "check", saved, "--jobs", jobs)
    loading = manage("load", second, network, "snapshot", "load", saved, "--jobs", jobs)
    done = Manifest.read(saved, SNAPSHOT)
    print(f"snapshot: {done.rows:,} rows, {transactions:,} transactions, {done.bytes / 2**20:,.0f} MB")
    with reachable(str(data)) as one, reachable(str(second)) as other:
        equal = compare("after loading", one, other)
    shutil.rmtree(second)
    streams.mixed(streams.into(folder / "stream"), ingested, 1_000)
    third = folder / "third"
    ingesting = manage("load files", third, "simulated", "ingest", folder / "stream")
    empty = manage("load no file", third, "simulated", "ingest", folder / "stream")
    for name, place in (("time", 0), ("processor time", 1)):
        per_million = (ingesting[place] - empty[place]) / ingested * 1e6
        both, alone = saving[place] + loading[place], loading[place]
        factor = per_million * transactions / 1e6
        print(
            f"{name}: a million transactions from files {per_million:,.0f} s; loading the snapshot is "
            f"{factor / alone:.1f} times as fast, saving and loading {factor / both:.1f} times"
        )
    return equal


def manage(words: str, data: Path, network: str, *arguments: str | Path) -> tuple[float, float]:
    """Run a command on a node; print and return its time and processor time."""
    environment = os.environ | {"SVC_MIRROR_DATA": str(data), "SVC_MIRROR_NETWORK": network}
    began, before = time.monotonic(), _processor_time()
    subprocess.run(
        [sys.executable, "manage.py", *map(str, arguments)],
        cwd=ROOT,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    seconds, processor = time.monotonic() - began, _processor_time() - before
    print(f"{seconds:6.1f} s, {processor:6.1f} s of processors to {words}", flush=True)
    return seconds, processor


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
