"""Which indexes can be used."""

import pytest
from django.db import connection

from mirror.core.db.reading import scans as module
from mirror.core.db.reading.scans import usable_indexes
from tests.build import START
from tests.contracts.api.rows import log, seconds

INDEXES = [f"contract_log__topic{place}_timestamp" for place in range(4)]


@pytest.fixture
def _forgotten():
    module.forget_indexes()
    yield
    module.forget_indexes()


@pytest.mark.django_db
@pytest.mark.usefixtures("_forgotten")
def test_an_index_that_is_missing_is_looked_for_again_later(monkeypatch):
    with connection.cursor() as cursor:
        cursor.execute(f"alter index {INDEXES[0]} rename to elsewhere")
        assert usable_indexes(INDEXES[:2]) == {INDEXES[1]}
        cursor.execute(f"alter index elsewhere rename to {INDEXES[0]}")
    assert usable_indexes(INDEXES[:2]) == {INDEXES[1]}

    monkeypatch.setattr(module, "_missing", dict.fromkeys(module._missing, 0.0))

    assert usable_indexes(INDEXES[:2]) == set(INDEXES[:2])


@pytest.mark.usefixtures("_forgotten")
@pytest.mark.parametrize("topics", ["topic0=97", "topic0=97&topic1=e801", "topic1=e801&topic3=06"])
@pytest.mark.parametrize("contract", ["", "/5001"])
def test_logs_are_found_by_topics_while_their_indexes_are_missing(api, topics, contract):
    log(START, 0, topic3=b"\6")
    log(START, 1, topic0=b"\x98")
    url = f"/api/v1/contracts{contract}/results/logs?timestamp=gte:{seconds(START)}"
    url += f"&timestamp=lt:{seconds(START + 5)}&{topics}"
    expected = api.get(url).json()
    assert len(expected["logs"]) == 1
    module.forget_indexes()
    with connection.cursor() as cursor:
        cursor.execute(f"drop index {', '.join(INDEXES)}")

    assert api.get(url).json() == expected
