"""Follow block nodes that misbehave, that are slow, and while the loader is killed: nothing lost or doubled?

    python -m tests.benchmarks.block_nodes FOLDER
    python -m tests.benchmarks.block_nodes FOLDER --only faults --faults 200 --seed 3

FOLDER is made anew. `faults` follows two block nodes that do something wrong repeatedly, chosen by the seed,
next to a right one. `latency` follows two of which one is quicker, until they change places, and `mixed` two
with good and bad minutes, for 50 minutes: the head of the stream may be 10 s behind. `kills` and `switch`
kill a loader that follows a block node, and one that goes over from record files to blocks. All but `latency`
and `mixed` compare every table with that of a plain load of the same files.
"""

import os
import sys
from argparse import ArgumentParser
from pathlib import Path

import django

PARTS = ("latency", "mixed", "faults", "kills", "switch")


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=PARTS, nargs="*", default=PARTS)
    parser.add_argument("--minutes", type=int, default=50, help="of good and bad block nodes")
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--switch-kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True)
    options.folder.chmod(0o755)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirror.settings")
    django.setup()
    from tests.benchmarks.block_nodes import faults, kills, latency, mixed

    folder: Path = options.folder.resolve()
    runs = {
        "latency": lambda: latency.run(),
        "mixed": lambda: mixed.run(options.minutes, options.seed),
        "faults": lambda: faults.run(folder / "faults", options.faults, options.seed),
        "kills": lambda: kills.while_following(folder / "kills", options.kills, options.seed),
        "switch": lambda: kills.at_the_switch_over(folder / "switch", options.switch_kills, options.seed),
    }
    outcomes = []
    for name in PARTS:
        if name in options.only:
            print(f"\n{name}", flush=True)
            outcomes.append(runs[name]())
    sys.exit(0 if all(outcomes) else 1)


if __name__ == "__main__":
    main()
