"""`manage.py up` and `serve`, as an operator runs them: real processes, stopped and killed."""

import json
import os
import signal
import time
import urllib.request
from contextlib import suppress

import psycopg
import pytest

from mirror.core.processes import process_table as running
from mirror.node.postgres.cluster import DATABASE
from mirror.node.postgres.installation import PORT
from tests.node import BLOCKS, Node, children
from tests.waiting import wait_until


def sessions_beside(node: Node, role: str) -> set[str]:
    """Return the roles of the node's sessions, asked by one that may see them and write nothing."""
    place = node.server.paths
    with psycopg.connect(host=str(place.socket), port=PORT, user=role, dbname=DATABASE) as session:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute("delete from record_file")
        session.rollback()
        rows = session.execute(
            "select usename from pg_stat_activity "
            "where pid <> pg_backend_pid() and datname = current_database()"
        )
        return {name for (name,) in rows}


def test_stopped_node_has_its_data_and_no_processes(node):
    node.start()
    blocks = node.blocks()
    assert blocks, "the demo stream is loaded"
    assert node.get("/health/liveness") == (200, b'{"status":"ok"}')
    assert node.get("/health/readiness") == (200, b'{"status":"ok"}')
    assert node.get("/static/admin/css/base.css")[0] == 200
    for told in (
        f"http://127.0.0.1:{node.port} shows what it holds",
        f"http://127.0.0.1:{node.port}/api/v1/blocks",
        f"http://127.0.0.1:{node.port}/admin",
        str(node.folder / "admin-password"),
        "manage.py up --live\n            once this is stopped, lets the demo network go on",
        f"psql -h {node.server.paths.socket} -U mirror_node mirror_node",
    ):
        assert told in node.said
    for secret in ("admin-password", "session-key"):
        assert (node.folder / secret).stat().st_mode & 0o777 == 0o600
    password = (node.folder / "admin-password").read_text()

    node.wait_for(lambda: b'mirror_processes{role="web server"} 1' in node.get("/metrics")[1])

    assert node.stop(signal.SIGTERM) == 0
    # The kernel ends the simulation workers with their starter, a moment later.
    wait_until(lambda: node.processes() == [])
    assert "killing worker" not in node.said.lower()
    assert "worker_killed" not in node.said

    # The port of another node that is not started.
    other = Node(node.folder)
    settings = {
        "SVC_MIRROR_DB_READER": "mirror_reader",
        "SVC_MIRROR_REST_RATELIMIT_REQUESTSPERSECOND": "1000000",
        "SVC_MIRROR_WEB_SDKPORTS": str(other.port),
        "SVC_MIRROR_GRPC_PORT": "0",
    }
    node.start("up", "--sdk-ports", **settings)
    assert "Making a demo network" not in node.said
    assert f"the same at the ports {other.port}, where SDKs for local networks look" in node.said
    node.wait_for(other.answers)
    assert other.blocks() == blocks
    assert node.blocks() == blocks
    status, body = node.get("/api/v1/contracts/results?limit=100")
    assert status == 200
    for result in json.loads(body)["results"]:
        assert isinstance(result["access_list"], list)
        assert ("authorization_list" in result) == (result["nonce"] is not None)
    assert (node.folder / "admin-password").read_text() == password
    assert sessions_beside(node, role="mirror_reader") >= {"mirror_reader"}
    with urllib.request.urlopen(f"http://127.0.0.1:{node.port}/api/v1/blocks") as answer:
        assert answer.headers["ratelimit-policy"] == '"client";q=1000000;w=1'
    assert node.stop(signal.SIGINT) == 0
    assert node.processes() == []

    node.start("up", "--sdk-ports", SVC_MIRROR_REST_RESPONSE_ACCESSLIST="hex", **settings)
    _, body = node.get("/api/v1/contracts/results?limit=100")
    access_lists = [result["access_list"] for result in json.loads(body)["results"]]
    assert any(access_lists) and all(isinstance(each, str | None) for each in access_lists)
    assert node.stop(signal.SIGTERM) == 0


