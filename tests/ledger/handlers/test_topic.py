"""Topics and messages."""

from typing import Any

import pytest

from mirror.core.values.hapi.messages import FeeExemptKeyList, Key, TransactionID
from tests.ledger.compose import INSUFFICIENT_PAYER_BALANCE, KEY, OTHER_KEY, Stream, num, receipt, seconds
from tests.ledger.ingest.load import load, load_in_any_batches, settings, stored

pytestmark = pytest.mark.usefixtures("ledger_tables")

TOPIC = {"topicNum": 700}
KEY_BYTES, OTHER_KEY_BYTES = Key(**KEY).SerializeToString(), Key(**OTHER_KEY).SerializeToString()
TOPIC_COLUMNS = "id, admin_key, submit_key, fee_schedule_key, fee_exempt_key_list, timestamp_range"


def create(stream: Stream, body: dict[str, Any] | None = None, **options: Any) -> int:
    return stream.happen("consensusCreateTopic", body, receipt(topicID=TOPIC), **options)


def update(stream: Stream, body: dict[str, Any]) -> int:
    return stream.happen("consensusUpdateTopic", {"topicID": TOPIC} | body)


def submit(stream: Stream, body: dict[str, Any] | None = None, **of_receipt: Any) -> int:
    said = {"topicSequenceNumber": 1, "topicRunningHash": b"hash", "topicRunningHashVersion": 3} | of_receipt
    message = {"topicID": TOPIC, "message": b"hello"} | (body or {})
    return stream.happen("consensusSubmitMessage", message, receipt(**said), payer=1001)


def fee(amount: int, collector: int, token: int | None = None) -> dict[str, Any]:
    fixed: dict[str, Any] = {"amount": amount}
    if token is not None:
        fixed["denominating_token_id"] = {"tokenNum": token}
    return {"fixed_fee": fixed, "fee_collector_account_id": num(collector)}


def fee_json(amount: int, collector: int, token: int | None = None) -> dict[str, Any]:
    return {
        "all_collectors_are_exempt": False,
        "amount": amount,
        "collector_account_id": collector,
        "denominating_token_id": token,
    }


@pytest.mark.checklist("HCS-01")
def test_a_new_topic_is_an_entity_without_key_and_a_topic_with_its_keys() -> None:
    stream = Stream()
    at = create(
        stream,
        {
            "memo": "news",
            "adminKey": KEY,
            "submitKey": OTHER_KEY,
            "fee_schedule_key": KEY,
            "autoRenewAccount": num(1001),
            "autoRenewPeriod": {"seconds": 90},
        },
    )

    with settings(persist__entityTransactions=True):
        load(stream.block())

    columns = "id, type, key, memo, auto_renew_account_id, auto_renew_period, created_timestamp, deleted"
    assert stored("entity", columns) == [(700, "TOPIC", None, "news", 1001, 90, at, False)]
    assert stored("topic", TOPIC_COLUMNS + ", created_timestamp") == [
        (700, KEY_BYTES, OTHER_KEY_BYTES, KEY_BYTES, b"", f"[{at},)", at)
    ]
    assert stored("entity_transaction", "entity_id", "entity_id in (700, 1001)") == [(700,), (1001,)]


@pytest.mark.checklist("HCS-02")
@pytest.mark.parametrize("keys", [[], [KEY, OTHER_KEY]])
def test_fee_exempt_keys_are_stored_as_one_list(keys: list[dict[str, bytes]]) -> None:
    stream = Stream()
    create(stream, {"fee_exempt_key_list": keys})

    load(stream.block())

    assert stored("topic", "fee_exempt_key_list") == [(FeeExemptKeyList(keys=keys).SerializeToString(),)]


