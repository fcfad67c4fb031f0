"""A live node of which one process after the other dies: it goes on, and says what died and why."""

import json
import os
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from mirror.node.postgres import server as embedded
from tests.mirror.management.commands.test_up import Node


def command(pid: int) -> str:
    return embedded._command_line(str(pid))


def children(parent: int) -> list[int]:
    found = []
    for pid in embedded._processes():
        with suppress(OSError):
            state, father, *_ = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            if int(father) == parent and state != "Z":
                found.append(int(pid))
    return found


class LiveNode(Node):
    """A node with a live demo network, and its processes by what they are."""

    def last(self) -> int:
        """The number of the last block; -1 while the node does not answer."""
        with suppress(OSError):
            status, body = self.get("/api/v1/blocks?limit=1")
            if status == 200:
                return int(json.loads(body)["blocks"][0]["number"])
        return -1

    def goes_on(self) -> None:
        """Wait until it has loaded two more blocks."""
        before = 0

        def answers() -> bool:
            nonlocal before
            before = self.last()
            return before >= 0

        self.wait_for(answers)
        self.wait_for(lambda: self.last() >= before + 2)

    def calls(self) -> bool:
        """Whether a contract call is run."""
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

    def database(self) -> int:
        return int(self.server.process() or 0)

    def backend(self) -> int:
        return next(pid for pid in children(self.database()) if "mirror_node mirror_node" in command(pid))

    def web_server(self) -> int:
        assert self.process
        return next(pid for pid in children(self.process.pid) if children(pid) and pid != self.database())

    def web_worker(self) -> int:
        return children(self.web_server())[0]

    def loader(self) -> int:
        assert self.process
        return next(pid for pid in children(self.process.pid) if not children(pid))

    def starter(self) -> int:
        return next(pid for worker in children(self.web_server()) for pid in children(worker))

    def simulator(self) -> int:
        return next(iter(children(self.starter())), 0)

    @property
    def deaths(self) -> str:
        path = self.folder / "deaths.jsonl"
        return path.read_text() if path.exists() else ""

    def unbroken(self) -> bool:
        blocks = self.blocks()
        assert isinstance(blocks, list)
        follow_each_other = all(
            after["previous_hash"] == before["hash"] and after["number"] == before["number"] + 1
            for after, before in zip(blocks, blocks[1:], strict=False)
        )
        return bool(blocks) and follow_each_other


@pytest.fixture
def node(data_folder: Path) -> Iterator[LiveNode]:
    node = LiveNode(data_folder)
    yield node
    node.kill()


def test_a_live_node_outlives_the_death_of_any_of_its_processes(node: LiveNode) -> None:
    node.start("up", "--live")
    died = []
    for told, victim in (
        ("PostgreSQL's client backend (process {})", node.backend),
        ("PostgreSQL (process {})", node.database),
        ("web server (process {})", node.web_server),
        ("(process {})", node.web_worker),
        ("demo network (process {})", node.loader),
        ("simulation starter (process {})", node.starter),
        ("simulation worker (process {})", node.simulator),
    ):
        node.wait_for(lambda: node.calls() and node.simulator())
        node.goes_on()
        pid = victim()
        os.kill(pid, signal.SIGKILL)
        died.append(told.format(pid))
        # A process for simulations is missed by the next call.
        node.wait_for(lambda told=died[-1]: [node.calls(), told in node.deaths][1])
        # Whatever it was, calls are run and blocks are loaded again.
        node.wait_for(node.calls)
        node.goes_on()

    assert node.unbroken()
    assert "Traceback" not in node.said
    for told in died:
        assert told.lower() in node.said.lower()
    status = node.run("status").stdout
    for told in died[-5:]:
        assert f"{told} was killed by SIGKILL" in status
    assert node.stop(signal.SIGTERM) == 0
    assert [pid for pid in node.processes() if command(pid)] == []


def test_while_the_database_is_away_the_log_says_so_once_and_counts(node: LiveNode) -> None:
    node.run("migrate")
    url = f"postgresql://mirror_node@/mirror_node?host={node.server.place.socket}"
    with node.server.in_use() as server:
        node.start("serve", DATABASE_URL=url)
        assert node.blocks() == []
        server.stop()
        refused = [
            node.get(path)[0]
            for path in ("/api/v1/accounts", "/api/v1/transactions", "/api/v1/topics/1")
            for _ in range(10)
        ]
        server.revive()
        node.wait_for(lambda: "event=database_back" in node.said)

        assert set(refused) == {503}
        assert node.blocks() == []
        assert node.said.count("event=database_away") == 1
        assert node.said.count("event=database_back") == 1
        assert f"requests_refused={len(refused)}\n" in node.said
        assert "Traceback" not in node.said
        assert node.stop(signal.SIGTERM) == 0
