"""A web server as an operator runs it, on the tests' database, and contracts to call."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

import psutil
import pytest
from django.db import connection

from mirror.core import config
from mirror.core.db.distribution import is_distributed
from mirror.core.processes import process_table
from tests.build import Build
from tests.node import Node
from tests.reading import make_reader
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.web3sim.engine.world import code
from tests.web3sim.rows import ANSWERS, ENDLESS, contract, hex_address, network

FEW, LOOPS, MUCH = 5201, 5202, 5203
# With so much gas no loop ends by itself.
GAS = 10**13
UNBOUNDED = {"SVC_MIRROR_WEB3_EVM_MAXGASLIMIT": str(GAS), "SVC_MIRROR_WEB3_THROTTLE_GASUNIT": str(GAS)}
# A call this long is none of the few others that its process may have answered.
WORKING_SECONDS = 0.5


class ServingNode(Node):
    """`manage.py serve` on the tests' database, which its web server can only read."""

    def begin(self, *command: str, **environment: str) -> None:
        parameters = connection.get_connection_params()
        names = ("user", "password", "host", "port")
        others = urlencode({name: str(parameters[name]) for name in names if parameters.get(name)})
        url = f"postgresql:///{parameters['dbname']}?{others}"
        # The role has no password, which a server of another machine would ask for.
        role = "" if config.value("db.url") else make_reader()
        environment = {"SVC_MIRROR_DB_DISTRIBUTED": str(is_distributed()).lower(), **environment}
        super().begin("serve", DATABASE_URL=url, SVC_MIRROR_DB_READER=role, **environment)

    def ask(self, path: str, body: object = None) -> int:
        """Return the status of the answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/v1/{path}", data, {"content-type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    def call(self, num: int, **fields: object) -> int:
        return self.ask("contracts/call", {"to": hex_address(num), **fields})

    def call_without_end(self) -> int:
        return self.call(LOOPS, gas=GAS)

    def workers(self) -> list[int]:
        return [pid for pid in self.processes() if "mirror/simulation" in process_table.command(pid)]

    def working(self) -> list[int]:
        """Return the processes that have worked on a call for a while."""
        workers = self.workers()
        working = []
        for pid in workers:
            with suppress(psutil.Error):
                process = psutil.Process(pid)
                times = process.cpu_times()
                # Copies of the first process of each web server process, which has loaded everything.
                if process.ppid() in workers and times.user + times.system > WORKING_SECONDS:
                    working.append(pid)
        return working


@pytest.fixture
def serving_node(ledger_tables: None, data_folder: Path) -> Iterator[ServingNode]:
    """Yield a web server that the test starts, on a database with contracts to call."""
    build = Build()
    network(build)
    contract(build, FEW, ANSWERS)
    contract(build, LOOPS, ENDLESS)
    contract(build, MUCH, code(2_700_000, 0, "RETURN"))
    node = ServingNode(data_folder)
    yield node
    node.kill()
    # The connections of killed processes would lock the tables.
    if node.process:
        wait_until(lambda: not node.processes(), lambda: node.said)
