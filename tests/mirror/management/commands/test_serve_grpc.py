"""The gRPC server of a node, as an operator runs it and SDKs use it: real processes, stopped and killed."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from mirror.core.processes import process_table
from mirror.core.values.hapi import messages as hapi
from mirror.node.postgres.cluster import DATABASE
from mirror.node.postgres.installation import PORT
from tests.grpc_client import GET_NODES, Client, Stream
from tests.node import ROOT, Node, free_port, kill
from tests.waiting import wait_until

AWAY = ("UNAVAILABLE", "Error querying the data source. Please retry later")
TOPIC = (
    "insert into entity (id, num, realm, shard, type, timestamp_range) "
    "values (900, 900, 0, 0, 'TOPIC', '[0,)')"
)
MESSAGE = (
    "insert into topic_message (topic_id, sequence_number, consensus_timestamp, message, running_hash) "
    "values (900, %s, %s, %s, '')"
)
# Names a folder with the SDKs of languages; of each, the file, what is around the lines of the page, and the
# command.
SDKS = "MIRROR_SDKS"
_JAVA = """import com.hedera.hashgraph.sdk.*;
import java.time.Instant;
import java.util.*;

class Main {
    public static void main(String[] arguments) throws Exception {
%s
        Thread.sleep(3_600_000);
    }
}
"""
PROGRAMS = {
    "JavaScript": ("main.js", "%s", ["node", "main.js"]),
    "Java": ("Main.java", _JAVA, ["java", "-cp", "lib/*", "Main.java"]),
}
SHUTDOWN = ("UNAVAILABLE", "The server is shutting down. Please retry later")


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def client(port: int) -> Iterator[Client]:
    client = Client(port)
    yield client
    client.channel.close()


def session(node: Node) -> "psycopg.Connection[Any]":
    return psycopg.connect(
        host=str(node.server.paths.socket), port=PORT, user="mirror_node", dbname=DATABASE, autocommit=True
    )


def largest_topic(node: Node) -> tuple[int, list[tuple[int, str]]]:
    """Return the topic with the most messages, and their numbers and contents in hex."""
    with session(node) as opened:
        (topic,) = opened.execute(
            "select topic_id from topic_message group by topic_id order by count(*) desc limit 1"
        ).fetchone() or (0,)
        rows = opened.execute(
            "select sequence_number, encode(message, 'hex') from topic_message where topic_id = %s "
            "order by sequence_number",
            [topic],
        ).fetchall()
        return topic, rows


def grpc_server(node: Node) -> int:
    """Return the process of the gRPC server; 0 without one."""
    found = [pid for pid in node.processes() if process_table.command(pid).strip() == "mirror/gRPC-server"]
    return found[0] if found else 0


def is_other(node: Node, gone: set[int]) -> bool:
    return grpc_server(node) not in gone


def nodes(client: Client) -> Stream:
    query = hapi.AddressBookQuery(file_id=hapi.FileID(fileNum=102)).SerializeToString()
    return client.call(GET_NODES, query, hapi.NodeAddress, wait_for_ready=True)


def test_a_node_serves_sdks_and_starts_its_killed_server_again(node: Node, port: int, client: Client) -> None:
    node.start("up", SVC_MIRROR_GRPC_PORT=str(port))
    assert f"topics and nodes over gRPC at 127.0.0.1:{port}\n" in node.said
    topic, rows = largest_topic(node)

    program = Path(__file__).with_name("sdk.py")
    done = subprocess.run(
        [sys.executable, program, f"127.0.0.1:{port}", f"0.0.{topic}", str(len(rows))],
        capture_output=True,
        text=True,
        check=True,
    )
    *received, outcome = map(json.loads, done.stdout.splitlines())
    assert outcome == ["complete"]
    # Chunks are put together.
    assert "".join(content for _, content in received) == "".join(content for _, content in rows)

    for number in (signal.SIGKILL, signal.SIGTERM):
        stream = client.subscribe(topic)
        stream.has(len(rows))
        before = grpc_server(node)
        os.kill(before, number)
        assert stream.ended()[0] == "UNAVAILABLE"
        gone = {0, before}
        node.wait_for(partial(is_other, node, gone))
        again = nodes(client)
        assert again.ended() == ("OK", "")
        assert [each.nodeId for each in again.messages] == [0, 1, 2, 3]

    said = node.run("status", SVC_MIRROR_GRPC_PORT=str(port)).stdout
    assert f"gRPC server   answers at 127.0.0.1:{port}" in said
    node.wait_for(lambda: b'mirror_processes{role="gRPC server"} 1' in node.get("/metrics")[1])
    # Each process writes its counts every few seconds.
    node.wait_for(lambda: b"grpc_server_requests_received_messages_total{" in node.get("/metrics")[1])
    stream = client.subscribe(topic)
    stream.has(len(rows))
    assert node.stop(signal.SIGTERM) == 0
    assert stream.ended() == SHUTDOWN
    assert node.processes() == []


def test_a_database_that_hangs_is_an_outage_for_new_calls_alone(
    node: Node, tables: None, port: int, client: Client
) -> None:
    node.start("serve-grpc", SVC_MIRROR_GRPC_PORT=str(port), SVC_MIRROR_DB_SILENTAFTER="0.5s")
    assert f"Serving gRPC at 127.0.0.1:{port} - Ctrl-C stops." in node.said
    with session(node) as opened:
        opened.execute(TOPIC)
        opened.execute(MESSAGE, (1, 1, b""))
    stream = client.subscribe(900, limit=2)
    stream.has(1)

    servers = node.server.pids()
    for pid in servers:
        os.kill(pid, signal.SIGSTOP)
    try:
        assert client.subscribe(901).ended() == AWAY
        assert nodes(client).ended() == AWAY
        assert stream.code is None
    finally:
        for pid in servers:
            os.kill(pid, signal.SIGCONT)
    wait_until(lambda: client.subscribe(901).ended() == ("NOT_FOUND", "0.0.901 does not exist"))
    with session(node) as opened:
        opened.execute(MESSAGE, (2, 2, b""))

    assert stream.ended() == ("OK", "")
    assert stream.numbers == [1, 2]
    assert node.stop(signal.SIGINT) == 0


def test_messages_go_on_after_a_crash_of_postgresql(
    node: Node, tables: None, port: int, client: Client
) -> None:
    node.start("serve-grpc", SVC_MIRROR_GRPC_PORT=str(port))
    with session(node) as opened:
        opened.execute(TOPIC)
        opened.execute(MESSAGE, (1, 1, b""))
        stream = client.subscribe(900, limit=4)
        stream.has(1)
        opened.execute(MESSAGE, (2, 2, b""))
        kill(node.server.pid())
    node.wait_for(lambda: "PostgreSQL runs again." in node.said)
    with session(node) as opened:
        for number in (3, 4):
            opened.execute(MESSAGE, (number, number, b""))

    assert stream.ended() == ("OK", "")
    assert stream.numbers == [1, 2, 3, 4]
    assert node.stop(signal.SIGTERM) == 0


def test_serve_grpc_needs_a_port_that_is_free(node: Node, tables: None, port: int) -> None:
    done = node.run("serve-grpc")
    assert (done.returncode, done.stderr) == (
        1,
        "The gRPC API has no port: name one, such as SVC_MIRROR_GRPC_PORT=5600.\n",
    )
    done = node.run("serve-grpc", SVC_MIRROR_GRPC_PORT=str(port), SVC_MIRROR_GRPC_TLS_KEY="key.pem")
    assert "TLS of the gRPC API needs both" in done.stderr
    assert "The gRPC server stopped by itself; its output above says why." in done.stderr


@pytest.mark.parametrize("language", PROGRAMS)
@pytest.mark.skipif(SDKS not in os.environ, reason=f"{SDKS} names no folder with SDKs of other languages")
def test_programs_of_the_page_print_the_messages_of_a_topic(
    node: Node, tables: None, port: int, tmp_path: Path, language: str
) -> None:
    """Run it in the folder of its language, where its SDK is installed.

    `$MIRROR_SDKS/javascript` has it from `npm install @hiero-ledger/sdk`, `$MIRROR_SDKS/java/lib` from Maven
    (com.hedera.hashgraph:sdk and io.grpc:grpc-netty-shaded, by dependency:copy-dependencies).
    """
    node.start("serve-grpc", SVC_MIRROR_GRPC_PORT=str(port))
    with session(node) as opened:
        opened.execute(TOPIC)
        for number in (1, 2):
            opened.execute(MESSAGE, (number, number, f"message {number}".encode()))
    page = (ROOT / "mirror/docs/grpc.md").read_text()
    (indented,) = re.findall(rf"^{language} \(`.*`\):\n\n((?:    .*\n|\n)+)", page, re.M)
    file, around, command = PROGRAMS[language]
    program = around % textwrap.dedent(indented)
    folder = Path(os.environ[SDKS], language.lower())
    folder.joinpath(file).write_text(program.replace("0.0.1215", "0.0.900").replace("5600", str(port)))
    said = tmp_path / "said"
    with said.open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output, start_new_session=True)
        try:
            wait_until(lambda: "message 2" in said.read_text() or process.poll() is not None, said.read_text)
            assert said.read_text().split("\n")[-3:] == ["message 1", "message 2", ""]
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
