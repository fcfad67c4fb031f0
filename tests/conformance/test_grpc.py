"""The conformance cases of the gRPC API, against a node with the demo network."""

import subprocess
import sys

import pytest

from mirror.node.postgres.cluster import DATABASE, ROLE
from mirror.node.postgres.installation import PORT
from tests.conformance.test_conformance import CONFORMANCE
from tests.node import Node, free_port

RUNNER = CONFORMANCE / "grpc" / "cases.py"
# It expects the stakes of the database that it was recorded with.
WRONG = "nodes: a book of 32, content of the first 4"


@pytest.mark.skipif(not RUNNER.exists(), reason=f"no conformance cases in {CONFORMANCE} (MIRROR_CONFORMANCE)")
def test_every_case_of_grpc_passes(node: Node) -> None:
    port = free_port()
    node.start("up", SVC_MIRROR_GRPC_PORT=str(port))
    database = f"host={node.server.paths.socket} port={PORT} user={ROLE} dbname={DATABASE}"

    done = subprocess.run(
        [sys.executable, RUNNER, f"127.0.0.1:{port}", database, f"--match=^(?!{WRONG})", "--jobs=4"],
        capture_output=True,
        text=True,
    )

    lines = done.stdout.splitlines()
    differing = "\n".join(line for line in lines if line.startswith(("DIFF", "      expected")))
    assert lines[-1:] == ["106 cases, 0 differ"], differing or done.stderr
