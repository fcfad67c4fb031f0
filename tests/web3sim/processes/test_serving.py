"""Contract calls of a web server as an operator runs it: its processes share limits, and end with it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.db import connection

from mirror.node.web.stalled_clients import MOST_READERS
from tests.build import Build
from tests.waiting import PATIENCE_SECONDS, PATIENT_ENVIRONMENT, wait_until
from tests.web3sim.engine.world import code
from tests.web3sim.rows import ANSWERS, ENDLESS, contract, hex_address, network

FEW, LOOPS, MUCH = 5201, 5202, 5203
ESTABLISHED = "01"
# With so much gas no loop ends by itself.
GAS = 10**13
WITHOUT_END = {"SVC_MIRROR_WEB3_EVM_MAXGASLIMIT": str(GAS), "SVC_MIRROR_WEB3_THROTTLE_GASUNIT": str(GAS)}
# A call this long is none of the few others that its process may have answered.
WORKING_TICKS = 50


class Node:
    """`manage.py serve` on the tests' database."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._output = folder / "output"
        self._folder = folder
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, **environment: str) -> None:
        given = connection.get_connection_params()
        database = {
            name: str(given[name]) for name in ("user", "password", "host", "port") if given.get(name)
        }
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "serve"],
                cwd=settings.BASE_DIR,
                env={
                    "PATH": os.environ["PATH"],
                    "PORT": str(self.port),
                    "SVC_MIRROR_DATA": str(self._folder),
                    "DATABASE_URL": f"postgresql:///{given['dbname']}?{urlencode(database)}",
                    **PATIENT_ENVIRONMENT,
                    **environment,
                },
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.wait_for(lambda: "Ctrl-C stops" in self._output.read_text())

    def wait_for(self, holds) -> None:
        wait_until(holds, self._output.read_text)

    def ask(self, path: str, body: object = None) -> int:
        """The status of the answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/v1/{path}", data, {"content-type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    def call(self, num: int, **given: object) -> int:
        return self.ask("contracts/call", {"to": hex_address(num), **given})

    def call_without_end(self) -> int:
        return self.call(LOOPS, gas=GAS)

    def processes(self) -> list[int]:
        assert self.process
        names = [entry.name for entry in Path("/proc").iterdir()]
        return [int(name) for name in names if name.isdecimal() and _is_of(int(name), self.process)]

    def workers(self) -> list[int]:
        return [pid for pid in self.processes() if b"web3sim.processes.worker" in _command(pid)]

    def working(self) -> list[int]:
        """The processes that have worked on a call for a while."""
        workers = self.workers()
        stats = {pid: _stat(pid) for pid in workers}
        # Copies of the first process of each web server process, which has loaded everything.
        return [
            pid
            for pid, stat in stats.items()
            if stat and int(stat[1]) in workers and int(stat[11]) + int(stat[12]) > WORKING_TICKS
        ]


def _stat(pid: int) -> list[str]:
    """What /proc says of a process from its state on: see proc_pid_stat(5)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return []


def _is_of(pid: int, process: "subprocess.Popen[bytes]") -> bool:
    stat = _stat(pid)
    return bool(stat) and stat[0] != "Z" and int(stat[3]) == process.pid


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _is_served(client: socket.socket) -> bool:
    """Whether the server still has the other end of a connection."""
    (_, port), (_, server_port) = client.getsockname(), client.getpeername()
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ends = {
        tuple(address.partition(":")[2] for address in line[1:3]) for line in lines if line[3] == ESTABLISHED
    }
    return (f"{server_port:04X}", f"{port:04X}") in ends


@pytest.fixture
def node(ledger_tables: None, data_folder: Path) -> Iterator[Node]:
    build = Build()
    network(build)
    contract(build, FEW, ANSWERS)
    contract(build, LOOPS, ENDLESS)
    contract(build, MUCH, code(2_700_000, 0, "RETURN"))
    made = Node(data_folder)
    yield made
    if made.process and made.process.poll() is None:
        os.killpg(made.process.pid, signal.SIGKILL)
        made.process.wait()
    # The connections of the killed would keep the tables.
    made.wait_for(lambda: not made.processes())


def test_other_endpoints_answer_while_calls_take_all_they_can_and_nothing_is_left_after_them(node):
    node.start(**WITHOUT_END)
    assert node.call(FEW) == 200
    with ThreadPoolExecutor(20) as threads:
        calls = [threads.submit(node.call_without_end) for _ in range(20)]
        node.wait_for(node.working)
        assert [node.ask(f"blocks?limit={number}") for number in range(1, 11)] == [200] * 10
        assert not all(call.done() for call in calls)

        def all_ended() -> bool:
            for pid in node.working():
                os.kill(pid, signal.SIGKILL)
            return all(call.done() for call in calls)

        node.wait_for(all_ended)
        # Their processes died, or others were there first.
        assert {call.result() for call in calls} == {503}
    assert node.call(FEW) == 200

    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(node.call_without_end)
        node.wait_for(node.working)
        node.process.send_signal(signal.SIGTERM)
        assert node.process.wait(PATIENCE_SECONDS) == 0
        node.wait_for(lambda: not node.processes())
        assert call.exception() or call.result() == 503


