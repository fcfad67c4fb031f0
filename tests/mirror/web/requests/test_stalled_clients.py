"""Clients that send their bodies slowly or take nothing of their answers; others are answered meanwhile."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from django.db import connection

from mirror.web.requests.bodies import MAX_READERS
from tests.linux import linux_only
from tests.web3sim.rows import hex_address
from tests.web3sim.serving import FEW, MUCH, ServingNode, serving_node

__all__ = ["serving_node"]

# What the kernel notes of connections.
pytestmark = linux_only

ESTABLISHED = "01"


@pytest.fixture
def node(serving_node: ServingNode) -> ServingNode:
    return serving_node


def _is_served(client: socket.socket) -> bool:
    """Return whether the server still has the other end of a connection."""
    try:
        (_, port), (_, server_port) = client.getsockname(), client.getpeername()
    except OSError:
        return False
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ends = {
        tuple(address.partition(":")[2] for address in line[1:3]) for line in lines if line[3] == ESTABLISHED
    }
    return (f"{server_port:04X}", f"{port:04X}") in ends


def _asks_for_much(node: ServingNode, client: socket.socket) -> bool:
    """Connect a client that takes nothing of a long answer; return whether the server listens already."""
    # The kernel's buffers for such a client hold only a little of the answer.
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    if client.connect_ex(("127.0.0.1", node.port)):
        return False
    body = json.dumps({"to": hex_address(MUCH)}).encode()
    head = (
        "POST /api/v1/contracts/call HTTP/1.1\r\nHost: node\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    client.sendall(head.encode() + body)
    return True


def test_a_client_that_takes_nothing_of_its_answer_is_let_go(node):
    node.begin(SVC_MIRROR_WEB_STALLEDTIMEOUT="1s", SVC_MIRROR_WEB3_MAXRESULTSIZE="4096")
    with socket.socket() as early, socket.socket() as late:
        while not _asks_for_much(node, early):
            time.sleep(0.001)
        node.wait_for(lambda: "Ctrl-C stops" in node.said)
        assert _asks_for_much(node, late)
        assert _is_served(late)
        node.wait_for(lambda: not _is_served(early) and not _is_served(late))
    assert node.call(FEW) == 200


STALLED_KINDS = [
    ("/api/v1/contracts/call", "application/json"),
    ("/api/v1/network/fees", "application/protobuf"),
    ("/admin/login/", "application/x-www-form-urlencoded"),
]


@pytest.fixture
def stalled(node: ServingNode) -> Iterator[Callable[[int], list[socket.socket]]]:
    """Yield a function that opens connections which send the beginning of a body and no more."""
    clients: list[socket.socket] = []

    def stall(count: int) -> list[socket.socket]:
        for number in range(count):
            path, content_type = STALLED_KINDS[number % len(STALLED_KINDS)]
            client = socket.create_connection(("127.0.0.1", node.port))
            head = f"POST {path} HTTP/1.1\r\nHost: node\r\nContent-Type: {content_type}\r\n"
            client.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
            clients.append(client)
        return clients

    yield stall
    for client in clients:
        client.close()


def test_others_are_answered_while_many_bodies_do_not_come(node, stalled):
    # The others can only be answered if those that stall are passed over.
    node.start(SVC_MIRROR_WEB_WORKERS="1", SVC_MIRROR_WEB_THREADS="2", SVC_MIRROR_WEB_BODYTIMEOUT="1h")
    assert node.call(FEW) == 200
    clients = stalled(MAX_READERS - 1)

    assert [node.ask(f"blocks?limit={number}") for number in range(1, 6)] == [200] * 5
    assert [node.call(FEW) for _ in range(5)] == [200] * 5
    assert all(_is_served(client) for client in clients)
    with connection.cursor() as cursor:
        # Requests that wait hold no connection to the database; the gauges are read by one of their own.
        cursor.execute(
            "select count(*) from pg_stat_activity "
            "where datname = current_database() and backend_type = 'client backend'"
        )
        assert cursor.fetchone()[0] <= 2 + 2 + 1 + 1


def test_bodies_beyond_those_that_may_be_waited_for_are_refused_and_the_rest_goes_on(node, stalled):
    node.start(SVC_MIRROR_WEB_WORKERS="1", SVC_MIRROR_WEB_THREADS="2", SVC_MIRROR_WEB_BODYTIMEOUT="1h")
    stalled(MAX_READERS + 40)

    node.wait_for(lambda: node.call(FEW) == 503)
    assert [node.ask(f"blocks?limit={number}") for number in range(1, 6)] == [200] * 5


def test_a_body_that_does_not_come_in_time_is_not_waited_for(node, stalled):
    node.start(SVC_MIRROR_WEB_BODYTIMEOUT="3s")
    clients = stalled(6)

    node.wait_for(lambda: not any(_is_served(client) for client in clients))
    assert node.call(FEW) == 200


def test_headers_that_do_not_come_in_time_are_not_waited_for(node):
    node.start(SVC_MIRROR_WEB_BODYTIMEOUT="1s")
    half, second_half, idle, drips = (socket.create_connection(("127.0.0.1", node.port)) for _ in range(4))
    with half, second_half, idle, drips:
        for client in (second_half, idle):
            client.sendall(b"GET /health/liveness HTTP/1.1\r\nHost: node\r\n\r\n")
            assert client.recv(4096).startswith(b"HTTP/1.1 200")
        half.sendall(b"GET /api/v1/blocks HTTP/1.1\r\nHost: no")
        time.sleep(0.02)
        second_half.sendall(b"GET /api/v1/blo")

        def are_closed() -> bool:
            with suppress(OSError):
                drips.send(b"G")
            return not any(_is_served(client) for client in (half, second_half, drips))

        node.wait_for(are_closed)
        assert _is_served(idle)
        assert node.call(FEW) == 200
    assert "headers_took_too_long" in node.said
