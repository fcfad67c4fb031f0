"""GET /metrics: what it says of the node, and to whom."""

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from mirror.core import metrics
from mirror.core.processes import exits
from mirror.models import LoaderState
from mirror.node.health.gauges import Readings
from mirror.urls import VIEWS
from network.models import AddressBook
from tests import forking
from tests.build import SECOND, START, Build
from tests.ledger.ingest.tables import empty_tables
from tests.mirror.node.health.test_status import PROBLEM, loader
from tests.mirror.web.monitoring.test_health import silent
from tests.waiting import PATIENCE_SECONDS

__all__ = ["silent"]

pytestmark = pytest.mark.usefixtures("ledger_tables")


@pytest.fixture(autouse=True)
def no_report():
    """Remove what another test has reported; this process has its number before a test changes the folder."""
    metrics._number()
    metrics.report_path().unlink(missing_ok=True)


@pytest.fixture
def read(client: Client):
    """Return a function that returns the metrics after a report: name and labels -> value."""
    patient = Readings(PATIENCE_SECONDS)
    patient.read_sizes()

    def read(readings: Readings = patient) -> dict[str, float]:
        readings.report()
        answer = client.get("/metrics")
        assert answer.status_code == 200
        lines = answer.content.decode().splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        return {name: float(value) for name, value in pairs}

    return read


def test_a_node_that_follows_and_is_well(read, settings_of):
    settings_of({"clock.now": START / SECOND + 2.5})
    AddressBook.objects.create(start_consensus_timestamp=1, file_id=102, node_count=0, file_data=b"")
    Build().block(7, end=START)
    loader("stopped")

    said = read()

    expected = {
        "mirror_ready": 1,
        "mirror_database_up": 1,
        "mirror_stuck": 0,
        "mirror_following": 1,
        "mirror_lag_seconds": 2.5,
        "mirror_last_block": 7,
        'mirror_loader{activity="stopped"}': 1,
        'mirror_loader{activity="loading"}': 0,
    }
    assert {name: said[name] for name in expected} == expected
    assert said["mirror_database_bytes"] > 0
    assert said["mirror_last_block_timestamp_seconds"] == START / SECOND
    assert 'mirror_database_rows{table="transaction"}' in said


def test_block_nodes_of_a_loader_that_follows_them(read, settings_of):
    settings_of({"clock.now": START / SECOND})
    now = START // SECOND
    states = [
        {"name": "near:40840", "used": True, "latency_ms": 120, "set_aside_until": None},
        {"name": "far:40840", "used": False, "latency_ms": None, "set_aside_until": now + 1},
        {"name": "past:40840", "used": False, "latency_ms": None, "set_aside_until": now - 1},
    ]
    more = {"priority": 0, "failures": 0, "last_failure": ""}
    nodes = [each | more for each in states]
    loader("waiting", reported=timezone.now(), block_source={"now": "near:40840", "why": "", "nodes": nodes})

    said = {name: value for name, value in read().items() if name.startswith("mirror_block_node")}

    assert said == {
        'mirror_block_node{node="near:40840"}': 1,
        'mirror_block_node{node="far:40840"}': 0,
        'mirror_block_node{node="past:40840"}': 0,
        'mirror_block_node_latency_seconds{node="near:40840"}': 0.12,
        'mirror_block_node_set_aside{node="near:40840"}': 0,
        'mirror_block_node_set_aside{node="far:40840"}': 1,
        'mirror_block_node_set_aside{node="past:40840"}': 0,
    }


def test_a_node_that_is_stuck(read):
    loader("failed", problem=PROBLEM)

    said = read()

    assert (said["mirror_ready"], said["mirror_stuck"]) == (0, 1)
    assert said['mirror_loader{activity="failed"}'] == 1
    LoaderState.objects.all().delete()
    assert read()["mirror_stuck"] == 0


def test_without_a_database_that_answers_there_are_all_other_metrics(read, silent):
    said = read(Readings())

    assert (said["mirror_ready"], said["mirror_database_up"]) == (0, 0)
    assert "mirror_lag_seconds" not in said
    assert said['mirror_disk_free_bytes{of="data"}'] > 0