def test_live_demo_network_goes_on_after_it_was_killed_too(node, tables):
    def number_since(began: float) -> int:
        """The number of the last block, once that is of a time since then."""
        newest, *_ = node.blocks()
        return newest["number"] if float(newest["timestamp"]["to"]) > began else 0

    first = BLOCKS
    for _ in range(2):
        began = time.time()
        node.start("up", "--live")
        node.wait_for(lambda began=began, least=first + 2: number_since(began) >= least)
        first = number_since(began)
        roles = {running.command(pid).strip() for pid in node.processes()}
        assert roles >= {f"mirror/{role}" for role in ("web-server", "web-worker", "demo-network")}
        for pid in node.processes():
            with suppress(ProcessLookupError):  # it ended with one that was killed before it
                os.kill(pid, signal.SIGKILL)
        node.process.wait()

    node.start()
    blocks = node.blocks()
    for after, before in zip(blocks, blocks[1:], strict=False):
        assert after["previous_hash"] == before["hash"]
    assert [block["number"] for block in blocks] == list(range(len(blocks)))[::-1]
    assert node.stop(signal.SIGTERM) == 0


def test_another_network_than_the_demo_can_not_be_made_live(node):
    ran = node.run("up", "--live", SVC_MIRROR_NETWORK="testnet")
    assert ran.returncode == 1
    assert "--live lets the demo network go on, and this node is for the network testnet" in ran.stderr


def test_running_node_excludes_others_and_goes_on_with_its_data_after_it_was_killed(node, tables):
    node.start("up", SVC_MIRROR_WEB_WORKERS="2")
    again = node.run("up")
    assert (again.returncode, again.stderr) == (
        1,
        f"A node is running on {node.folder} already (process {node.process.pid}): stop it first, "
        "or give this one a folder and a port of its own (SVC_MIRROR_DATA, PORT).\n",
    )
    elsewhere = node.run("up", SVC_MIRROR_DATA=str(node.folder / "elsewhere"))
    assert elsewhere.returncode == 1
    assert elsewhere.stderr.startswith(
        f"Port {node.port} of 127.0.0.1 is taken by another program: stop that"
    )

    database = node.server.pid()
    assert node.run("migrate", "--check").returncode == 0
    assert node.server.pid() == database is not None

    first, *_ = workers = children(node.web_server())
    others = {os.getpriority(os.PRIO_PROCESS, pid) for pid in (node.process.pid, database)}
    assert len(workers) == 2
    assert os.getpriority(os.PRIO_PROCESS, first) > max(others), "the loader and the database go first"

    blocks = node.blocks()
    node.process.kill()
    node.process.wait()
    wait_until(
        lambda: not set(node.processes()) - set(node.server.pids()),
        lambda: "the web server outlives its supervisor",
    )

    node.start()
    assert node.server.pid() == database
    assert node.blocks() == blocks
    for pid in node.processes():
        with suppress(ProcessLookupError):  # it ended with one that was killed before it
            os.kill(pid, signal.SIGKILL)
    node.process.wait()

    node.start()
    assert node.blocks() == blocks
    assert node.stop(signal.SIGTERM) == 0
    assert node.processes() == []


def test_serve_runs_the_web_server_alone_on_any_database(node, tables):
    with node.server.in_use() as server:
        node.start("serve", DATABASE_URL=f"postgresql://mirror_node@/mirror_node?host={server.paths.socket}")
        assert node.blocks() == []
        status, body = node.get("/health/readiness")
        assert status == 503
        assert json.loads(body)["reasons"] == ["The network's address book is not loaded yet."]
        assert node.stop(signal.SIGTERM) == 0
        assert server.pid() is not None


def test_unreachable_database_is_one_sentence(node):
    ran = node.run(
        "up",
        DATABASE_URL=f"postgresql://mirror_node@127.0.0.1:{node.port}/mirror_node",
        SVC_MIRROR_COMMON_DATABASESTARTUP_TIMEOUT="0s",
    )
    assert ran.returncode == 1
    assert ran.stderr.startswith("The database of DATABASE_URL can't be used: ")
    assert "Traceback" not in ran.stderr
