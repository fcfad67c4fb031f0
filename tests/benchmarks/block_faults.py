"""Single-bit flips in blocks, signatures, keys and publications: each is refused or changes nothing.

    python -m tests.benchmarks.block_faults
    python -m tests.benchmarks.block_faults --flips 100000 --seed 7

Prints how many of each kind were refused, and fails at the first that is not, or that ends in an error of
another kind. Published signatures take part where the recorded stream files are (MIRROR_FIXTURES).
"""

import argparse
import logging
import os
import random
import sys
import time
from collections import Counter

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirror.settings")


def main() -> None:
    parser = argparse.ArgumentParser(description="Flip single bits of blocks and of what proves them.")
    parser.add_argument("--flips", type=int, default=5_000, help="how many, over all kinds")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    django.setup()
    # Flipped times are logged as warnings, though what they belong to is refused afterwards.
    logging.disable(logging.WARNING)
    from tests.ledger.stream.block.faults import Outcome, Undetected, subjects

    choose, kinds = random.Random(options.seed), list(subjects())
    print(f"{options.flips:,} flips of single bits in {len(kinds)} kinds, seed {options.seed}")
    print(
        f"{'':46}" + "".join(f"{outcome.value.split(' the ')[0]:>16}" for outcome in Outcome) + "    ms each"
    )
    undetected = 0
    for number, subject in enumerate(kinds):
        flips = options.flips // len(kinds) + (number < options.flips % len(kinds))
        counted: Counter[Outcome] = Counter()
        began = time.process_time()
        for _ in range(flips):
            try:
                counted[subject.flipped(choose.randrange(8 * len(subject.data)))] += 1
            except Undetected as error:
                undetected += 1
                print(error)
        each = 1000 * (time.process_time() - began) / max(flips, 1)
        print(
            f"{subject.kind:46}" + "".join(f"{counted[outcome]:16,}" for outcome in Outcome) + f"{each:11.1f}"
        )
    sys.exit(f"{undetected:,} were not detected" if undetected else 0)


if __name__ == "__main__":
    main()
