"""Registered nodes (HIP-1137) that transactions create, update and delete."""

from typing import Any

import pytest

from mirror.core.values.hapi.messages import Key
from tests.ledger.compose import FAIL_INVALID, KEY, OTHER_KEY, Stream, receipt
from tests.ledger.ingest.load import load, load_in_any_batches, stored

pytestmark = pytest.mark.usefixtures("ledger_tables")

COLUMNS = "registered_node_id, admin_key, created_timestamp, deleted, description, type, timestamp_range"
KEY_BYTES, OTHER_KEY_BYTES = Key(**KEY).SerializeToString(), Key(**OTHER_KEY).SerializeToString()

BLOCK_NODE = {
    "ip_address": bytes([127, 0, 0, 1]),
    "port": 40_840,
    "block_node": {"endpoint_api": ["STATUS", "SUBSCRIBE_STREAM"]},
}
BLOCK_NODE_JSON = {
    "block_node": {"endpoint_apis": ["STATUS", "SUBSCRIBE_STREAM"]},
    "ip_address": "127.0.0.1",
    "port": 40_840,
    "requires_tls": False,
}
MIRROR_NODE = {"domain_name": "mirror.example", "port": 443, "requires_tls": True, "mirror_node": {}}
MIRROR_NODE_JSON = MIRROR_NODE


def create(stream: Stream, *endpoints: dict[str, Any], number: int = 7, **options: Any) -> int:
    body = {"admin_key": KEY, "description": "a node", "service_endpoint": endpoints or [BLOCK_NODE]}
    return stream.happen("registeredNodeCreate", body, receipt(registered_node_id=number), **options)


def update(stream: Stream, body: dict[str, Any], **options: Any) -> int:
    return stream.happen("registeredNodeUpdate", {"registered_node_id": 7} | body, **options)


@pytest.mark.checklist("RGN-01", "ENC-06")
def test_a_new_registered_node_has_the_id_of_the_receipt() -> None:
    stream = Stream()
    at = create(stream)

    load(stream.block())

    row = (7, KEY_BYTES, at, False, "a node", [1], f"[{at},)")
    assert stored("registered_node", COLUMNS) == [row]
    assert stored("registered_node", "service_endpoints") == [([BLOCK_NODE_JSON],)]
    assert stored("registered_node_history", COLUMNS) == []
    assert stored("transaction", "type, entity_id") == [(78, None)]


@pytest.mark.checklist("RGN-01", "RGN-05")
def test_a_registered_node_without_a_key_and_endpoints_has_none() -> None:
    stream = Stream()
    at = stream.happen("registeredNodeCreate", {}, receipt(registered_node_id=7))

    load(stream.block())

    assert stored("registered_node", COLUMNS) == [(7, None, at, False, "", [], f"[{at},)")]
    assert stored("registered_node", "service_endpoints") == [([],)]


@pytest.mark.checklist("RGN-06")
def test_a_created_node_with_an_id_below_0_is_a_recoverable_problem(caplog: Any) -> None:
    stream = Stream()
    create(stream, number=(1 << 64) - 1)
    create(stream, number=(1 << 63) - 1)

    load(stream.block())

    assert "no registered node has the id -1" in caplog.text
    assert stored("registered_node", "registered_node_id") == [((1 << 63) - 1,)]
    assert stored("transaction", "type") == [(78,), (78,)]


@pytest.mark.checklist("RGN-05")
@pytest.mark.parametrize(
    ("endpoint", "expected"),
    [
        ({"ip_address": bytes([10, 0, 0, 9])}, {"ip_address": "10.0.0.9"}),
        (
            {"ip_address": bytes.fromhex("20010db8") + bytes(11) + b"\1"},
            {"ip_address": "2001:db8:0:0:0:0:0:1"},
        ),
        ({"ip_address": bytes(10) + b"\xff\xff\x0a\0\0\x09"}, {"ip_address": "10.0.0.9"}),
        ({"ip_address": b"\1\2\3"}, {}),
        ({"ip_address": b""}, {}),
        ({}, {}),
        ({"domain_name": "a\0b.example"}, {"domain_name": "a\ufffdb.example"}),
        ({"rpc_relay": {}}, {"rpc_relay": {}}),
        ({"mirror_node": {}}, {"mirror_node": {}}),
        ({"block_node": {}}, {"block_node": {"endpoint_apis": []}}),
        (
            {"block_node": {"endpoint_api": [0, 2, 4, 99]}},
            {"block_node": {"endpoint_apis": ["OTHER", "PUBLISH", "STATE_PROOF", "UNRECOGNIZED"]}},
        ),
        (
            {"general_service": {"description": "an indexer"}},
            {"general_service": {"description": "an indexer"}},
        ),
    ],
    ids=lambda value: "-".join(value),
)
def test_an_endpoint_is_stored_without_what_it_lacks(endpoint: Any, expected: Any) -> None:
    stream = Stream()
    create(stream, endpoint | {"port": 5})

    load(stream.block())

    assert stored("registered_node", "service_endpoints") == [
        ([{"port": 5, "requires_tls": False} | expected],)
    ]


@pytest.mark.checklist("RGN-02", "RGN-03")
def test_an_update_changes_what_it_sets() -> None:
    stream = Stream()
    created = create(stream)
    first = stream.block()
    renamed = update(stream, {"description": {"value": "another"}})
    second = stream.block()
    moved = update(stream, {"admin_key": OTHER_KEY, "service_endpoint": [MIRROR_NODE]})

    load_in_any_batches(first, second, stream.block())

    assert stored("registered_node", COLUMNS) == [
        (7, OTHER_KEY_BYTES, created, False, "another", [3], f"[{moved},)")
    ]
    assert stored("registered_node", "service_endpoints") == [([MIRROR_NODE_JSON],)]
    assert stored("registered_node_history", COLUMNS) == [
        (7, KEY_BYTES, created, False, "a node", [1], f"[{created},{renamed})"),
        (7, KEY_BYTES, created, False, "another", [1], f"[{renamed},{moved})"),
    ]
    assert stored("registered_node_history", "service_endpoints") == [([BLOCK_NODE_JSON],)] * 2


@pytest.mark.checklist("RGN-02", "MRG-07")
def test_an_update_of_an_unknown_registered_node_makes_a_partial_row() -> None:
    stream = Stream()
    at = update(stream, {"description": {"value": "x"}})

    load(stream.block())

    assert stored("registered_node", COLUMNS) == [(7, None, None, False, "x", [], f"[{at},)")]


@pytest.mark.checklist("RGN-01", "RGN-02", "RGN-04")
def test_failed_transactions_change_no_registered_node() -> None:
    stream = Stream()
    at = create(stream)
    create(stream, number=8, result=FAIL_INVALID)
    update(stream, {"description": {"value": "x"}}, result=FAIL_INVALID)
    stream.happen("registeredNodeDelete", {"registered_node_id": 7}, result=FAIL_INVALID)

    load(stream.block())

    assert stored("registered_node", COLUMNS) == [(7, KEY_BYTES, at, False, "a node", [1], f"[{at},)")]
    assert len(stored("transaction", "type")) == 4
