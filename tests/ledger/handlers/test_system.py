"""Freeze, system delete and undelete, and types that leave nothing but their transaction."""

from typing import Any

import pytest

from mirror.core.values.hapi import wire
from mirror.core.values.hapi.messages import TransactionBody, TransactionRecord
from mirror.demo.streams.record_files import transfer_list
from tests.ledger.compose import DAY, INSUFFICIENT_PAYER_BALANCE, Stream, receipt, seconds
from tests.ledger.ingest.load import load, stored
from tests.ledger.ingest.tables import contents

pytestmark = pytest.mark.usefixtures("ledger_tables")

HOUR = 3_600 * 10**9


@pytest.mark.checklist("NET-01")
def test_a_freeze_at_a_time_has_no_end() -> None:
    stream = Stream()
    at = stream.happen(
        "freeze",
        {
            "start_time": seconds(9 * 10**9),
            "update_file": {"fileNum": 150},
            "file_hash": b"hash",
            "freeze_type": 3,
        },
        payer=58,
    )

    load(stream.block())

    columns = "consensus_timestamp, type, start_time, end_time, file_id, file_hash, payer_account_id"
    assert stored("network_freeze", columns) == [(at, 3, 9 * 10**9, None, 150, b"hash", 58)]
    assert stored("transaction", "entity_id") == [(150,)]


@pytest.mark.checklist("NET-02")
@pytest.mark.parametrize(
    ("hours", "start", "end"),
    [((10, 30, 11, 45), 10.5, 11.75), ((23, 0, 1, 0), 23, 25), ((0, 0, 0, 0), 0, 0)],
    ids=["same day", "over midnight", "no time at all"],
)
def test_a_freeze_by_hours_is_on_its_day(hours: tuple[int, ...], start: float, end: float) -> None:
    stream = Stream()
    names = ("startHour", "startMin", "endHour", "endMin")
    at = stream.happen("freeze", dict(zip(names, hours, strict=True)))

    load(stream.block())

    midnight = at // DAY * DAY
    assert stored("network_freeze", "start_time, end_time, file_id, file_hash, type") == [
        (midnight + round(start * HOUR), midnight + round(end * HOUR), None, b"", 0)
    ]


def test_a_failed_freeze_writes_nothing() -> None:
    stream = Stream()
    stream.happen("freeze", result=INSUFFICIENT_PAYER_BALANCE)

    load(stream.block())

    assert stored("network_freeze", "type") == []


@pytest.mark.checklist("CON-28", "FIL-06")
@pytest.mark.parametrize(
    ("body", "entity", "kind"),
    [
        ({"fileID": {"fileNum": 1005}}, 1005, "FILE"),
        ({"contractID": {"contractNum": 1006}}, 1006, "CONTRACT"),
    ],
    ids=["file", "contract"],
)
def test_the_network_deletes_and_restores(body: dict[str, Any], entity: int, kind: str) -> None:
    stream = Stream()
    deleted = stream.happen("systemDelete", body)
    back = stream.happen("systemUndelete", body)

    load(stream.block())

    assert stored("transaction", "index, entity_id") == [(0, entity), (1, entity)]
    assert stored("entity_history", "id, type, deleted, timestamp_range") == [
        (entity, kind, True, f"[{deleted},{back})")
    ]
    assert stored("entity", "id, type, deleted, timestamp_range") == [(entity, kind, False, f"[{back},)")]


@pytest.mark.checklist("CON-28")
def test_a_deletion_without_target_writes_only_its_transaction() -> None:
    stream = Stream()
    stream.happen("systemDelete")

    load(stream.block())

    assert stored("transaction", "entity_id") == [(None,)]
    assert stored("entity", "id") == []


@pytest.mark.checklist("NET-04")
@pytest.mark.parametrize(
    "body",
    [
        TransactionBody(uncheckedSubmit={"transactionBytes": b"any"}),
        TransactionBody(atomic_batch={"transactions": [b"any"]}),
        TransactionBody(state_signature_transaction={"round": 5}),
        TransactionBody(hook_dispatch={}),
        TransactionBody(migration_root_hash_vote={}),
        TransactionBody.FromString(wire.length_delimited(901, b"any")),
    ],
    ids=["unchecked submit", "atomic batch", "state signature", "hook dispatch", "root hash vote", "unknown"],
)
def test_some_types_write_only_transaction_and_transfers(body: Any) -> None:
    stream = Stream()
    stream.transaction(
        body, TransactionRecord(transferList=transfer_list({1001: -1, 98: 1}), **receipt()), fee=0
    )

    load(stream.block())

    assert set(contents()) == {"transaction", "crypto_transfer", "transaction_hash", "record_file"}
    assert stored("transaction", "entity_id") == [(None,)]
