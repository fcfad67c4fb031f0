"""Speed of the API at any size of the database.

    python -m tests.benchmarks.scale fill FOLDER --transactions 10000000 --hours 20 [--partitions]
    python -m tests.benchmarks.scale measure SMALL LARGE [--urls FILE] [--only REGEX]

`fill` makes a node's database with a large network, also one spread over `--months 60`.

SMALL and LARGE are data folders of nodes, or URLs of PostgreSQL. `measure` prints a markdown table of every
list with its filters alone and in pairs, and first of all the requests that miss the targets.
"""

import argparse
import sys
import time
from pathlib import Path

from tests.benchmarks.scale import filling, measure
from tests.benchmarks.scale.requests import Time
from tests.benchmarks.scale.rows import Shape

_WRITTEN_EACH = 20


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    made = commands.add_parser("fill", help="make a database with a large network")
    made.add_argument("folder", type=Path)
    made.add_argument("--transactions", type=int, default=1_000_000)
    period = made.add_mutually_exclusive_group()
    period.add_argument("--hours", type=float, default=2.0)
    period.add_argument("--months", type=int)
    made.add_argument("--partitions", action="store_true", help="partition the tables by month")
    measuring = commands.add_parser("measure", help="compare a small and a large database")
    measuring.add_argument("small")
    measuring.add_argument("large")
    measuring.add_argument("--urls", type=Path, help="requests to ask instead of one of each kind")
    measuring.add_argument("--only", default="", help="a pattern of names of requests")
    measuring.add_argument("--by", default="wall", choices=Time._fields, help="which time counts")
    measuring.add_argument("--out", type=Path, help="a file for the tables, written as they grow")
    options = parser.parse_args()
    if options.command == "fill":
        shape = Shape(options.transactions, options.hours, options.months)
        filling.fill(options.folder, shape, partitions=options.partitions, tell=_tell)
    else:
        _measure(options)


def _measure(options: argparse.Namespace) -> None:
    found: list[measure.Measured] = []
    for one in measure.measure(options.small, options.large, options.urls, options.only, options.by, _tell):
        found.append(one)
        if options.out and len(found) % _WRITTEN_EACH == 0:
            options.out.write_text(measure.report(found))
    if options.out:
        options.out.write_text(measure.report(found))
    else:
        print(measure.report(found))


def _tell(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
