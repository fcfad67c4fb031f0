"""A database that is stopped: every request ends soon, in words, and what needs no database is answered."""

import json
import os
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event

import pytest
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections

from mirror.core.db.availability import outage
from mirror.core.db.availability.outage import SENTENCE
from mirror.core.db.replicas import Server, connection_to
from mirror.core.processes.process_table import command
from tests.node import Node, children
from tests.waiting import wait_until

# The bar is 5 s on an idle machine.
_MAX_SECONDS = 30
CALL = json.dumps({"to": "0x0000000000000000000000000000000000000168", "data": "0x"}).encode()


class Silent(Node):
    """A node whose PostgreSQL can be stopped."""

    pids: Sequence[int] = ()

    def stop_database(self) -> None:
        self.pids = self.server.pids()
        for pid in self.pids:
            os.kill(pid, signal.SIGSTOP)

    def stop_sessions(self) -> None:
        self.pids = [pid for pid in children(self.server.pid() or 0) if "mirror_node" in command(pid)]
        assert self.pids
        for pid in self.pids:
            os.kill(pid, signal.SIGSTOP)

    def continue_database(self) -> None:
        for pid in self.pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@pytest.fixture
def node(data_folder: Path, tables: None) -> Iterator[Silent]:
    node = Silent(data_folder)
    yield node
    node.continue_database()
    node.kill()


def _call(node: Node) -> tuple[int, bytes, str | None]:
    return _answer(node, "/api/v1/contracts/call", CALL)


def _answer(node: Node, path: str, body: bytes | None = None) -> tuple[int, bytes, str | None]:
    """Return status, body and Retry-After of an answer, which has to come within _MAX_SECONDS."""
    url = f"http://127.0.0.1:{node.port}{path}"
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=_MAX_SECONDS) as answer:
            return answer.status, answer.read(), None
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers["Retry-After"]


def test_every_request_ends_in_words_and_the_node_goes_on_afterwards(node: Silent) -> None:
    node.start("serve", SVC_MIRROR_DB_SILENTAFTER="1s")
    assert node.get("/api/v1/blocks")[0] == 200
    before = _call(node)[0]
    assert before in (200, 400)
    node.stop_database()
    with ThreadPoolExecutor(40) as clients:
        lists = [clients.submit(_answer, node, f"/api/v1/blocks?limit={number}") for number in range(1, 30)]
        calls = [clients.submit(_call, node) for _ in range(4)]
        page = clients.submit(_answer, node, "/")
        documentation = clients.submit(_answer, node, "/api/v1/docs/")

        assert documentation.result()[0] == 200
        status, _, retry_after = page.result()
        assert (status, retry_after) == (503, "2")
        for each in (*lists, *calls):
            status, body, retry_after = each.result()
            if each in calls and status == before:
                # What the process of the call remembers was enough.
                continue
            (message,) = json.loads(body)["_status"]["messages"]
            assert (status, message["detail"], retry_after) == (503, SENTENCE, "2")
    wait_until(lambda: "database_away" in node.said, lambda: node.said)
    assert node.get("/api/v1/blocks?limit=31")[0] == 503

    node.continue_database()

    wait_until(lambda: node.get("/api/v1/blocks?limit=32")[0] == 200, lambda: node.said)
    wait_until(lambda: "database_back" in node.said, lambda: node.said)


def test_a_session_that_hangs_costs_its_request_and_no_other(node: Silent) -> None:
    node.start("serve", SVC_MIRROR_WEB_WORKERS="1", SVC_MIRROR_WEB_THREADS="1")
    assert node.get("/api/v1/blocks")[0] == 200
    node.stop_sessions()

    status, body, retry_after = _answer(node, "/api/v1/blocks?limit=1")

    (message,) = json.loads(body)["_status"]["messages"]
    assert (status, message["detail"], retry_after) == (503, SENTENCE, "2")
    wait_until(lambda: node.get("/api/v1/blocks?limit=2")[0] == 200, lambda: node.said)


def test_replicas_are_read_while_the_primary_is_silent(
    ledger_tables: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = Event()
    silent.set()
    monkeypatch.setattr(outage, "silent", silent)
    with pytest.raises(OperationalError, match="has not answered within"):
        connections.create_connection(DEFAULT_DB_ALIAS).ensure_connection()

    server = connection_to(Server("replica", connections.settings[DEFAULT_DB_ALIAS]))
    server.ensure_connection()
    server.close()
