"""Pseudorandom numbers and atomic batches."""

from typing import Any

import pytest

from mirror.values.hapi import Key
from tests.ledger.compose import INSUFFICIENT_PAYER_BALANCE, KEY, Stream, num, seconds
from tests.ledger.ingest.load import load, load_in_any_batches, stored

pytestmark = pytest.mark.usefixtures("ledger_tables")

BATCH_KEY = Key(**KEY)


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


def inner(stream: Stream, batch: int | None, payer: int, valid_start: int, nonce: int = 0) -> int:
    return stream.happen(
        "cryptoTransfer",
        record={"parent_consensus_timestamp": seconds(batch)} if batch else {},
        whole={
            "batch_key": BATCH_KEY,
            "transactionID": {
                "accountID": num(payer),
                "transactionValidStart": seconds(valid_start),
                "nonce": nonce,
            },
        },
    )


@pytest.mark.checklist("TX-15", "PARSE-05")
def test_a_batch_lists_payer_and_valid_start_of_its_transactions() -> None:
    stream = Stream()
    batch = stream.happen("atomic_batch", {"transactions": [b"1", b"2"]})
    first = inner(stream, batch, 1001, 5)
    inner(stream, first, 1001, 5, nonce=1)
    stream.happen("cryptoCreateAccount")
    inner(stream, batch, 1002, 6)
    empty = stream.happen("atomic_batch")
    block = stream.block()

    load_in_any_batches(block)

    assert stored("transaction", "consensus_timestamp, inner_transactions", "type = 74") == [
        (batch, [1001, 5, 1002, 6]),
        (empty, None),
    ]
    assert len(stored("transaction", "index")) == 6


@pytest.mark.checklist("TX-16")
def test_an_inner_transaction_without_its_batch_is_stored(caplog: pytest.LogCaptureFixture) -> None:
    stream = Stream()
    batch = stream.happen("atomic_batch")
    before = stream.block()
    inner(stream, batch, 1001, 5)

    load_in_any_batches(before, stream.block())

    assert stored("transaction", "type, inner_transactions") == [(14, None), (74, None)]
    assert "the batch it belongs to is not in its file" in caplog.text


def test_transactions_of_a_failed_batch_change_nothing() -> None:
    stream = Stream()
    batch = stream.happen("atomic_batch", result=391)
    stream.happen(
        "cryptoUpdateAccount",
        {"accountIDToUpdate": num(1001)},
        {"parent_consensus_timestamp": seconds(batch)},
    )

    load(stream.block())

    assert stored("entity", "id") == []
