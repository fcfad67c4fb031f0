"""Schedules, their execution, and signatures."""

from typing import Any

import pytest

from mirror.core.values.hapi import wire
from mirror.core.values.hapi.messages import Key, SignatureMap, SignaturePair, TransactionBody
from tests import cluster
from tests.ledger.compose import INSUFFICIENT_PAYER_BALANCE, KEY, Stream, num, receipt, seconds
from tests.ledger.ingest.load import load, load_in_any_batches, settings, stored

pytestmark = pytest.mark.usefixtures("ledger_tables")

SCHEDULE = {"scheduleNum": 900}
IDENTICAL_SCHEDULE_ALREADY_CREATED = 210
COLUMNS = "schedule_id, consensus_timestamp, creator_account_id, payer_account_id, executed_timestamp"


def create(stream: Stream, body: dict[str, Any] | None = None, **options: Any) -> int:
    record = receipt(scheduleID=SCHEDULE) | options.pop("record", {})
    return stream.happen("scheduleCreate", body, record, **{"payer": 1001} | options)


@pytest.mark.checklist("SCH-01", "SCH-03")
def test_a_new_schedule_is_an_entity_and_a_schedule() -> None:
    scheduled = {"memo": "later", "cryptoDelete": {"deleteAccountID": num(5)}}
    stream = Stream()
    at = create(
        stream,
        {
            "adminKey": KEY,
            "memo": "mine",
            "scheduledTransactionBody": scheduled,
            "expiration_time": {"seconds": 1 << 60},
            "wait_for_expiry": True,
        },
    )

    load(stream.block())

    columns = "id, type, key, public_key, memo, created_timestamp, deleted"
    assert stored("entity", columns) == [
        (900, "SCHEDULE", Key(**KEY).SerializeToString(), KEY["ed25519"].hex(), "mine", at, False)
    ]
    body = TransactionBody(scheduleCreate={"scheduledTransactionBody": scheduled}).scheduleCreate
    assert stored("schedule", "transaction_body, expiration_time, wait_for_expiry") == [
        (body.scheduledTransactionBody.SerializeToString(), (1 << 63) - 1, True)
    ]


@pytest.mark.checklist("SCH-02")
@pytest.mark.parametrize(("payer", "expected"), [({}, 1001), ({"payerAccountID": num(1002)}, 1002)])
def test_the_payer_is_the_creator_unless_another_is_named(payer: dict[str, Any], expected: int) -> None:
    stream = Stream()
    at = create(stream, payer)

    load(stream.block())

    assert stored("schedule", COLUMNS) == [(900, at, 1001, expected, None)]
    assert stored("schedule", "expiration_time, wait_for_expiry") == [(None, False)]


@pytest.mark.checklist("SCH-02")
@pytest.mark.parametrize("kind", ["ethereumTransaction", "contractCall"])
def test_the_creator_is_the_sender_of_an_ethereum_transaction_that_scheduled(kind: str) -> None:
    stream = Stream()
    parent = stream.happen(
        kind, {}, {"contractCallResult": {"gasUsed": 5, "sender_id": num(1007)}}, payer=1001
    )
    at = create(stream, record={"parent_consensus_timestamp": seconds(parent)})

    load(stream.block())

    creator = 1007 if kind == "ethereumTransaction" else 1001
    assert stored("schedule", COLUMNS) == [(900, at, creator, creator, None)]


@pytest.mark.checklist("SCH-04")
def test_an_identical_schedule_writes_only_its_transaction() -> None:
    stream = Stream()
    create(stream, result=IDENTICAL_SCHEDULE_ALREADY_CREATED)

    load(stream.block())

    assert stored("transaction", "entity_id") == [(900,)]
    assert stored("schedule", "schedule_id") == []
    assert stored("entity", "id") == []


@pytest.mark.checklist("SCH-05")
@pytest.mark.parametrize("result", [22, INSUFFICIENT_PAYER_BALANCE])
def test_a_schedule_is_executed_whatever_the_result(result: int) -> None:
    stream = Stream()
    at = create(stream)
    first = stream.block()
    executed = stream.happen("cryptoTransfer", record={"scheduleRef": SCHEDULE}, result=result)

    load_in_any_batches(first, stream.block())

    assert stored("schedule", COLUMNS) == [(900, at, 1001, 1001, executed)]
    assert stored("transaction", "consensus_timestamp", "scheduled") == [(executed,)]


@pytest.mark.checklist("SCH-05")
def test_the_execution_of_an_unknown_schedule_is_dropped() -> None:
    stream = Stream()
    stream.happen("cryptoTransfer", record={"scheduleRef": SCHEDULE})

    load(stream.block())

    assert stored("schedule", "schedule_id") == []


