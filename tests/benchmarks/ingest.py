"""How fast a composed stream of transfers is loaded: `python -m tests.benchmarks.ingest [--transfers
100000]`.

Composes the stream in a temporary folder, starts an embedded PostgreSQL of its own with the node's settings,
migrates, and times `manage.py ingest` as a whole process: decoding, rows, COPY, indexes and commit.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ledger.stream.compose import Composer
from mirror.db.embedded import in_use

ROOT = Path(__file__).resolve().parents[2]


def compose(folder: Path, transfers: int, per_block: int, accounts: int) -> None:
    choose = random.Random(1)
    composer = Composer()
    people = range(1001, 1001 + accounts)
    for person in people:
        composer.crypto_create(person, initial_balance=1_000_000_000)
    composer.block().write(folder)
    for done in range(transfers):
        payer, receiver = choose.sample(people, 2)
        amount = choose.randint(1, 1000)
        composer.crypto_transfer({payer: -amount, receiver: amount}, payer=payer)
        if (done + 1) % per_block == 0 or done + 1 == transfers:
            composer.block().write(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transfers", type=int, default=100_000)
    parser.add_argument("--per-block", type=int, default=1_000)
    parser.add_argument("--accounts", type=int, default=1_000)
    given = parser.parse_args()

    folder = Path(tempfile.mkdtemp(prefix="ledger-mirror-benchmark-"))
    folder.chmod(0o755)
    environment = os.environ | {"SVC_MIRROR_DATA": str(folder / "data")}
    (folder / "data").mkdir(mode=0o755)
    manage = [sys.executable, str(ROOT / "manage.py")]
    try:
        began = time.monotonic()
        compose(folder / "stream", given.transfers, given.per_block, given.accounts)
        print(f"composed {given.transfers:,} transfers in {time.monotonic() - began:.1f} s", flush=True)
        with in_use(folder / "data"):
            subprocess.run([*manage, "migrate", "--verbosity", "0"], check=True, env=environment)
            began = time.monotonic()
            subprocess.run([*manage, "ingest", str(folder / "stream")], check=True, env=environment)
            seconds = time.monotonic() - began
        print(f"whole process: {seconds:.1f} s, {given.transfers / seconds:,.0f} transactions per second")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
