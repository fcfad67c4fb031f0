"""Ledger ids that transactions publish."""

from typing import Any

import pytest

from tests.ledger.compose import FAIL_INVALID, Stream
from tests.ledger.ingest.load import load, load_in_any_batches, stored

pytestmark = pytest.mark.usefixtures("ledger_tables")

COLUMNS = "ledger_id, consensus_timestamp, history_proof_verification_key, node_contributions"


def publish(stream: Stream, ledger_id: bytes, key: bytes = b"key", **options: Any) -> int:
    contributions = [
        {"node_id": 3, "weight": 50, "history_proof_key": b"\xff\xfe"},
        {"node_id": 0, "weight": 40, "history_proof_key": b""},
    ]
    body = {
        "ledger_id": ledger_id,
        "history_proof_verification_key": key,
        "node_contributions": contributions,
    }
    return stream.happen("ledger_id_publication", body, **options)


CONTRIBUTIONS = [
    {"history_proof_key": "//4=", "node_id": 3, "weight": 50},
    {"history_proof_key": "", "node_id": 0, "weight": 40},
]


@pytest.mark.checklist("LID-01")
def test_the_last_publication_of_a_ledger_id_counts() -> None:
    stream = Stream()
    publish(stream, b"one")
    other = publish(stream, b"two")
    first = stream.block()
    at = publish(stream, b"one", b"newer key")

    load_in_any_batches(first, stream.block())

    assert stored("ledger", COLUMNS) == [
        (b"one", at, b"newer key", CONTRIBUTIONS),
        (b"two", other, b"key", CONTRIBUTIONS),
    ]
    assert stored("transaction", "type, entity_id") == [(77, None)] * 3


@pytest.mark.checklist("LID-01")
def test_a_failed_publication_is_no_ledger_id() -> None:
    stream = Stream()
    publish(stream, b"one", result=FAIL_INVALID)

    load(stream.block())

    assert stored("ledger", "ledger_id") == []
    assert stored("transaction", "type") == [(77,)]