def test_the_processes_of_a_web_server_share_their_limits(node):
    # So few that any machine asks for more.
    node.start(SVC_MIRROR_WEB3_THROTTLE_REQUESTSPERSECOND="5")
    began = time.monotonic()
    with ThreadPoolExecutor(8) as threads:
        statuses = list(threads.map(node.call, [FEW] * 200))
    passed = statuses.count(200)
    # A process that is about to start may refuse some.
    assert {200, 429} <= set(statuses) <= {200, 429, 503}
    # Five at once, and five for each second since.
    assert passed <= 5 + 5 * (time.monotonic() - began) + 1


def test_nothing_is_left_when_the_web_server_is_killed_in_the_middle_of_a_call(node):
    node.start(**WITHOUT_END)
    with ThreadPoolExecutor(1) as threads:
        threads.submit(node.call_without_end)
        node.wait_for(node.working)
        node.process.kill()
        node.process.wait()
        node.wait_for(lambda: not node.processes())


def test_a_client_that_takes_nothing_of_its_answer_is_let_go(node):
    node.start(SVC_MIRROR_WEB_STALLEDTIMEOUT="1s", SVC_MIRROR_WEB3_MAXRESULTSIZE="4096")
    body = json.dumps({"to": hex_address(MUCH)}).encode()
    head = (
        "POST /api/v1/contracts/call HTTP/1.1\r\nHost: node\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    # Of the answer little fits into what the kernel keeps for such a client.
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", node.port))
        assert _is_served(client)
        client.sendall(head.encode() + body)
        node.wait_for(lambda: not _is_served(client))
    assert node.call(FEW) == 200


STALLED_KINDS = [
    ("/api/v1/contracts/call", "application/json"),
    ("/api/v1/network/fees", "application/protobuf"),
    ("/admin/login/", "application/x-www-form-urlencoded"),
]


@pytest.fixture
def stalled(node: Node) -> Iterator[Callable[[int], list[socket.socket]]]:
    """Open so many connections that send the beginning of a body and no more."""
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
    # Nothing but being passed over can help the others.
    node.start(SVC_MIRROR_WEB_WORKERS="1", SVC_MIRROR_WEB_THREADS="2", SVC_MIRROR_WEB_BODYTIMEOUT="1h")
    assert node.call(FEW) == 200
    clients = stalled(MOST_READERS - 1)

    assert [node.ask(f"blocks?limit={number}") for number in range(1, 6)] == [200] * 5
    assert [node.call(FEW) for _ in range(5)] == [200] * 5
    assert all(_is_served(client) for client in clients)
    with connection.cursor() as cursor:
        # Those that wait keep no connection to the database.
        cursor.execute("select count(*) from pg_stat_activity where datname = current_database()")
        assert cursor.fetchone()[0] <= 2 + 2 + 1


def test_bodies_beyond_those_that_may_be_waited_for_are_refused_and_the_rest_goes_on(node, stalled):
    node.start(SVC_MIRROR_WEB_WORKERS="1", SVC_MIRROR_WEB_THREADS="2", SVC_MIRROR_WEB_BODYTIMEOUT="1h")
    stalled(MOST_READERS + 40)

    node.wait_for(lambda: node.call(FEW) == 503)
    assert [node.ask(f"blocks?limit={number}") for number in range(1, 6)] == [200] * 5


def test_a_body_that_does_not_come_in_time_is_not_waited_for(node, stalled):
    node.start(SVC_MIRROR_WEB_BODYTIMEOUT="1s")
    clients = stalled(6)

    node.wait_for(lambda: not any(_is_served(client) for client in clients))
    assert node.call(FEW) == 200


def test_a_web_server_with_filters_that_make_no_sense_does_not_start(data_folder):
    ran = subprocess.run(
        [sys.executable, "manage.py", "serve"],
        cwd=settings.BASE_DIR,
        env={
            "PATH": os.environ["PATH"],
            "PORT": str(Node(data_folder).port),
            "SVC_MIRROR_DATA": str(data_folder),
            "SVC_MIRROR_WEB3_THROTTLE_REQUEST": '[{"action": "DROP"}]',
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert ran.returncode == 2
    assert ran.stderr.startswith(
        "SVC_MIRROR_WEB3_THROTTLE_REQUEST can't be used: “DROP” is no action: choose "
    )
