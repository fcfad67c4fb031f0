"""A database that is stopped: every request ends soon, in words, and what needs no database is answered."""

import json
import os
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import pytest

from mirror.core.db.availability.outage import SENTENCE
from mirror.web.requests.deadlines import Deadlines
from tests.node import Node
from tests.waiting import PATIENCE_SECONDS, wait_until

CALL = json.dumps({"to": "0x0000000000000000000000000000000000000168", "data": "0x"}).encode()


class Silent(Node):
    """A node whose PostgreSQL can be stopped."""

    def stop_database(self) -> None:
        self.pids = self.server.pids()
        for pid in self.pids:
            os.kill(pid, signal.SIGSTOP)

    def continue_database(self) -> None:
        for pid in self.pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@pytest.fixture
def node(data_folder: Path, tables: None) -> Iterator[Silent]:
    node = Silent(data_folder)
    node.start("serve", SVC_MIRROR_DB_SILENTAFTER="1s")
    assert node.get("/api/v1/blocks")[0] == 200
    assert _call(node)[0] in (200, 400)
    node.stop_database()
    yield node
    node.continue_database()
    node.kill()


def _call(node: Node) -> tuple[int, bytes]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{node.port}/api/v1/contracts/call",
        CALL,
        {"content-type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_every_request_ends_in_words_and_the_node_goes_on_afterwards(node: Silent) -> None:
    with ThreadPoolExecutor(40) as clients:
        lists = [clients.submit(node.get, f"/api/v1/blocks?limit={number}") for number in range(1, 30)]
        calls = [clients.submit(_call, node) for _ in range(4)]
        page = clients.submit(node.get, "/")
        documentation = clients.submit(node.get, "/api/v1/docs/")

        assert documentation.result()[0] == 200
        assert page.result()[0] == 503
        for each in (*lists, *calls):
            status, body = each.result()
            (message,) = json.loads(body)["_status"]["messages"]
            assert (status, message["detail"]) == (503, SENTENCE)
    wait_until(lambda: "database_away" in node.said, lambda: node.said)
    assert node.get("/api/v1/blocks?limit=31")[0] == 503

    node.continue_database()

    wait_until(lambda: node.get("/api/v1/blocks?limit=32")[0] == 200, lambda: node.said)
    wait_until(lambda: "database_back" in node.said, lambda: node.said)


def test_a_request_that_hangs_is_answered_at_its_deadline(settings_of) -> None:
    settings_of({"rest.db.statementTimeout": 0.01, "web3.requestTimeout": 0.01})
    refused = Event()

    class Hanging:
        arrived = time.monotonic() - 5.1
        client = "127.0.0.1"

        def refuse(self) -> bool:
            refused.set()
            return True

    deadlines = Deadlines()
    deadlines.add(Hanging())
    assert deadlines.has(5)
    assert not deadlines.has(60)
    Thread(target=deadlines.watch, daemon=True).start()

    assert refused.wait(PATIENCE_SECONDS)
    assert not deadlines.has(0)
