"""Kill processes of a live node by SIGKILL, and compare the database with the files at the end.

    python -m tests.benchmarks.kills [--rounds 60] [--seed 1]

Each round kills one process at a random moment: PostgreSQL, a backend, the loader, the web server, a worker
or a simulation; or all of them, and starts the node again. Afterwards the node has to load blocks and answer
calls. At the end `manage.py verify` compares every row with the files of the network. The exit code is 1 if
they differ, or if the blocks do not follow each other.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.node import LiveNode, kill

_LONGEST_WAIT_SECONDS = 3.0
_ALL = "all processes"


def _victims(node: LiveNode) -> dict[str, Callable[[], int | None]]:
    return {
        "PostgreSQL": node.server.pid,
        "backend of PostgreSQL": node.backend,
        "loader": node.loader,
        "web server": node.web_server,
        "web worker": node.web_worker,
        "simulation starter": node.starter,
        "simulation worker": node.simulator,
        _ALL: lambda: None,
    }


def _kill(node: LiveNode, name: str, pid: int | None) -> None:
    if name != _ALL:
        kill(pid)
        return
    for each in node.processes():
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
    assert node.process
    node.process.wait()
    node.start("up", "--live")


def rounds(node: LiveNode, number: int, choose: random.Random) -> Counter[str]:
    """Kill so many times; return how often each process was killed."""
    killed = Counter[str]()
    victims = _victims(node)
    while killed.total() < number:
        node.wait_for(lambda: node.calls() and node.simulator())
        time.sleep(choose.uniform(0, _LONGEST_WAIT_SECONDS))
        name = choose.choice(list(victims))
        pid = victims[name]()
        if name != _ALL and not pid:
            continue
        _kill(node, name, pid)
        killed[name] += 1
        node.wait_for(node.calls)
        node.goes_on()
        print(f"{killed.total():3d} {name}, block {node.last()}", flush=True)
    return killed


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        node = LiveNode(Path(folder))
        try:
            node.start("up", "--live")
            killed = rounds(node, given.rounds, random.Random(given.seed))
            is_unbroken = node.unbroken()
            stopped = node.stop(signal.SIGTERM)
            verified = node.run("verify", str(node.folder / "demo-stream"))
        finally:
            node.kill()
    print(", ".join(f"{count} {name}" for name, count in sorted(killed.items())))
    print(f"the blocks follow each other: {is_unbroken}; exit code of the node: {stopped}")
    print((verified.stdout + verified.stderr).strip())
    return int(not is_unbroken or stopped != 0 or verified.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
