"""Kill every kind of process of a live node, again and again: seconds until it answers and loads, and losses.

    python -m tests.benchmarks.crashes FOLDER --port 8160 --times 5

The folder is made anew; the node's log stays there as `output`.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from argparse import ArgumentParser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from mirror.node.postgres import server as embedded
from mirror.node.postgres.place import place
from mirror.node.postgres.server import Server

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 240


class Live:
    """`manage.py up --live`, seen from outside."""

    def __init__(self, folder: Path, port: int) -> None:
        folder.mkdir(parents=True)
        folder.chmod(0o755)
        self.address = f"http://127.0.0.1:{port}"
        self.server = Server(place(folder))
        self.log = folder / "output"
        environment = {"PATH": os.environ["PATH"], "SVC_MIRROR_DATA": str(folder), "PORT": str(port)}
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up", "--live"],
                cwd=ROOT,
                env=environment | {"SVC_MIRROR_DEMO_BLOCKS": "10"},
                stdout=output,
                stderr=output,
            )

    def get(self, path: str) -> dict[str, list[dict[str, object]]] | None:
        """The answer; None if there is none, or not a good one."""
        with suppress(OSError, ValueError), urllib.request.urlopen(self.address + path, timeout=2) as answer:
            parsed: dict[str, list[dict[str, object]]] = json.loads(answer.read())
            return parsed
        return None

    def last(self) -> int:
        """The number of the last block; -1 while there is no answer."""
        answer = self.get("/api/v1/blocks?limit=1")
        return int(str(answer["blocks"][0]["number"])) if answer and answer["blocks"] else -1

    def call(self) -> bool:
        """Whether a contract call is answered."""
        body = json.dumps({"to": "0x" + "0" * 37 + "3e9", "data": "0x"}).encode()
        request = urllib.request.Request(
            f"{self.address}/api/v1/contracts/call", body, {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=5):
                return True
        except urllib.error.HTTPError as error:
            return error.code == 400
        except OSError:
            return False

    def unbroken(self) -> bool:
        """Whether the last hundred blocks follow each other."""
        answer = self.get("/api/v1/blocks?limit=100")
        blocks = answer["blocks"] if answer else []
        return bool(blocks) and all(
            after["previous_hash"] == before["hash"] and after["number"] == int(str(before["number"])) + 1
            for after, before in zip(blocks, blocks[1:], strict=False)
        )

    # PROCESSES

    def children(self, parent: int) -> list[int]:
        found = []
        for pid in embedded._processes():
            with suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                if int(fields[1]) == parent and fields[0] != "Z":
                    found.append(int(pid))
        return found

    def parts(self) -> tuple[list[int], list[int]]:
        """The web server (it alone has processes of the same program below it), and the loader."""
        ours = [pid for pid in self.children(self.process.pid) if self.server._mark not in command(pid)]
        webs = [pid for pid in ours if self.children(pid)]
        return webs, [pid for pid in ours if pid not in webs]

    def web_workers(self) -> list[int]:
        return [worker for web in self.parts()[0] for worker in self.children(web)]

    def starters(self) -> list[int]:
        return [pid for worker in self.web_workers() for pid in self.children(worker)]

    def simulators(self) -> list[int]:
        return [pid for starter in self.starters() for pid in self.children(starter)]

    def backends(self) -> list[int]:
        postmaster = int(self.server.process() or 0)
        return [pid for pid in self.children(postmaster) if "mirror_node mirror_node" in command(pid)]


def command(pid: int) -> str:
    return embedded._command_line(str(pid))


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=8160)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--only", default="", help="the faults whose names begin so")
    options = parser.parse_args()
    live = Live(options.folder, options.port)
    wait_for(lambda: live.last() > 11 and live.call() and bool(live.simulators()))
    faults: dict[str, Callable[[], list[int]]] = {
        "PostgreSQL backend": lambda: live.backends()[:1],
        "postmaster": lambda: [int(live.server.process() or 0)],
        "PostgreSQL, restarted": lambda: [int(live.server.process() or 0)],
        "web server": lambda: live.parts()[0],
        "web worker": lambda: live.web_workers()[:1],
        "loader (live demo)": lambda: live.parts()[1],
        "simulation starter": lambda: live.starters()[:1],
        "simulation worker": lambda: live.simulators()[:1],
    }
    print("| what died | answers again (s) | loads again (s) | lost |\n|---|---|---|---|")
    try:
        for name, victims in faults.items():
            if not name.startswith(options.only):
                continue
            rows = [strike(live, name, victims) for _ in range(options.times)]
            answers = ", ".join(f"{answered:.1f}" for answered, _, _ in rows)
            loads = ", ".join(f"{loaded:.1f}" for _, loaded, _ in rows)
            lost = ", ".join(sorted({loss for *_, loss in rows}))
            print(f"| {name} | {answers} | {loads} | {lost} |", flush=True)
    finally:
        live.process.terminate()
        live.process.wait()


def strike(live: Live, name: str, victims: Callable[[], list[int]]) -> tuple[float, float, str]:
    """Seconds until the node answers and calls, until it has the next block, and what was lost."""
    wait_for(lambda: live.call() and live.last() >= 0 and all(victims() or [0]))
    before, dying = live.last(), victims()
    began = time.monotonic()
    for pid in dying:
        os.kill(pid, signal.SIGINT if "restarted" in name else signal.SIGKILL)
    answered = 0.0
    deadline = began + PATIENCE_SECONDS
    while True:
        last, called = live.last(), live.call()
        now = time.monotonic() - began
        if last < 0 or not called:
            # Not before the next attempt does it answer.
            answered = now
        elif last > before + 1:
            return answered, now, "nothing" if live.unbroken() else "BROKEN CHAIN"
        if time.monotonic() > deadline:
            raise TimeoutError(name)
        time.sleep(0.05)


def wait_for(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.05)


if __name__ == "__main__":
    main()
