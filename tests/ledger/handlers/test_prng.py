"""Pseudorandom numbers."""

from typing import Any

import pytest

from tests.ledger.compose import INSUFFICIENT_PAYER_BALANCE, Stream
from tests.ledger.ingest.load import load, stored

pytestmark = pytest.mark.usefixtures("ledger_tables")


@pytest.mark.checklist("NET-03")
@pytest.mark.parametrize(
    ("body", "record", "expected"),
    [
        ({}, {"prng_bytes": bytes(48)}, (0, bytes(48), None)),
        ({"range": 10}, {"prng_number": 7}, (10, None, 7)),
        ({"range": 10}, {"prng_number": 0}, (10, None, 0)),
    ],
    ids=["bytes", "number", "zero"],
)
def test_random_bytes_or_a_number_are_stored(
    body: dict[str, Any], record: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    stream = Stream()
    at = stream.happen("util_prng", body, record, payer=1001)

    load(stream.block())

    assert stored("prng", "range, prng_bytes, prng_number") == [expected]
    assert stored("prng", "consensus_timestamp, payer_account_id") == [(at, 1001)]


@pytest.mark.checklist("NET-03")
@pytest.mark.parametrize(
    ("record", "result"), [({}, 22), ({"prng_number": 7}, INSUFFICIENT_PAYER_BALANCE)], ids=["none", "failed"]
)
def test_without_a_number_there_is_no_row(record: dict[str, Any], result: int) -> None:
    stream = Stream()
    stream.happen("util_prng", {}, record, result=result)

    load(stream.block())

    assert stored("prng", "range") == []
