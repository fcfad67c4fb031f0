"""The speed of loading blocks, next to that of record files.

    python -m tests.benchmarks.blocks [transfers|mixed] [--count 50000] [--per-block 1000] [--rounds 3]

A PostgreSQL of its own runs in a temporary folder. The same history is loaded as record files, as signed
blocks, and as blocks whose signatures are not verified, in turn. Printed are medians of the processor time of
the loader (not PostgreSQL's) and of the clock.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

from tests.benchmarks.blocks.history import STREAMS
from tests.benchmarks.blocks.speed import measure


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.blocks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("stream", choices=STREAMS, nargs="?", default="transfers")
    parser.add_argument("--count", type=int, default=50_000, help="transactions")
    parser.add_argument("--per-block", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processes", type=int, default=1, help="processes that read files")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ledger-mirror-benchmark-"))
    folder.chmod(0o755)
    try:
        measure(folder, options.stream, options.count, options.per_block, options.rounds, options.processes)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
