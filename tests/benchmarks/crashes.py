"""Kill every kind of process of a live node, again and again: seconds until it answers and loads, and losses.

    python -m tests.benchmarks.crashes FOLDER --times 5

The folder is made anew; the node's log stays there as `output`.
"""

import os
import signal
import time
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path

from tests.node import BLOCKS, LiveNode

PATIENCE_SECONDS = 240


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--only", default="", help="the faults whose names begin so")
    options = parser.parse_args()
    options.folder.mkdir(parents=True)
    options.folder.chmod(0o755)
    node = LiveNode(options.folder)
    faults: dict[str, Callable[[], int | None]] = {
        "PostgreSQL backend": node.backend,
        "postmaster": node.server.pid,
        "PostgreSQL, restarted": node.server.pid,
        "web server": node.web_server,
        "web worker": node.web_worker,
        "loader (live demo)": node.loader,
        "simulation starter": node.starter,
        "simulation worker": node.simulator,
    }
    try:
        node.start("up", "--live")
        node.wait_for(lambda: node.last() > BLOCKS + 1 and node.calls() and node.simulator())
        print("| what died | answers again (s) | loads again (s) | lost |\n|---|---|---|---|")
        for name, victim in faults.items():
            if not name.startswith(options.only):
                continue
            rows = [strike(node, name, victim) for _ in range(options.times)]
            answers = ", ".join(f"{answered:.1f}" for answered, _, _ in rows)
            loads = ", ".join(f"{loaded:.1f}" for _, loaded, _ in rows)
            lost = ", ".join(sorted({loss for *_, loss in rows}))
            print(f"| {name} | {answers} | {loads} | {lost} |", flush=True)
        node.stop(signal.SIGTERM)
    finally:
        node.kill()


def strike(node: LiveNode, name: str, victim: Callable[[], int | None]) -> tuple[float, float, str]:
    """Return the seconds until the node answers and calls, until it has the next block, and what was lost."""
    pid = 0

    def is_there() -> bool:
        nonlocal pid
        pid = victim() or 0
        return bool(pid and node.calls() and node.last() >= 0)

    node.wait_for(is_there)
    before = node.last()
    began = time.monotonic()
    os.kill(pid, signal.SIGINT if "restarted" in name else signal.SIGKILL)
    answered = 0.0
    deadline = began + PATIENCE_SECONDS
    while True:
        last, called = node.last(), node.calls()
        now = time.monotonic() - began
        if last < 0 or not called:
            # It answers at the next attempt at the earliest.
            answered = now
        elif last > before + 1:
            return answered, now, "nothing" if node.unbroken() else "BROKEN CHAIN"
        if time.monotonic() > deadline:
            raise TimeoutError(name)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