@pytest.mark.checklist("HCS-03")
@pytest.mark.parametrize(
    ("fees", "expected"),
    [
        ([], []),
        (
            [fee(5, 1001), fee(6, 1002, 800), fee(7, 1003, 0)],
            [fee_json(5, 1001), fee_json(6, 1002, 800), fee_json(7, 1003)],
        ),
    ],
    ids=["none", "hbar and tokens"],
)
def test_fees_of_a_new_topic_are_stored_as_a_list(fees: list[Any], expected: list[Any]) -> None:
    stream = Stream()
    at = create(stream, {"custom_fees": fees})

    load(stream.block())

    assert stored("custom_fee", "entity_id, fixed_fees, fractional_fees, royalty_fees, timestamp_range") == [
        (700, expected, None, None, f"[{at},)")
    ]


@pytest.mark.checklist("HCS-04", "HCS-05", "ENC-05")
def test_update_replaces_only_the_keys_it_has() -> None:
    stream = Stream()
    created = create(stream, {"adminKey": KEY, "submitKey": KEY, "custom_fees": [fee(5, 1001)]})
    first = stream.block()
    at = update(
        stream,
        {"submitKey": {"keyList": {}}, "fee_schedule_key": OTHER_KEY, "fee_exempt_key_list": {"keys": [KEY]}},
    )

    load_in_any_batches(first, stream.block())

    exempt = FeeExemptKeyList(keys=[KEY]).SerializeToString()
    assert stored("topic", TOPIC_COLUMNS + ", created_timestamp") == [
        (700, KEY_BYTES, b"\x32\x00", OTHER_KEY_BYTES, exempt, f"[{at},)", created)
    ]
    assert stored("topic_history", TOPIC_COLUMNS) == [
        (700, KEY_BYTES, KEY_BYTES, None, b"", f"[{created},{at})")
    ]
    assert stored("custom_fee", "fixed_fees") == [([fee_json(5, 1001)],)]
    assert stored("custom_fee_history", "fixed_fees") == []


@pytest.mark.checklist("HCS-05")
@pytest.mark.parametrize("fees", [[], [fee(6, 1002)]])
def test_an_update_replaces_fees_only_if_it_has_some_or_clears_them(fees: list[Any]) -> None:
    stream = Stream()
    created = create(stream, {"custom_fees": [fee(5, 1001)]})
    first = stream.block()
    at = update(stream, {"custom_fees": {"fees": fees}})

    load_in_any_batches(first, stream.block())

    assert stored("custom_fee", "fixed_fees, timestamp_range") == [
        ([fee_json(6, 1002)] if fees else [], f"[{at},)")
    ]
    assert stored("custom_fee_history", "fixed_fees, timestamp_range") == [
        ([fee_json(5, 1001)], f"[{created},{at})")
    ]


@pytest.mark.checklist("HCS-06")
def test_an_update_clears_the_auto_renew_account_and_sets_memo_and_times() -> None:
    stream = Stream()
    create(stream, {"memo": "old", "autoRenewAccount": num(1001)})
    update(
        stream,
        {
            "autoRenewAccount": num(0),
            "autoRenewPeriod": {"seconds": 30},
            "expirationTime": {"seconds": 2},
            "memo": {"value": ""},
        },
    )

    load(stream.block())

    columns = "auto_renew_account_id, auto_renew_period, expiration_timestamp, memo, deleted"
    assert stored("entity", columns) == [(0, 30, 2 * 10**9, "", False)]


@pytest.mark.checklist("HCS-06", "ID-06")
def test_an_unknown_auto_renew_account_changes_nothing() -> None:
    stream = Stream()
    create(stream, {"autoRenewAccount": num(1001)})
    update(stream, {"autoRenewAccount": {"alias": KEY_BYTES}})

    load(stream.block())

    assert stored("entity", "auto_renew_account_id") == [(1001,)]


@pytest.mark.checklist("HCS-07")
def test_an_update_of_an_unknown_topic_makes_partial_rows() -> None:
    stream = Stream()
    at = update(stream, {"submitKey": KEY})

    load(stream.block())

    assert stored("entity", "id, type, created_timestamp") == [(700, "TOPIC", None)]
    assert stored("topic", TOPIC_COLUMNS + ", created_timestamp") == [
        (700, None, KEY_BYTES, None, None, f"[{at},)", None)
    ]


