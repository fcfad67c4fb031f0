"""Nodes that transactions create, update and delete."""

from typing import Any

import pytest

from mirror.core.values.hapi.messages import Key
from tests.ledger.compose import INSUFFICIENT_PAYER_BALANCE, KEY, OTHER_KEY, Stream, num, receipt
from tests.ledger.ingest.load import load, load_in_any_batches, stored

pytestmark = pytest.mark.usefixtures("ledger_tables")

COLUMNS = "node_id, account_id, admin_key, decline_reward, deleted, timestamp_range"
ENDPOINT = {"domain_name": "proxy.example", "ipAddressV4": bytes([1, 2, 3, 4]), "port": 50_211}
ENDPOINT_JSON = {"domain_name": "proxy.example", "ip_address_v4": "1.2.3.4", "port": 50_211}
KEY_BYTES, OTHER_KEY_BYTES = Key(**KEY).SerializeToString(), Key(**OTHER_KEY).SerializeToString()


def create(stream: Stream, **options: Any) -> int:
    body = {
        "account_id": num(1001),
        "admin_key": KEY,
        "decline_reward": True,
        "grpc_proxy_endpoint": ENDPOINT,
    }
    return stream.happen("nodeCreate", body, receipt(node_id=7), **options)


def update(stream: Stream, body: dict[str, Any], **options: Any) -> int:
    return stream.happen("nodeUpdate", {"node_id": 7} | body, **options)


@pytest.mark.checklist("NOD-01", "ENC-06")
def test_a_new_node_has_the_id_of_the_receipt() -> None:
    stream = Stream()
    at = create(stream)

    load(stream.block())

    assert stored("node", COLUMNS) == [(7, 1001, KEY_BYTES, True, False, f"[{at},)")]
    assert stored("node", "created_timestamp, grpc_proxy_endpoint") == [(at, ENDPOINT_JSON)]
    assert stored("transaction", "entity_id") == [(1001,)]


@pytest.mark.checklist("NOD-01", "NOD-06")
def test_a_failed_creation_writes_nothing() -> None:
    stream = Stream()
    create(stream, result=INSUFFICIENT_PAYER_BALANCE)

    load(stream.block())

    assert stored("node", "node_id") == []
    assert stored("transaction", "transaction_bytes")[0][0]


@pytest.mark.checklist("NOD-02")
def test_an_update_changes_what_it_sets() -> None:
    stream = Stream()
    created = create(stream)
    first = stream.block()
    at = update(stream, {"admin_key": OTHER_KEY, "decline_reward": {"value": False}})

    load_in_any_batches(first, stream.block())

    assert stored("node", COLUMNS) == [(7, 1001, OTHER_KEY_BYTES, False, False, f"[{at},)")]
    assert stored("node", "created_timestamp, grpc_proxy_endpoint") == [(created, ENDPOINT_JSON)]
    assert stored("node_history", COLUMNS) == [(7, 1001, KEY_BYTES, True, False, f"[{created},{at})")]


@pytest.mark.checklist("NOD-03")
def test_an_empty_endpoint_clears_the_stored_one() -> None:
    stream = Stream()
    create(stream)
    first = stream.block()
    update(stream, {"grpc_proxy_endpoint": {}})
    update(stream, {"account_id": num(1002)})

    load_in_any_batches(first, stream.block())

    assert stored("node", "account_id, grpc_proxy_endpoint") == [(1002, None)]
    assert stored("node_history", "account_id, grpc_proxy_endpoint") == [(1001, None), (1001, ENDPOINT_JSON)]


@pytest.mark.checklist("NOD-04", "MRG-07")
@pytest.mark.parametrize("nonce", [0, 1])
def test_an_update_by_the_network_itself_is_the_creation_of_older_nodes(nonce: int) -> None:
    stream = Stream()
    at = update(stream, {"account_id": num(1001)}, whole={"transactionID": {"nonce": nonce}})
    first = stream.block()
    update(stream, {"account_id": num(1002)}, whole={"transactionID": {"nonce": nonce}})

    load_in_any_batches(first, stream.block())

    assert stored("node", "account_id, created_timestamp") == [(1002, at if nonce else None)]


@pytest.mark.checklist("NOD-05")
def test_deletion_changes_no_other_column_of_a_node() -> None:
    stream = Stream()
    created = create(stream)
    at = stream.happen("nodeDelete", {"node_id": 7})

    load(stream.block())

    assert stored("node", COLUMNS) == [(7, 1001, KEY_BYTES, True, True, f"[{at},)")]
    assert stored("node_history", COLUMNS) == [(7, 1001, KEY_BYTES, True, False, f"[{created},{at})")]
    assert stored("transaction", "entity_id") == [(None,), (1001,)]


@pytest.mark.checklist("NOD-07")
def test_a_node_is_associated_with_the_registered_nodes_it_was_created_with() -> None:
    stream = Stream()
    body = {"account_id": num(1001), "associated_registered_node": [5, 3]}
    stream.happen("nodeCreate", body, receipt(node_id=7))
    stream.happen("nodeCreate", {"account_id": num(1002)}, receipt(node_id=8))

    load(stream.block())

    assert stored("node", "node_id, associated_registered_nodes") == [(7, [5, 3]), (8, [])]


@pytest.mark.checklist("NOD-07")
def test_an_update_changes_the_associated_registered_nodes_only_if_it_lists_them() -> None:
    stream = Stream()
    body = {"account_id": num(1001), "associated_registered_node": [5]}
    stream.happen("nodeCreate", body, receipt(node_id=7))
    first = stream.block()
    update(stream, {"account_id": num(1002)})
    second = stream.block()
    update(stream, {"associated_registered_node_list": {"associated_registered_node": [6, 9]}})
    third = stream.block()
    update(stream, {"associated_registered_node_list": {}})

    load_in_any_batches(first, second, third, stream.block())

    assert stored("node", "account_id, associated_registered_nodes") == [(1002, [])]
    assert stored("node_history", "timestamp_range, associated_registered_nodes")[0][1] == [5]
    assert [row[1] for row in stored("node_history", "timestamp_range, associated_registered_nodes")] == [
        [5],
        [5],
        [6, 9],
    ]
