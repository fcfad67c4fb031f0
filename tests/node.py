"""Nodes and commands of a test's own, run as an operator runs them: real processes, stopped and killed."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil

from mirror.core.processes import process_table
from mirror.node.postgres.installation import server_paths
from mirror.node.postgres.server import Server
from tests.waiting import PATIENCE_SECONDS, PATIENT_ENVIRONMENT, wait_until

ROOT = Path(__file__).resolve().parents[1]
BLOCKS = 10

Done = subprocess.CompletedProcess[str]


def manage(*arguments: str | Path, **variables: str) -> Done:
    """Run a command of `manage.py`; without DATABASE_URL among the variables it has a database of its own."""
    return subprocess.run(
        [sys.executable, "manage.py", *map(str, arguments)],
        cwd=ROOT,
        env={name: text for name, text in os.environ.items() if name != "DATABASE_URL"} | variables,
        capture_output=True,
        text=True,
    )


class Node:
    """A node: `manage.py up` (or another command) on a data folder and a port of its own."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder, self.settings = folder, settings
        self.port = free_port()
        self.output = folder / "output"
        self.process: subprocess.Popen[bytes] | None = None
        #: Whose code it runs.
        self.checkout = ROOT
        #: How many files a process of it may have open; 0 leaves the limit as it is.
        self.descriptors = 0

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "SVC_MIRROR_DATA": str(self.folder),
            "PROMETHEUS_MULTIPROC_DIR": f"{self.folder}/metrics",
            "PORT": str(self.port),
            "SVC_MIRROR_DEMO_BLOCKS": str(BLOCKS),
            **PATIENT_ENVIRONMENT,
            **self.settings,
            # By which coverage finds this run.
            **{name: text for name, text in os.environ.items() if name.startswith("COVERAGE_")},
        }

    def start(self, *command: str, **environment: str) -> None:
        self.begin(*command, **environment)
        self.wait_for(lambda: "Ctrl-C stops" in self.said)

    def begin(self, *command: str, **environment: str) -> None:
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [self._python, "manage.py", *(command or ("up",))],
                cwd=self.checkout,
                env=self.environment | environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=partial(_limit_descriptors, self.descriptors) if self.descriptors else None,
            )

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._python, "manage.py", *arguments],
            cwd=self.checkout,
            env=self.environment | environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )

    @property
    def _python(self) -> str:
        return sys.executable if self.checkout == ROOT else str(self.checkout / ".venv" / "bin" / "python")

    def wait_for(self, happened: Callable[[], object]) -> None:
        def ended_or_happened() -> bool:
            assert self.process
            assert self.process.poll() is None, self.said
            return bool(happened())

        wait_until(ended_or_happened, lambda: self.said)

    @property
    def said(self) -> str:
        return self.output.read_text() if self.output.is_file() else ""

    @property
    def server(self) -> Server:
        return Server(server_paths(self.folder))

    def get(self, path: str) -> tuple[int, bytes]:
        try:
            url = f"http://127.0.0.1:{self.port}{path}"
            with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def answers(self) -> bool:
        with suppress(OSError):
            return self.get("/health/liveness")[0] == 200
        return False

    def blocks(self) -> object:
        status, body = self.get("/api/v1/blocks?limit=100")
        assert status == 200, body
        return json.loads(body)["blocks"]

    def stop(self, number: signal.Signals) -> int:
        assert self.process
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        """Wait for the end of the command; return its exit code."""
        process = self.process
        assert process
        wait_until(lambda: process.poll() is not None, lambda: self.said)
        return process.wait()

    def processes(self) -> list[int]:
        """Return every process of the node: those in the command's session, and PostgreSQL's."""
        assert self.process
        return [*in_session(self.process.pid), *self.server.pids()]

    def web_server(self) -> int:
        return next((pid for pid in self._parts() if children(pid)), 0)

    def loader(self) -> int:
        return next((pid for pid in self._parts() if not children(pid)), 0)

    def _parts(self) -> list[int]:
        assert self.process
        return [pid for pid in children(self.process.pid) if pid != self.server.pid()]

    def kill(self) -> None:
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class LiveNode(Node):
    """A node with a live demo network, and its processes by what they do (0 for one that is not there)."""

    def last(self) -> int:
        """Return the number of the last block; -1 while the node does not answer."""
        with suppress(OSError):
            status, body = self.get("/api/v1/blocks?limit=1")
            if status == 200:
                return int(json.loads(body)["blocks"][0]["number"])
        return -1

    def goes_on(self) -> None:
        """Wait until it has loaded one more block."""
        before = 0

        def answers() -> bool:
            nonlocal before
            before = self.last()
            return before >= 0

        self.wait_for(answers)
        self.wait_for(lambda: self.last() > before)

    def calls(self) -> bool:
        """Return whether a contract call is run."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/v1/contracts/call",
            json.dumps({"to": "0x" + "0" * 37 + "3e9", "data": "0x"}).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=10):
                return True
        except urllib.error.HTTPError as error:
            return error.code == 400
        except OSError:
            return False

    def backend(self) -> int:
        """Return a process of PostgreSQL that serves one connection."""
        postgres = children(self.server.pid() or 0)
        return next((pid for pid in postgres if "mirror_node mirror_node" in process_table.command(pid)), 0)

    def web_workers(self) -> list[int]:
        return children(self.web_server())

    def web_worker(self) -> int:
        return next(iter(self.web_workers()), 0)

    def starter(self) -> int:
        """Return the process that starts simulations for one of the web workers."""
        return next((pid for worker in self.web_workers() for pid in children(worker)), 0)

    def simulator(self) -> int:
        return next(iter(children(self.starter())), 0)

    @property
    def deaths(self) -> str:
        path = self.folder / "deaths.jsonl"
        return path.read_text() if path.exists() else ""

    def unbroken(self) -> bool:
        """Return whether the last hundred blocks follow each other."""
        blocks = self.blocks()
        assert isinstance(blocks, list)
        follow_each_other = all(
            after["previous_hash"] == before["hash"] and after["number"] == before["number"] + 1
            for after, before in zip(blocks, blocks[1:], strict=False)
        )
        return bool(blocks) and follow_each_other


def _limit_descriptors(limit: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))


def kill(pid: int | None) -> None:
    """Kill a process; 0 would be the group of the tests themselves."""
    assert pid
    os.kill(pid, signal.SIGKILL)


def is_running(pid: int) -> bool:
    """Return whether a process has not ended: one that has, but was not reaped, does not count."""
    with suppress(psutil.Error):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


def in_session(session: int) -> list[int]:
    """Return the processes of a session that have not ended."""
    found = []
    for pid in psutil.pids():
        # Those of other users may be hidden.
        with suppress(ProcessLookupError, PermissionError):
            if os.getsid(pid) == session and is_running(pid):
                found.append(pid)
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def children(parent: int) -> list[int]:
    """Return the processes that `parent` has started and that have not ended."""
    running = psutil.process_iter(["ppid", "status"])
    return [
        each.pid
        for each in running
        if each.info["ppid"] == parent and each.info["status"] != psutil.STATUS_ZOMBIE
    ]
