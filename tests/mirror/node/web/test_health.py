"""GET /health/liveness and /health/readiness."""

import pytest

from network.models import AddressBook

pytestmark = pytest.mark.django_db


def test_a_node_is_alive_without_any_data(client):
    answer = client.get("/health/liveness")
    assert (answer.status_code, answer.content) == (200, b'{"status":"ok"}')


def test_a_node_is_ready_once_it_knows_the_networks_address_book(client):
    before = client.get("/health/readiness")
    assert (before.status_code, before.content) == (503, b'{"status":"error"}')

    AddressBook.objects.create(start_consensus_timestamp=1, file_id=102, node_count=0, file_data=b"")

    after = client.get("/health/readiness")
    assert (after.status_code, after.content) == (200, b'{"status":"ok"}')


def test_another_health_path_is_not_found(client):
    answer = client.get("/health/wealth")
    assert answer.status_code == 404
    assert answer.json() == {"_status": {"messages": [{"message": "Not found"}]}}