def test_schedules_are_not_stored_if_not_configured() -> None:
    stream = Stream()
    create(stream)
    stream.happen("cryptoTransfer", record={"scheduleRef": SCHEDULE})

    with settings(persist__schedules=False):
        load(stream.block())

    assert stored("schedule", "schedule_id") == []
    assert stored("entity", "id") == [(900,)]


@pytest.mark.checklist("SCH-06")
def test_a_deletion_changes_only_the_entity() -> None:
    stream = Stream()
    created = create(stream)
    at = stream.happen("scheduleDelete", {"scheduleID": SCHEDULE})

    load(stream.block())

    assert stored("entity", "id, deleted, timestamp_range") == [(900, True, f"[{at},)")]
    assert stored("schedule", COLUMNS) == [(900, created, 1001, 1001, None)]


@pytest.mark.checklist("SCH-07", "ENC-08")
def test_signatures_of_create_and_sign_are_stored_once_per_prefix() -> None:
    pairs = [
        SignaturePair(pubKeyPrefix=b"a", ed25519=b"1"),
        SignaturePair(pubKeyPrefix=b"a", ed25519=b"again"),
        SignaturePair(pubKeyPrefix=b"b", ECDSA_secp256k1=b"2"),
        SignaturePair(pubKeyPrefix=b"c", contract=b"3"),
        SignaturePair(pubKeyPrefix=b"d", RSA_3072=b"4"),
        SignaturePair(pubKeyPrefix=b"e", ECDSA_384=b"5"),
    ]
    signatures = SignatureMap(sigPair=pairs)
    stream = Stream()
    created = create(stream, signatures=SignatureMap(sigPair=pairs[:1]))
    signed = stream.happen("scheduleSign", {"scheduleID": SCHEDULE}, signatures=signatures)
    stream.happen(
        "scheduleSign", {"scheduleID": SCHEDULE}, signatures=signatures, result=INSUFFICIENT_PAYER_BALANCE
    )
    stream.happen("scheduleDelete", {"scheduleID": SCHEDULE}, signatures=signatures)

    load(stream.block())

    columns = "consensus_timestamp, entity_id, public_key_prefix, signature, type"
    assert stored("transaction_signature", columns) == [
        (created, 900, b"a", b"1", 3),
        (signed, 900, b"a", b"1", 3),
        (signed, 900, b"b", b"2", 6),
        (signed, 900, b"c", b"3", 2),
        (signed, 900, b"d", b"4", 4),
        (signed, 900, b"e", b"5", 5),
    ]


@pytest.mark.checklist("SCH-07", "SCH-08")
def test_a_signature_of_unknown_type_does_not_hide_another_of_its_prefix() -> None:
    pairs = [{"pubKeyPrefix": b"a"}, {"pubKeyPrefix": b"a", "ed25519": b"1"}]
    pairs.append({"pubKeyPrefix": b"a", "ed25519": b"again"})
    stream = Stream()
    stream.happen("scheduleSign", {"scheduleID": SCHEDULE}, signatures=SignatureMap(sigPair=pairs))

    load(stream.block())

    assert stored("transaction_signature", "public_key_prefix, signature, type") == [(b"a", b"1", 3)]


@pytest.mark.checklist("SCH-08")
def test_a_signature_of_unknown_type_is_its_only_unknown_value(caplog: pytest.LogCaptureFixture) -> None:
    def pair(prefix: bytes, *unknown: bytes) -> Any:
        return SignaturePair.FromString(wire.length_delimited(1, prefix) + b"".join(unknown))

    of_9, number = wire.length_delimited(9, b"new"), wire.encode_varint(9 << 3) + b"\x05"
    signatures = SignatureMap(
        sigPair=[pair(b"a", of_9), pair(b"b", of_9, of_9), pair(b"c", number), pair(b"d")]
    )
    stream = Stream()
    stream.happen("scheduleSign", {"scheduleID": SCHEDULE}, signatures=signatures)

    load(stream.block())

    assert stored("transaction_signature", "public_key_prefix, signature, type") == [(b"a", b"new", 9)]
    assert caplog.text.count("is of an unknown type") == 3


def test_signatures_of_other_types_are_stored_if_configured() -> None:
    stream = Stream()
    signatures = SignatureMap(sigPair=[SignaturePair(pubKeyPrefix=b"a", ed25519=b"1")])
    at = stream.happen("cryptoTransfer", signatures=signatures)

    with settings(persist__transactionSignatures=("CRYPTOTRANSFER",)):
        load(stream.block())

    nobody = 0 if cluster.URL else None
    assert stored("transaction_signature", "consensus_timestamp, entity_id") == [(at, nobody)]
