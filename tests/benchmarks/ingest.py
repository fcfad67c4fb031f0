"""The speed of loading a composed stream: `python -m tests.benchmarks.ingest [transfers|mixed]`.

Composes the stream in a temporary folder, starts an embedded PostgreSQL of its own with the node's settings,
migrates, and times `manage.py ingest` as a whole process: decoding, rows, COPY, indexes and commit.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mirror.node.postgres.server import in_use
from tests.benchmarks import streams

ROOT = Path(__file__).resolve().parents[2]

_STREAMS = {"transfers": streams.transfers, "mixed": streams.mixed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stream", choices=_STREAMS, nargs="?", default="transfers")
    parser.add_argument("--count", type=int, default=100_000, help="transactions")
    parser.add_argument("--per-block", type=int, default=1_000)
    options = parser.parse_args()

    folder = Path(tempfile.mkdtemp(prefix="ledger-mirror-benchmark-"))
    folder.chmod(0o755)
    environment = os.environ | {"SVC_MIRROR_DATA": str(folder / "data")}
    (folder / "data").mkdir(mode=0o755)
    manage = [sys.executable, str(ROOT / "manage.py")]
    try:
        began = time.monotonic()
        _STREAMS[options.stream](folder / "stream", options.count, options.per_block)
        print(f"composed {options.count:,} transactions in {time.monotonic() - began:.1f} s", flush=True)
        with in_use(folder / "data"):
            subprocess.run([*manage, "migrate", "--verbosity", "0"], check=True, env=environment)
            began = time.monotonic()
            subprocess.run([*manage, "ingest", str(folder / "stream")], check=True, env=environment)
            seconds = time.monotonic() - began
        print(f"whole process: {seconds:.1f} s, {options.count / seconds:,.0f} transactions per second")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
