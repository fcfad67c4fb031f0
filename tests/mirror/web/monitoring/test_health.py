"""GET /health/liveness, /health/readiness and /health/lag."""

import socket
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections

from mirror.node.health.checks import HealthCheck
from mirror.web.monitoring import health
from network.models import AddressBook
from tests.build import SECOND, START, Build
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.usefixtures("ledger_tables")

READINESS = "/health/readiness"


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Forget the judgement of a moment ago."""

    def forget() -> None:
        monkeypatch.setattr(health, "_health_check", HealthCheck(PATIENCE_SECONDS))

    forget()
    return forget


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A database that accepts connections and never says anything, as one that was stopped."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = {"HOST": "127.0.0.1", "PORT": str(listening.getsockname()[1])}
        monkeypatch.setitem(connections.settings, "default", connections.settings["default"] | address)
        yield listening


def test_a_node_is_alive_without_any_data(client):
    answer = client.get("/health/liveness")
    assert (answer.status_code, answer.content) == (200, b'{"status":"ok"}')


def test_a_node_is_ready_once_it_knows_the_networks_address_book(client, fresh):
    before = client.get(READINESS)
    assert (before.status_code, before.content) == (
        503,
        b'{"status":"error","reasons":["The network\'s address book is not loaded yet."]}',
    )

    AddressBook.objects.create(start_consensus_timestamp=1, file_id=102, node_count=0, file_data=b"")
    fresh()

    after = client.get(READINESS)
    assert (after.status_code, after.content) == (200, b'{"status":"ok"}')
    assert after.headers["cache-control"] == "no-store"


def test_the_lag_is_that_of_the_last_block(client, fresh, settings_of):
    settings_of({"clock.now": START / SECOND + 2.5})
    assert client.get("/health/lag").status_code == 503
    Build().block(7, end=START)
    fresh()

    assert client.get("/health/lag").json() == {
        "status": "ok",
        "seconds": 2.5,
        "block": {"number": 7, "timestamp": "1700000000.000000000"},
        "time": "2023-11-14 22:13:20 UTC",
    }


def test_a_database_that_never_answers_makes_the_node_not_ready(client, silent, monkeypatch):
    monkeypatch.setattr(health, "_health_check", HealthCheck())

    answer = client.get(READINESS)

    assert answer.status_code == 503
    assert answer.json()["reasons"] == ["The database does not answer: it has not answered within 1.5 s."]


@pytest.mark.parametrize("path", [READINESS, "/health/lag"])
def test_only_clients_that_may_read_the_metrics_are_told_why(client, settings_of, path):
    settings_of({"metrics.allowed": ("10.0.0.0/8",)})
    answers = {peer: client.get(path, REMOTE_ADDR=peer) for peer in ("10.1.2.3", "192.0.2.7")}

    assert {answer.status_code for answer in answers.values()} == {503}
    assert set(answers["10.1.2.3"].json()) == {"status", "reasons"}
    assert answers["192.0.2.7"].content == b'{"status":"error"}'


@pytest.mark.parametrize("path", ["/health/liveness", READINESS, "/health/lag"])
def test_only_reading_is_allowed(client, path):
    assert client.post(path).status_code == 405


def test_another_health_path_is_not_found(client):
    answer = client.get("/health/wealth")
    assert answer.status_code == 404
    assert answer.json() == {"_status": {"messages": [{"message": "Not found"}]}}
