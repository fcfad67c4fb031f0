"""The transactions of an atomic batch."""

import pytest

from mirror.core.values.hapi.messages import Key
from tests.ledger.compose import KEY, Stream, num, seconds
from tests.ledger.ingest.load import load, load_in_any_batches, stored

pytestmark = pytest.mark.usefixtures("ledger_tables")

BATCH_KEY = Key(**KEY)


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
    assert "the atomic batch it belongs to is not in its file" in caplog.text


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