def test_a_scrape_does_not_connect_to_the_database(client, silent):
    assert client.get("/metrics").status_code == 200

    silent.setblocking(False)
    with pytest.raises(BlockingIOError):
        silent.accept()


def test_values_that_are_no_longer_known_vanish(read):
    Build().block(7, end=START)
    assert read()["mirror_last_block"] == 7
    empty_tables()

    assert "mirror_last_block" not in read()


def test_one_process_reports_and_another_one_once_that_has_died(monkeypatch, tmp_path):
    # This process has the lock of the folder in which it counts.
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))

    def report(ready: Any) -> None:
        Readings().report()
        ready.set()
        signal.pause()

    ready = multiprocessing.get_context("fork").Event()
    first = forking.begun(report, ready)
    assert ready.wait(PATIENCE_SECONDS)
    metrics.report_path().unlink()

    second = Readings(PATIENCE_SECONDS)
    second.report()
    assert not metrics.report_path().exists()
    forking.kill(first)
    second.report()
    assert "mirror_ready 0.0\n" in metrics.report_path().read_text()


_EVERY_ANSWER = """
import re
import django
django.setup()
from mirror.core import metrics
from mirror.core.metrics import grpc
from mirror.urls import VIEWS
from tests.mirror.web.requests.observed import answering, request_of

for path, view in VIEWS.items():
    method, path = "GET" if "get" in view.actions else "POST", re.sub("{.*?}", "1", path)
    for status in (200, 400, 404, 429, 503):
        answering(status)(request_of(f"/api/v1/{path}", method))
for service, method in (("ConsensusService", "subscribeTopic"), ("NetworkService", "getNodes")):
    for status in ("OK", "CANCELLED", "INVALID_ARGUMENT", "UNKNOWN"):
        labels = f"com.hedera.mirror.api.proto.{service}", method, "SERVER_STREAMING", status
        grpc.CALLS.labels(*labels).observe(1.0)
print(metrics.text().decode())
"""


def test_metrics_are_small_after_every_answer_of_every_endpoint(tmp_path):
    readings = Readings(PATIENCE_SECONDS)
    readings.read_sizes()
    readings.report()
    variables = {"DJANGO_SETTINGS_MODULE": "mirror.settings", "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", _EVERY_ANSWER], env=os.environ | variables, capture_output=True, check=True
    )

    assert done.stdout.count(b"mirror_http_request_seconds_count{") == len(VIEWS) + 8
    assert len(done.stdout) + metrics.report_path().stat().st_size < 100_000


def test_processes_that_count_and_those_that_died_are_there(read):
    metrics.start("web worker")
    exits.record("web worker 1 (process 77)", "ended")
    exits.record("web worker 2 (process 78)", "ended")
    exits.record("PostgreSQL's client backend (process 79)", "ended")

    said = read()

    assert said['mirror_deaths_last_hour{process="web worker"}'] == 2
    assert said['mirror_deaths_last_hour{process="PostgreSQL\'s client backend"}'] == 1
    assert said['mirror_processes{role="web worker"}'] == 1
    own = f'{{pid="{os.getpid()}",role="web worker"}}'
    assert said[f"mirror_process_processor_seconds{own}"] == pytest.approx(time.process_time(), abs=0.5)
    assert said[f"mirror_process_resident_bytes{own}"] > 1_000_000
    assert said[f"mirror_process_open_files{own}"] > 2


@pytest.mark.parametrize(
    ("allowed", "address", "status"),
    [
        (None, "127.0.0.1", 200),
        (None, "192.168.3.4", 200),
        (None, "203.0.113.5", 403),
        (("203.0.113.0/24",), "203.0.113.5", 200),
        ((), "127.0.0.1", 403),
    ],
)
def test_only_clients_that_the_setting_names_may_read(client, settings_of, allowed, address, status):
    if allowed is not None:
        settings_of({"metrics.allowed": allowed})

    answer = client.get("/metrics", REMOTE_ADDR=address)

    assert answer.status_code == status
    if status == 403:
        assert answer.content.decode() == (
            f"The metrics of this node are not for {address}: the setting metrics.allowed says for whom "
            "they are.\n"
        )
    else:
        assert re.search(r"^# HELP mirror_ingest_files_total ", answer.content.decode(), re.M)
        assert answer.headers["cache-control"] == "no-store"