@pytest.mark.checklist("HCS-08")
def test_a_deletion_changes_only_the_entity() -> None:
    stream = Stream()
    created = create(stream, {"adminKey": KEY})
    at = stream.happen("consensusDeleteTopic", {"topicID": TOPIC})

    load(stream.block())

    assert stored("entity", "id, deleted, timestamp_range") == [(700, True, f"[{at},)")]
    assert stored("topic", "admin_key, timestamp_range") == [(KEY_BYTES, f"[{created},)")]


@pytest.mark.checklist("HCS-09", "HCS-12")
def test_a_message_is_a_row_even_of_an_unknown_topic() -> None:
    stream = Stream()
    at = submit(stream)

    load(stream.block())

    columns = "consensus_timestamp, topic_id, message, payer_account_id, running_hash, sequence_number"
    assert stored("topic_message", columns) == [(at, 700, b"hello", 1001, b"hash", 1)]
    assert stored(
        "topic_message", "chunk_num, chunk_total, initial_transaction_id, valid_start_timestamp"
    ) == [(None, None, None, None)]
    assert stored("transaction", "entity_id") == [(700,)]


@pytest.mark.checklist("HCS-09", "HCS-12")
def test_a_failed_message_is_not_stored_but_its_transaction_names_the_topic() -> None:
    stream = Stream()
    stream.happen("consensusSubmitMessage", {"topicID": TOPIC}, result=INSUFFICIENT_PAYER_BALANCE)

    load(stream.block())

    assert stored("topic_message", "topic_id") == []
    assert stored("transaction", "entity_id") == [(700,)]


@pytest.mark.checklist("HCS-09")
def test_messages_are_not_stored_if_not_configured() -> None:
    stream = Stream()
    submit(stream)

    with settings(persist__topics=False):
        load(stream.block())

    assert stored("topic_message", "topic_id") == []


@pytest.mark.checklist("HCS-10")
@pytest.mark.parametrize(("said", "expected"), [(3, None), (0, 1), (1, 1), (2, 2)])
def test_the_usual_version_of_the_running_hash_is_null(said: int, expected: int | None) -> None:
    stream = Stream()
    submit(stream, topicRunningHashVersion=said)

    load(stream.block())

    assert stored("topic_message", "running_hash_version") == [(expected,)]


@pytest.mark.checklist("HCS-11")
def test_a_chunk_names_its_place_and_the_first_transaction() -> None:
    initial = {"accountID": num(1001), "transactionValidStart": seconds(5)}
    stream = Stream()
    submit(stream, {"chunkInfo": {"number": 2, "total": 3, "initialTransactionID": initial}})
    submit(stream, {"chunkInfo": {"number": 1, "total": 1}}, topicSequenceNumber=2)

    load(stream.block())

    columns = "sequence_number, chunk_num, chunk_total, initial_transaction_id"
    assert stored("topic_message", columns) == [
        (1, 2, 3, TransactionID(**initial).SerializeToString()),
        (2, 1, 1, None),
    ]


@pytest.mark.checklist("LUT-02")
def test_a_message_does_not_list_its_topic_among_its_entities() -> None:
    stream = Stream()
    submit(stream)

    with settings(persist__entityTransactions=True):
        load(stream.block())

    assert (700,) not in stored("entity_transaction", "entity_id")


@pytest.mark.checklist("LUT-04")
def test_messages_need_no_lookup_while_their_table_is_not_partitioned() -> None:
    stream = Stream()
    submit(stream)

    load(stream.block())

    assert stored("topic_message_lookup", "topic_id") == []
    assert stored("pg_partitioned_table", "partstrat", "partrelid = 'topic_message'::regclass") == []
