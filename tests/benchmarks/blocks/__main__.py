"""Loading blocks: its speed next to that of record files, from a block's end to its rows, and its memory.

    python -m tests.benchmarks.blocks speed [transfers|mixed] [--count 50000] [--per-block 1000] [--rounds 3]
    python -m tests.benchmarks.blocks latency [--rates 100 1000 5000] [--seconds 20]
    python -m tests.benchmarks.blocks memory [--count 100000] [--blocks 4]

Each mode runs a PostgreSQL of its own in a temporary folder. `speed` loads the same history as record files,
as signed blocks, and as blocks whose signatures are not verified, in turn, and prints medians of the
processor time of the loader (not PostgreSQL's) and of the clock. `latency` runs a block node that sends the
items of each block over a second and its end then, and takes the time until the block's row is in the
database, and until the API has it. `memory` streams large blocks and prints the most memory that the
loader takes (its proportional share).
"""

import argparse
import shutil
import tempfile
from pathlib import Path

from tests.benchmarks.blocks import streaming
from tests.benchmarks.blocks.history import STREAMS
from tests.benchmarks.blocks.speed import measure


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.blocks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    modes = parser.add_subparsers(dest="mode", required=True)
    speed = modes.add_parser("speed")
    speed.add_argument("stream", choices=STREAMS, nargs="?", default="transfers")
    speed.add_argument("--count", type=int, default=50_000, help="transactions")
    speed.add_argument("--per-block", type=int, default=1_000)
    speed.add_argument("--rounds", type=int, default=3)
    speed.add_argument("--processes", type=int, default=1, help="processes that read files")
    latency = modes.add_parser("latency")
    latency.add_argument("--stream", choices=STREAMS, default="transfers")
    latency.add_argument("--rates", type=int, nargs="+", default=[100, 1_000, 5_000], help="per second")
    latency.add_argument("--seconds", type=int, default=20)
    memory = modes.add_parser("memory")
    memory.add_argument("--count", type=int, default=100_000, help="transactions in each block")
    memory.add_argument("--blocks", type=int, default=4)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ledger-mirror-benchmark-"))
    folder.chmod(0o755)
    try:
        if options.mode == "speed":
            measure(
                folder, options.stream, options.count, options.per_block, options.rounds, options.processes
            )
        elif options.mode == "latency":
            streaming.latency(folder, options.stream, options.rates, options.seconds)
        else:
            streaming.memory(folder, options.count, options.blocks)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
