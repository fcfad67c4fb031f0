"""Proofs of transactions with one bit changed, thousands of them; and how long checking a proof takes.

    python -m tests.benchmarks.proofs [COUNT]

Each document is one of `tests.ledger.proofs.portable`: a block with its own signature, one with that
of a later block, and record files of every format. Every change has to be refused.
"""

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django

from ledger.proofs.portable.document import NotProved
from ledger.proofs.portable.verdict import Trusted
from ledger.proofs.portable.verification import verify
from ledger.proofs.threshold.identity import publication
from tests.ledger.proofs.portable.changes import flipped, values_of

_COUNT = 5_000
_RUNS = 5
_PROJECT = Path(__file__).parents[2]


def documents() -> Iterator[tuple[str, dict[str, Any], Trusted, list[str]]]:
    """Yield documents: what each is of, what its reader knows, and that as options of `verify-proof`."""
    from tests.ledger.proofs.files import BOOK, VERSIONS, published
    from tests.ledger.proofs.portable import block_proofs, record_proofs
    from tests.ledger.stream.block.blocks import BlockStream
    from tests.ledger.stream.block.state_proofs import proved_by_later

    folder = Path(tempfile.mkdtemp(prefix="proofs"))
    (folder / "publication").write_bytes(publication(block_proofs.NODES.identity))
    (folder / "book").write_bytes(BOOK)
    of_ledger = block_proofs.KNOWN, ["--ledger", str(folder / "publication")]
    of_book = Trusted(book=BOOK), ["--address-book", str(folder / "book")]
    block, times = block_proofs.block_of()
    yield "block", block_proofs.proof_of(block, times[3]), *of_ledger
    stream = BlockStream(first_block=7, signer=block_proofs.NODES)
    large = [stream.happen("cryptoTransfer") for _ in range(10_000)][-1]
    large_block = stream.block()
    yield "block of 10,000", block_proofs.proof_of(large_block, large), *of_ledger
    stream = BlockStream(signer=block_proofs.NODES)
    at = stream.happen("cryptoTransfer")
    first, *later = stream.block(), stream.block()
    yield (
        "later block",
        block_proofs.proof_of(proved_by_later(first, later, block_proofs.NODES), at),
        *of_ledger,
    )
    for version in VERSIONS:
        # Of an address book in the document nothing counts if another one is known.
        document = {**record_proofs.proof_of(published(version)), "address_books": []}
        yield f"record file {version}", document, *of_book


def main(count: int) -> None:
    for name, document, trusted, options in documents():
        report_time(name, document, options)
        if "10,000" not in name:
            report_changes(name, document, trusted, count)


def report_changes(name: str, document: dict[str, Any], trusted: Trusted, count: int) -> None:
    choose = random.Random(name)
    values = list(values_of(document))
    refused: Counter[str] = Counter()
    accepted = []
    for _ in range(count):
        place = choose.choice(values)
        changed = flipped(document, place, choose)
        try:
            verify(json.dumps(changed).encode(), trusted)
            accepted.append(place)
        except NotProved as error:
            refused[error.step] += 1
    print(f"{name:<16} {count:,} changes: {sum(refused.values()):,} refused, {len(accepted)} not: {accepted}")
    for step, times in refused.most_common():
        print(f"{'':<16} {times:>6,} {step}")


def report_time(name: str, document: dict[str, Any], options: list[str]) -> None:
    """Print how long `manage.py verify-proof` takes: the best of some runs."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(document, file)
        file.flush()
        command = [sys.executable, "manage.py", "verify-proof", file.name, *options]
        best = best_of = float("inf")
        for _ in range(_RUNS):
            before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run(command, cwd=_PROJECT, check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            best = min(best, time.perf_counter() - started)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            best_of = min(best_of, used)
        size = Path(file.name).stat().st_size
    print(f"{name:<16} verify-proof: {best:.2f} s, {best_of:.2f} s of a processor ({size:,} bytes)")


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirror.settings")
    django.setup()
    main(int(sys.argv[1]) if len(sys.argv) > 1 else _COUNT)
