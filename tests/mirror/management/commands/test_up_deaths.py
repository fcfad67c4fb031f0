"""A live node of which one process after the other dies: it goes on, and says what died and why."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from mirror.core.processes import process_table
from mirror.models import LOADER_LOCK
from tests.linux import linux_only
from tests.node import LiveNode


@pytest.fixture
def node(data_folder: Path, tables: None) -> Iterator[LiveNode]:
    node = LiveNode(data_folder)
    yield node
    node.kill()


def _kilobytes(node: LiveNode) -> int:
    """Return the memory of all its processes, shared pages counted once."""
    rollups = [Path("/proc", str(pid), "smaps_rollup").read_text() for pid in node.processes()]
    lines = [line for rollup in rollups for line in rollup.splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _out_of_memory_score(pid: int | None) -> int:
    """Return by how much sooner than the tests the kernel ends a process that lacks memory."""
    score, ours = (Path(f"/proc/{each}/oom_score_adj").read_text() for each in (pid, "self"))
    return int(score) - int(ours)


@linux_only
def test_live_node_is_small_and_the_kernel_ends_workers_before_supervisor_and_database(
    node: LiveNode,
) -> None:
    node.start("up", "--live", SVC_MIRROR_WEB_WORKERS="2")
    for _ in range(50):
        node.blocks()
    assert _kilobytes(node) < 500_000
    node.wait_for(lambda: node.calls() and node.simulator())
    assert node.process

    scores = [
        _out_of_memory_score(pid)
        for pid in (
            *(node.process.pid, node.server.pid(), node.backend()),
            *(node.loader(), node.web_server()),
            *(node.web_worker(), node.starter(), node.simulator()),
        )
    ]

    assert scores == [0, 0, 0, 100, 100, 200, 200, 300]
    assert node.stop(signal.SIGTERM) == 0


def test_live_node_outlives_the_death_of_any_of_its_processes(node: LiveNode) -> None:
    node.start("up", "--live")
    died = []
    victims: list[tuple[str, Callable[[], int | None]]] = [
        ("PostgreSQL's client backend (process {})", node.backend),
        ("PostgreSQL (process {})", node.server.pid),
        ("web server (process {})", node.web_server),
        ("(process {})", node.web_worker),
        ("demo network (process {})", node.loader),
        ("simulation starter (process {})", node.starter),
        ("simulation worker (process {})", node.simulator),
    ]
    node.goes_on()
    for told, victim in victims:
        node.wait_for(lambda: node.calls() and node.simulator())
        pid = victim() or 0
        assert pid
        os.kill(pid, signal.SIGKILL)
        died.append(told.format(pid))
        # A process for simulations is missed by the next call.
        node.wait_for(lambda: [node.calls(), died[-1] in node.deaths][1])
        # Whatever it was, calls are run and blocks are loaded again.
        node.wait_for(node.calls)
        node.goes_on()

    assert node.unbroken()
    assert "Traceback" not in node.said, node.said
    for told in died:
        assert told.lower() in node.said.lower()
    status = node.run("status").stdout
    for told in died[-5:]:
        assert f"{told} was killed by SIGKILL" in status
    assert node.stop(signal.SIGTERM) == 0
    assert [pid for pid in node.processes() if process_table.command(pid)] == []


def _last_stored(connection: psycopg.Connection) -> int:
    """Return the last block in the table: an answer of the API may be as old as its max-age."""
    row = connection.execute("select max(index) from record_file").fetchone()
    assert row
    return int(row[0])


def test_live_node_without_the_lock_of_its_loader_loads_nothing(node: LiveNode) -> None:
    node.start("up", "--live")
    node.goes_on()

    url = f"postgresql://mirror_node@/mirror_node?host={node.server.paths.socket}"
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(
            "select pg_terminate_backend(pid, 5000) from pg_locks "
            "where locktype = 'advisory' and (classid::bigint << 32) | objid::bigint = %s",
            [LOADER_LOCK],
        )
        other.execute("select pg_advisory_lock(%s)", [LOADER_LOCK])
        taken_at = _last_stored(other)
        node.wait_for(lambda: node.said.count("another loader is writing to it") >= 2)
        # One file may have been with the database already.
        assert _last_stored(other) <= taken_at + 1

    node.goes_on()
    assert node.unbroken()
    assert node.stop(signal.SIGTERM) == 0


def test_outage_of_the_database_is_logged_once_and_counted(node: LiveNode) -> None:
    url = f"postgresql://mirror_node@/mirror_node?host={node.server.paths.socket}"
    with node.server.in_use() as server:
        node.start("serve", DATABASE_URL=url)
        assert node.blocks() == []
        server.stop()
        refused = [
            node.get(path)[0]
            for path in ("/api/v1/accounts", "/api/v1/transactions", "/api/v1/topics/1")
            for _ in range(10)
        ]
        server.restart()
        node.wait_for(lambda: " database_back" in node.said)

        assert set(refused) == {503}
        assert node.blocks() == []
        assert node.said.count(" database_away") == 1
        assert 'cure="Start it, or make room on its disk: ' in node.said
        assert node.said.count(" database_back") == 1
        assert f"requests_refused={len(refused)} " in node.said
        assert "Traceback" not in node.said
        assert node.stop(signal.SIGTERM) == 0
