"""An operator's way past a transaction that our own handlers can't take."""

from collections.abc import Iterator
from typing import Any

import pytest

from ledger.ingest import IngestError
from ledger.ingest.filters import InvalidFilter
from ledger.ingest.rows import registry
from mirror.core.values import timestamp
from mirror.core.values.hapi.transaction_types import NUMBERS
from mirror.demo.streams.record_files import Block
from mirror.models import SkippedTransaction
from mirror.node.health import status
from tests.ledger.compose import Stream, num, receipt
from tests.ledger.ingest.load import load, settings, stored

pytestmark = pytest.mark.usefixtures("ledger_tables")

TREASURY = 2


@pytest.fixture(autouse=True)
def _defect(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A handler of ours that fails for one kind of transaction."""
    registry.load_handlers()
    number = NUMBERS["CRYPTODELETE"]
    handlers = {**registry._on_success, number: [*registry._on_success[number], _fails]}
    monkeypatch.setattr(registry, "_on_success", handlers)
    yield


def _fails(item: Any, batch: Any) -> None:
    raise KeyError("no such thing")


def composed() -> tuple[Block, int]:
    """A block of three transactions, and when the one that can't be handled happened."""
    stream = Stream()
    stream.create(1001)
    body = {"deleteAccountID": num(1001), "transferAccountID": num(TREASURY)}
    at = stream.happen("cryptoDelete", body, transfers={1001: -5, TREASURY: 5})
    stream.happen("cryptoCreateAccount", {}, receipt(accountID=num(1002)))
    return stream.block(), at


def test_the_stream_stops_at_a_defect_and_names_file_time_type_cause_and_the_way_past_it() -> None:
    block, at = composed()

    with pytest.raises(IngestError) as raised:
        load(block)

    message, time = str(raised.value), timestamp.text(at)
    assert message.startswith(f"{block.name}: transaction 1 at {time} (CRYPTODELETE): ")
    assert "KeyError: 'no such thing'" in message
    assert f"SVC_MIRROR_IMPORTER_PARSER_SKIP={time}." in message
    assert stored("record_file", "index") == []


@pytest.mark.parametrize("as_text", [timestamp.text, str], ids=["seconds", "nanoseconds"])
def test_skipped_transaction_is_stored_with_its_transfers_and_shown_in_status(as_text: Any) -> None:
    block, at = composed()

    with settings(importer__parser__skip=("1.000000001", as_text(at))):
        load(block)

    assert stored("transaction", "index, type, entity_id") == [(0, 11, 1001), (1, 12, 1001), (2, 11, 1002)]
    assert stored("crypto_transfer", "consensus_timestamp, entity_id, amount") == [
        (at, TREASURY, 5),
        (at, 1001, -5),
    ]
    assert stored("entity", "id, deleted") == [(1001, False), (1002, False)]
    assert len(stored("transaction_hash", "hash")) == 2
    assert list(SkippedTransaction.objects.values_list()) == [(at, NUMBERS["CRYPTODELETE"], block.name)]
    assert status.read().sentence.endswith(
        "1 transaction was passed over, as importer.parser.skip says: CRYPTODELETE at "
        f"{timestamp.text(at)} in {block.name}. Only its hbar transfers are stored."
    )


def test_a_setting_that_is_no_time_is_refused() -> None:
    block, _ = composed()

    with settings(importer__parser__skip=("yesterday",)), pytest.raises(InvalidFilter) as raised:
        load(block)

    assert str(raised.value).startswith('SVC_MIRROR_IMPORTER_PARSER_SKIP: "yesterday" is not a time')
