"""Web servers and workers that end."""

import socket
from contextlib import suppress
from http.client import HTTPException

import pytest

from mirror.core.config.setting import OperatorError
from mirror.core.processes import process_table
from mirror.web import server
from tests.node import Node, children, kill
from tests.waiting import wait_until


def _answers(node: Node) -> bool:
    # A process that is about to end may still have taken it.
    with suppress(OSError, HTTPException):
        return node.get("/health/liveness")[0] == 200
    return False


def test_a_killed_web_server_is_started_again(node: Node, tables: None) -> None:
    node.start("serve")
    killed = node.web_server()

    kill(killed)
    wait_until(lambda: _answers(node) and node.web_server() not in (0, killed))

    assert "is started again" in node.said


def test_a_worker_that_dies_is_replaced_and_its_death_recorded(node: Node, tables: None) -> None:
    node.start("serve")
    worker = next(pid for pid in children(node.web_server()) if "web-worker" in process_table.command(pid))
    kill(worker)

    wait_until(lambda: f"web worker (process {worker})" in node.said, lambda: node.said)
    wait_until(lambda: _answers(node))


def test_a_port_that_is_taken_is_refused(settings_of) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        settings_of({"web.host": "127.0.0.1", "web.port": port})
        with pytest.raises(OperatorError, match=rf"Port {port} of 127.0.0.1 is taken .* \(PORT={port + 1}\)"):
            server.check_port()
    server.check_port()
