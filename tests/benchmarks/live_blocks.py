"""Kill the live demo network that writes blocks at random moments, and where it goes over to them.

    python -m tests.benchmarks.live_blocks FOLDER --networks 5 --kills 10

The folder is made anew, with a node for each network. Its demo network is started in blocks and killed again
and again, within seconds of each start; so the first kills hit it while it goes over from record files. Then
it goes on undisturbed, and `manage.py verify` compares its files with the database.
"""

import os
import random
import re
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from pathlib import Path

from mirror.demo.keys.nodes import nodes
from mirror.demo.publish.publisher import Publisher
from tests.node import ROOT, LiveNode

_HISTORY = 5
_PATIENCE_SECONDS = 60
# A block has another name and size in a file than it had in the stream.
_DIFFERENCE = re.compile(r"\S+: ")
_OTHER_FORM = re.compile(r"\d+\.blk\.zstd: record_file\.name: stored [^;]*; record_file\.size: [^;:]*")
_LIVE = """
import django
django.setup()
from mirror.demo.live import network
from mirror.node import database
with database.ready(print):
    network.live(print, block_node=True)
"""


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--networks", type=int, default=5)
    parser.add_argument("--kills", type=int, default=10, help="kills of each network")
    parser.add_argument("--within", type=float, default=8.0, help="seconds from a start to a kill at most")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True)
    options.folder.chmod(0o755)
    choose = random.Random(options.seed)
    for number in range(options.networks):
        folder = options.folder / str(number)
        folder.mkdir(mode=0o755)
        node = LiveNode(folder)
        try:
            print(strike(node, choose, options.kills, options.within), flush=True)
        finally:
            if node.process and node.process.poll() is None:
                node.stop(signal.SIGTERM)


def strike(node: LiveNode, choose: random.Random, kills: int, within: float) -> str:
    """Kill a network so many times; return in words what became of it."""
    variables = {"SVC_MIRROR_DEMO_BLOCKS": str(_HISTORY)}
    node.start("up", **variables)
    moments = []
    for _ in range(kills):
        _Live(node).kill_after(choose.uniform(0.5, within))
        moments.append(node.last())
    newest = max([*Publisher(node.folder / "demo-stream", nodes()).blocks, node.last()])
    undisturbed = _Live(node)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while node.last() < newest + 3:
        if time.monotonic() > deadline:
            raise SystemExit(f"it does not come to block {newest}: {undisturbed.output.read_text()}")
        time.sleep(0.2)
    undisturbed.process.terminate()
    undisturbed.process.wait()
    if not node.unbroken():
        raise SystemExit(f"the chain is broken: {node.blocks()}")
    verified = node.run("verify", str(node.folder / "demo-stream"), "--to", str(node.last()), **variables)
    node.stop(signal.SIGTERM)
    told = (verified.stderr or verified.stdout).strip()
    differences = [line for line in verified.stdout.splitlines() if _DIFFERENCE.match(line)]
    if (verified.returncode and not differences) or not all(map(_OTHER_FORM.fullmatch, differences)):
        raise SystemExit(verified.stdout + verified.stderr)
    return f"{kills} kills, after the blocks {', '.join(map(str, moments))}: {told.splitlines()[-1]}"


class _Live:
    """The process of a live network."""

    def __init__(self, node: LiveNode) -> None:
        self.output = node.folder / "live"
        with self.output.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _LIVE],
                cwd=ROOT,
                env=node.environment | {"DJANGO_SETTINGS_MODULE": "mirror.settings"},
                stdout=output,
                stderr=output,
            )

    def kill_after(self, seconds: float) -> None:
        time.sleep(seconds)
        if self.process.poll() is not None:
            raise SystemExit(f"it has ended: {self.output.read_text()}")
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


if __name__ == "__main__":
    main()
