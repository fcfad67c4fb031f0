"""The conformance cases of the finished areas, against a server and a database of their own."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import psycopg
import pytest
from django.db import connection
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests import cluster
from tests.conformance.serve import CONTROL, NO_CACHES, ROOT, environment, variable
from tests.ledger.stream.source.servers import BUCKET, S3Server
from tests.node import manage
from tests.partitions import disconnect, drop_database
from tests.waiting import PATIENCE_SECONDS, PATIENT_ENVIRONMENT, wait_until

CONFORMANCE = Path(os.environ.get("MIRROR_CONFORMANCE") or ROOT / "../shared/conformance").resolve()
RUNNER = CONFORMANCE / "run_cases.py"

# The finished areas, as regular expressions on the ids of cases.
AREAS = (
    r"^accounts/[^{]",
    r"^accounts/\{id\}/[^/]+$",
    r"^accounts/\{id\}/(airdrops|allowances|hooks|nfts|rewards|tokens)",
    *(
        "^balances",
        "^blocks",
        "^contracts",
        "^network",
        "^route",
        "^schedules",
        "^tokens",
        "^topics",
        "^transactions",
    ),
)
STATE_PROOFS = (r"^transactions/\{id\}/stateproof/",)
# Only the cases with these ids, as regular expressions, for those who work on a part.
ONLY = os.environ.get("MIRROR_CONFORMANCE_ONLY", "").split()

WRONG = (
    # Its schedule and its rate have expired years before their files, and it expects them to count.
    "^network/fees/three-functions$",
    # It expects new serials to start at 1 although the token has some: the tables of the original lack
    # the lastUsedSerialNumber from which the network's TokenMintHandler goes on.
    "^contracts/call/system/hts-mint-nft$",
    # Its file of call data is created after the transaction, and it expects the content all the same.
    r"^contracts/\{id\}/results/\{id\}/populated-eth-data-func-params-from-filedata",
    # It expects names of accounts with shard and realm to be refused, which accounts/{id} takes.
    "^balances/invalid-param-values$",
    # They expect no gas consumed, instead of 0, of transactions that never ran.
    r"^contracts/results/\{id\}/failed-ethereum-transaction-with-contract-result-with-nullable-to",
    r"^contracts/results/\{id\}/failed-ethereum-transaction-with-default-contract-result",
    # It expects FAIL_INVALID for an empty list after another dissociation in the same call. The network's
    # TokenDissociateFromAccountHandler accepts it: its first run leaves the account the head token -1, which
    # the original fails to look up in its tables.
    "^contracts/call/system/hts-dissociate-2$",
)

DISTRIBUTED = {
    variable(setting): json.dumps(value) for setting, value in cluster.SETTINGS.items() if setting != "db.url"
}

pytestmark = pytest.mark.skipif(not RUNNER.exists(), reason="no conformance cases (MIRROR_CONFORMANCE)")


@pytest.fixture
def database(transactional_db: None) -> Iterator[dict[str, str]]:
    """Yield connection parameters of a copy of the tests' database; on a cluster, of an empty one."""
    if cluster.URL:
        yield from _distributed()
        return
    parameters = connection.get_connection_params()
    connection.close()
    names = ("user", "password", "host", "port")
    server = {name: str(parameters[name]) for name in names if parameters.get(name)}
    original = parameters["dbname"]
    copy = f"{original}_conformance"
    with psycopg.connect(make_conninfo("", **server, dbname="postgres"), autocommit=True) as admin:
        drop_database(admin.cursor(), copy)
        disconnect(admin.cursor(), original)
        admin.execute(
            sql.SQL("create database {} template {}").format(sql.Identifier(copy), sql.Identifier(original))
        )
        yield {**server, "dbname": copy}
        drop_database(admin.cursor(), copy)


def _distributed() -> Iterator[dict[str, str]]:
    name = f"{connection.get_connection_params()['dbname']}_conformance"
    database = conninfo_to_dict(cluster.make(name))
    parameters = {key: str(value) for key, value in database.items()}
    for command in (["migrate", "--verbosity", "0"], ["distribute"]):
        done = manage(*command, DATABASE_URL=_url(parameters), **DISTRIBUTED)
        assert done.returncode == 0, done.stderr
    yield parameters
    cluster.drop(name)


class Server(NamedTuple):
    address: str
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text()


@pytest.fixture
def bucket() -> Iterator[str]:
    """Yield the address of a store with the stream files of the cases."""
    with S3Server(CONFORMANCE / "rest/fixtures/stream-files") as store:
        yield store.endpoint


