"""Speed of the API at any size of the database.

    python -m tests.benchmarks.scale measure SMALL LARGE [--urls FILE] [--only REGEX]

SMALL and LARGE are data folders of nodes, or URLs of PostgreSQL. Prints a markdown table of every list with
its filters alone and in pairs, and first of all the requests that miss the targets.
"""

import argparse
import sys
import time
from pathlib import Path

from tests.benchmarks.scale import measure
from tests.benchmarks.scale.asking import Time

_WRITTEN_EACH = 20


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure", help="compare a small and a large database")
    measuring.add_argument("small")
    measuring.add_argument("large")
    measuring.add_argument("--urls", type=Path, help="requests to ask instead of one of each kind")
    measuring.add_argument("--only", default="", help="a pattern of names of requests")
    measuring.add_argument("--by", default="wall", choices=Time._fields, help="which time counts")
    measuring.add_argument("--out", type=Path, help="a file for the tables, written as they grow")
    options = parser.parse_args()
    _measure(options)
    return 0


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
    sys.exit(main())
