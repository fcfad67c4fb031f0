"""Run attacks against a node of their own each, and print what they achieve and what others notice.

    python -m tests.attacks [NAME ...] [--seconds 20] [--checkout FOLDER]

`--checkout` runs the node of another checkout, with the Python of its .venv: what the same attack achieves
there. The p99 is of requests that an ordinary client makes one after the other, before and during the attack.
"""

import argparse
import importlib
import multiprocessing
import pkgutil
import signal
import statistics
import tempfile
import time
import urllib.request
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from types import ModuleType

from tests import attacks
from tests.attacks.attack import Target
from tests.node import ROOT, LiveNode, free_port

_PATHS = [
    "/api/v1/blocks?limit=25",
    "/api/v1/transactions?limit=25",
    "/api/v1/accounts?limit=25",
    "/api/v1/tokens?limit=25",
    "/api/v1/contracts/results?limit=25",
]
_PAUSE_SECONDS, _WARM_UP_SECONDS = 0.01, 2.0
_OTHER_MODULES = {"attack", "__main__"}


def names() -> list[str]:
    """Return the attacks of this folder."""
    found = {module.name for module in pkgutil.iter_modules(attacks.__path__)}
    return sorted(name for name in found - _OTHER_MODULES if not name.startswith("test_"))


def load(name: str) -> ModuleType:
    return importlib.import_module(f"tests.attacks.{name}")


class OrdinaryClient:
    """Requests pages one after the other, in another process than the many threads of an attacker."""

    def __init__(self, port: int) -> None:
        self._port = port
        context = multiprocessing.get_context("fork")
        self._stopping, self._results = context.Event(), context.SimpleQueue()
        self._process = context.Process(target=self._run, daemon=True)
        self._seconds: list[float] = []
        self.failed = 0

    def _run(self) -> None:
        seconds: list[float] = []
        failed = 0
        for path in cycle(_PATHS):
            if self._stopping.wait(_PAUSE_SECONDS):
                self._results.put((seconds, failed))
                return
            began = time.perf_counter()
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self._port}{path}", timeout=60) as answer:
                    answer.read()
            except OSError:
                failed += 1
            seconds.append(time.perf_counter() - began)

    def __enter__(self) -> "OrdinaryClient":
        self._process.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopping.set()
        self._seconds, self.failed = self._results.get()
        self._process.join()

    def p99(self) -> float:
        """Return the 99th percentile in milliseconds."""
        if len(self._seconds) < 2:
            return sum(self._seconds) * 1000
        return statistics.quantiles(self._seconds, n=100, method="inclusive")[98] * 1000


def measure(name: str, seconds: float, checkout: Path) -> str:
    """Return the line of an attack in the table."""
    module = load(name)
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        grpc_port = free_port()
        settings = {"SVC_MIRROR_GRPC_PORT": str(grpc_port), **getattr(module, "SETTINGS", {})}
        node = LiveNode(Path(folder), **settings)
        node.checkout = checkout
        node.descriptors = getattr(module, "DESCRIPTORS", 0)
        try:
            node.start("up", "--live")
            node.wait_for(lambda: node.last() > 0)
            with OrdinaryClient(node.port):
                time.sleep(_WARM_UP_SECONDS)
            with OrdinaryClient(node.port) as quiet:
                time.sleep(seconds)
            with OrdinaryClient(node.port) as attacked:
                outcome = module.attack(Target(node, grpc_port, seconds))
            before, during = quiet.p99(), attacked.p99()
        finally:
            with suppress(AssertionError):
                node.stop(signal.SIGTERM)
            node.kill()
    result = "SUCCEEDED" if outcome.succeeded else "failed"
    ratio = f"{during / before:.1f}" if before else "-"
    cells = [name, result, outcome.effect, f"{before:.0f}", f"{during:.0f}", ratio, attacked.failed]
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", choices=[*names(), []], metavar="NAME")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--checkout", type=Path, default=ROOT)
    given = parser.parse_args()
    print("| attack | it | effect | p99 without, ms | p99 during, ms | ratio | ordinary requests failed |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for name in given.names or names():
        print(measure(name, given.seconds, given.checkout.resolve()), flush=True)


if __name__ == "__main__":
    main()