@pytest.fixture
def server(database: dict[str, str], bucket: str, tmp_path: Path) -> Iterator[Server]:
    """Yield a web server that reads the database and is configured by the runner, case by case."""
    port = _free_port()
    made = Server(f"http://127.0.0.1:{port}", tmp_path / "server.log")
    with made.log.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.conformance.serve", "tests.conformance.control:application"],
            cwd=ROOT,
            env={
                **os.environ,
                **PATIENT_ENVIRONMENT,
                **(DISTRIBUTED if cluster.URL else {}),
                "PORT": str(port),
                "DATABASE_URL": _url(database),
                variable("rest.stateproof.enabled"): "true",
                variable("rest.stateproof.streams.bucketName"): BUCKET,
                variable("rest.stateproof.streams.endpointOverride"): bucket,
                variable("rest.stateproof.streams.httpOptions.timeout"): f"{PATIENCE_SECONDS}s",
            },
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until(lambda: process.poll() is not None or _listens(port), lambda: made.said)
        assert process.poll() is None, made.said
        yield made
    finally:
        process.terminate()
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


# The mark makes pytest-django make the tests' database, even if no other test of the run needs it.
@pytest.mark.django_db(transaction=True)
def test_every_case_of_the_finished_areas_passes(
    database: dict[str, str], server: Server, tmp_path: Path
) -> None:
    cases = _cases(database, server, tmp_path / "newer.json", "newer", ONLY or AREAS)
    # The original has dropped state proofs in the newer release.
    cases += _cases(database, server, tmp_path / "older.json", "0.145", STATE_PROOFS)
    assert cases
    skipped = {case["reason"] for case in cases if case["outcome"] == "skip"}
    assert ONLY or not skipped
    failed = [case for case in cases if case["outcome"] not in ("pass", "skip")]
    assert not failed, "\n".join(map(_told, failed))


def _cases(
    database: dict[str, str], server: Server, report: Path, release: str, areas: Sequence[str]
) -> list[dict[str, Any]]:
    """Run the cases of a release in these areas; return them with their outcomes."""
    # The runner fills distributed tables and others in one transaction.
    options = {"options": "-c citus.multi_shard_modify_mode=sequential"} if cluster.URL else {}
    runner = subprocess.run(
        [
            *(sys.executable, str(RUNNER), "--quiet", "--prepare-db"),
            *("--base-url", server.address, "--control-url", server.address + CONTROL),
            *("--dsn", make_conninfo("", **database, **options), "--report", str(report)),
            *("--enable", "opcodes", "--enable", "system-contracts", "--enable", "stateproof"),
            *("--timeout", str(PATIENCE_SECONDS), "--release", release),
            *(part for area in areas for part in ("--filter", area)),
            *(part for area in WRONG for part in ("--exclude", area)),
        ],
        capture_output=True,
        text=True,
    )
    if ONLY and "no case selected" in runner.stderr + runner.stdout:
        return []
    assert report.exists(), f"{runner.stdout[-5000:]}\n{runner.stderr[-2000:]}\n{server.said[-2000:]}"
    cases: list[dict[str, Any]] = json.loads(report.read_text())["cases"]
    return cases


def _told(case: dict[str, Any]) -> str:
    """What a case expected, and what came."""
    problems = [
        f"  {request['url']}: {problem}" for request in case["requests"] for problem in request["problems"]
    ]
    return "\n".join([f"{case['id']} {case.get('reason', '')}", *problems])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _url(database: dict[str, str]) -> str:
    """Return the address in the form of DATABASE_URL, where a host may be a folder."""
    others = {name: text for name, text in database.items() if name != "dbname"}
    return f"postgresql:///{database['dbname']}?{urlencode(others)}"


def test_features_of_the_runner_become_settings() -> None:
    changed = environment(
        {
            "CONFORMANCE_CONFIG": '{"response.limit.max": 4, "query.bindTimestampRange": true,'
            ' "query.maxTransactionsTimestampRange": "365d"}',
            "CONFORMANCE_NOW": "1234567890.5",
            "PATH": "/bin",
        }
    )
    assert changed == {
        "CONFORMANCE_CONFIG": changed["CONFORMANCE_CONFIG"],
        "CONFORMANCE_NOW": "1234567890.5",
        "PATH": "/bin",
        "PORT": "8000",
        **NO_CACHES,
        "SVC_MIRROR_REST_RESPONSE_ACCESSLIST": "array",
        "SVC_MIRROR_REST_RESPONSE_LIMIT_MAX": "4",
        "SVC_MIRROR_REST_QUERY_BINDTIMESTAMPRANGE": "true",
        "SVC_MIRROR_REST_QUERY_MAXTRANSACTIONSTIMESTAMPRANGE": "365d",
        "SVC_MIRROR_CLOCK_NOW": "1234567890.5",
    }
