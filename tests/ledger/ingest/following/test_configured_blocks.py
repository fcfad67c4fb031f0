"""Block nodes of the settings, and those that are registered with the network."""

from dataclasses import replace
from typing import Any

import pytest
from django.db import connection

from ledger.ingest.following.block_sources import BlockNodeSource, FailoverBlockSource
from ledger.ingest.following.configured_blocks import Nodes, open_block_source, registered_node
from ledger.stream.source.block_node.client import BlockNode, Endpoint
from ledger.stream.source.stream_blocks import BlockBucket
from mirror.core.config.setting import OperatorError
from network.models import RegisteredNode

pytestmark = pytest.mark.usefixtures("ledger_tables")

NODES = "importer.block.nodes"


def node(host: str, port: int = 40840, *, tls: bool = False, priority: int = 0) -> BlockNode:
    endpoint = Endpoint(host, port, tls)
    return BlockNode(endpoint, endpoint, priority)


def registered(host: str) -> BlockNode:
    return replace(node(host), registered=True)


def offer(*apis: str, **address: Any) -> dict[str, Any]:
    return {"port": 40840, "requires_tls": False, "block_node": {"endpoint_apis": list(apis)}} | address


ALL_APIS = offer("STATUS", "PUBLISH", "SUBSCRIBE_STREAM", domain_name="found.example.com")


def register(number: int, *endpoints: dict[str, Any], **columns: Any) -> None:
    given = {"service_endpoints": list(endpoints), "type": [1], "timestamp_range": "[1,)", "deleted": False}
    RegisteredNode.objects.create(registered_node_id=number, **(given | columns))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one.example.com", node("one.example.com")),
        ("one.example.com:443 tls priority=2", node("one.example.com", 443, tls=True, priority=2)),
        ("10.0.0.1:1 status=10.0.0.2:2", BlockNode(Endpoint("10.0.0.2", 2), Endpoint("10.0.0.1", 1))),
        ("[::1]:40840", node("[::1]")),
    ],
)
def test_a_node_of_the_settings(settings_of, text, expected):
    settings_of({NODES: (text,), "importer.block.autoDiscoveryEnabled": False})

    assert Nodes()() == [expected]


@pytest.mark.parametrize(
    "text", ["one:0", "one:70000", "one:x", "one two", "one priority=first", "one status=:1", "http://one"]
)
def test_what_is_no_node_is_refused(settings_of, text):
    settings_of({NODES: (text,)})

    with pytest.raises(OperatorError, match="is no block node, such as"):
        Nodes()


def test_registered_nodes_take_the_place_of_the_same_ones_in_the_settings(settings_of):
    settings_of({NODES: ("found.example.com priority=3", "own.example.com")})
    register(1, ALL_APIS)
    register(2, ALL_APIS, deleted=True)
    register(3, ALL_APIS, type=[3])

    assert Nodes()() == [node("own.example.com"), node("found.example.com")]


def test_only_nodes_that_the_settings_do_not_name_have_to_be_public(settings_of):
    settings_of({NODES: ("10.0.0.1",)})
    register(1, offer("STATUS", "PUBLISH", "SUBSCRIBE_STREAM", ip_address="10.0.0.1"))
    register(2, offer("STATUS", "PUBLISH", "SUBSCRIBE_STREAM", ip_address="10.0.0.2"))

    assert Nodes()() == [node("10.0.0.1"), registered("10.0.0.2")]


def test_network_that_is_none_is_refused(settings_of):
    settings_of({"importer.block.allowedNetworks": ("10.0.0.1/8",)})

    with pytest.raises(OperatorError, match="ALLOWEDNETWORKS='10.0.0.1/8' is no address and no network"):
        Nodes()


def test_undiscovered_nodes_are_not_queried(settings_of):
    settings_of({"importer.block.autoDiscoveryEnabled": False})
    register(1, ALL_APIS)

    assert Nodes()() == []


@pytest.mark.parametrize(
    ("endpoints", "expected"),
    [
        ([ALL_APIS], registered("found.example.com")),
        ([offer("STATUS", "SUBSCRIBE_STREAM", domain_name="a")], None),
        ([offer("PUBLISH", "STATUS", domain_name="a")], None),
        ([offer("PUBLISH", "STATUS", "SUBSCRIBE_STREAM")], None),
        (
            [
                offer("PUBLISH", ip_address="10.0.0.1"),
                offer("STATUS", ip_address="10.0.0.2", requires_tls=True),
                offer("SUBSCRIBE_STREAM", ip_address="10.0.0.3", port=7),
            ],
            BlockNode(Endpoint("10.0.0.2", 40840, True), Endpoint("10.0.0.3", 7), registered=True),
        ),
        ([{"port": 1, "domain_name": "a", "mirror_node": {}}], None),
        ([ALL_APIS | {"domain_name": " ", "ip_address": " 10.0.0.1 "}], registered("10.0.0.1")),
        ([ALL_APIS | {"domain_name": "", "ip_address": "2001:db8::1"}], registered("[2001:db8::1]")),
        (None, None),
    ],
)
def test_a_registered_node_has_to_take_blocks_and_to_give_them(endpoints, expected):
    assert registered_node(endpoints) == expected


@pytest.mark.parametrize(
    ("kind", "nodes", "expected"),
    [
        ("AUTO", (), FailoverBlockSource),
        ("AUTO", ("one",), FailoverBlockSource),
        ("FILE", ("one",), BlockBucket),
        ("BLOCK_NODE", (), BlockNodeSource),
    ],
)
def test_the_kind_of_source(settings_of, tmp_path, kind, nodes, expected):
    (tmp_path / "streams").mkdir()
    settings_of(
        {
            "importer.block.sourceType": kind,
            NODES: nodes,
            "importer.downloader.cloudProvider": "LOCAL",
            "importer.dataPath": str(tmp_path),
        }
    )
    source = open_block_source()
    source.close()

    assert isinstance(source, expected)


def test_with_no_block_node_known_blocks_come_from_the_bucket(settings_of, tmp_path):
    (tmp_path / "streams").mkdir()
    settings_of({"importer.downloader.cloudProvider": "LOCAL", "importer.dataPath": str(tmp_path)})
    source = open_block_source()
    source.close()

    assert source.location == f"the folder {tmp_path / 'streams'}"


def test_without_any_bucket_blocks_come_from_block_nodes_alone(settings_of):
    settings_of({"network": "other", NODES: ("own.example.com",)})
    source = open_block_source()
    source.close()

    assert isinstance(source, BlockNodeSource)


@pytest.mark.parametrize("kind", ["AUTO", "FILE"])
def test_missing_bucket_of_blocks_is_reported_with_its_setting(settings_of, kind):
    settings_of({"network": "other", "importer.block.sourceType": kind})

    with pytest.raises(OperatorError, match="name it by SVC_MIRROR_IMPORTER_BLOCK_BUCKETNAME"):
        open_block_source()


def test_a_table_that_can_not_be_read_has_no_block_nodes(settings_of):
    settings_of({NODES: ("own.example.com",)})
    nodes = Nodes()
    with connection.cursor() as cursor:
        cursor.execute("set search_path = nowhere")
        try:
            assert nodes() == [node("own.example.com")]
        finally:
            cursor.execute("reset search_path")
