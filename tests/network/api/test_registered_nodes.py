import pytest
from psycopg.types.json import Jsonb

from tests.api import assert_answer
from tests.build import START, insert, time_range
from tests.network.api.test_nodes import invalid, refused

URL = "/api/v1/network/registered-nodes"

BLOCK_NODE = {
    "block_node": {"endpoint_apis": ["STATUS", "SUBSCRIBE_STREAM"]},
    "ip_address": "127.0.0.1",
    "port": 40_840,
    "requires_tls": False,
}
MIRROR_NODE = {"domain_name": "mirror.example", "mirror_node": {}, "port": 443, "requires_tls": True}
RELAY = {"domain_name": "relay.example", "rpc_relay": {}, "port": 7546, "requires_tls": True}
SERVICE = {"general_service": {"description": "an indexer"}, "port": 80, "requires_tls": False}
NOTHING = dict.fromkeys(
    ["block_node", "domain_name", "general_service", "ip_address", "mirror_node", "rpc_relay"]
)


def shown(endpoint, kind):
    return dict(sorted((NOTHING | endpoint | {"type": kind}).items()))


TYPES = {"block_node": 1, "general_service": 2, "mirror_node": 3, "rpc_relay": 4}


def registered(number, *endpoints, **columns):
    kinds = {TYPES[name] for endpoint in endpoints for name in endpoint if name in TYPES}
    insert(
        "registered_node",
        **{
            "registered_node_id": number,
            "created_timestamp": START + number,
            "description": f"node {number}",
            "service_endpoints": Jsonb(list(endpoints)),
            "timestamp_range": time_range(START + number),
            "type": sorted(kinds),
        }
        | columns,
    )


def listed(answer):
    assert answer.status == 200, answer
    return [node["registered_node_id"] for node in answer.json()["registered_nodes"]]


@pytest.fixture
def five(build):
    """A node of each kind, one of two, and one that is deleted."""
    registered(10, BLOCK_NODE)
    registered(20, MIRROR_NODE)
    registered(30, RELAY)
    registered(40, SERVICE)
    registered(50, BLOCK_NODE, MIRROR_NODE)
    registered(60, BLOCK_NODE, deleted=True)


def test_a_registered_node_has_all_members(api, build):
    key = bytes.fromhex("1220") + b"\5" * 32
    registered(17, BLOCK_NODE, MIRROR_NODE, RELAY, SERVICE, admin_key=key)
    answer = api.get(URL)
    node = {
        "admin_key": {"_type": "ED25519", "key": "05" * 32},
        "created_timestamp": "1700000000.000000017",
        "description": "node 17",
        "registered_node_id": 17,
        "service_endpoints": [
            shown(BLOCK_NODE, "BLOCK_NODE"),
            shown(MIRROR_NODE, "MIRROR_NODE"),
            shown(RELAY, "RPC_RELAY"),
            shown(SERVICE, "GENERAL_SERVICE"),
        ],
        "timestamp": {"from": "1700000000.000000017", "to": None},
    }
    assert_answer(answer, {"registered_nodes": [node], "links": {"next": None}})
    assert answer.headers["cache-control"] == "public, max-age=60"
    assert len(answer.statements) == 1


def test_members_that_are_unset_are_null(api, build):
    registered(1, created_timestamp=None, description=None, service_endpoints=None)
    node: dict[str, object] = {
        "admin_key": None,
        "created_timestamp": None,
        "description": None,
        "registered_node_id": 1,
        "service_endpoints": [],
        "timestamp": {"from": "1700000000.000000001", "to": None},
    }
    assert_answer(api.get(URL), {"registered_nodes": [node], "links": {"next": None}})


def test_an_endpoint_that_tells_nothing_of_its_service_has_all_members(api, build):
    bare = {"port": 5, "requires_tls": False}
    registered(1, bare | {"block_node": {}}, bare | {"general_service": {}})
    (node,) = api.get(URL).json()["registered_nodes"]
    assert node["service_endpoints"] == [
        shown(bare | {"block_node": {"endpoint_apis": []}}, "BLOCK_NODE"),
        shown(bare | {"general_service": {"description": None}}, "GENERAL_SERVICE"),
    ]


def test_an_endpoint_of_no_kind_is_a_general_service(api, build):
    registered(1, {"port": 5, "requires_tls": False}, type=[0])
    (node,) = api.get(URL).json()["registered_nodes"]
    assert node["service_endpoints"] == [shown({"port": 5, "requires_tls": False}, "GENERAL_SERVICE")]
    assert listed(api.get(f"{URL}?type=GENERAL_SERVICE")) == []
    assert listed(api.get(f"{URL}?type=unknown")) == [1]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [10, 20, 30, 40, 50]),
        ("order=desc", [50, 40, 30, 20, 10]),
        ("registerednode.id=GT:20&registerednode.id=Lte:40", [30, 40]),
        ("Order=desc&Type=BLOCK_NODE&foo=1", [10, 20, 30, 40, 50]),
        ("type=BLOCK_NODE", [10, 50]),
        ("type=mirror_node&order=desc", [50, 20]),
        ("type=Rpc_Relay", [30]),
        ("type=GENERAL_SERVICE", [40]),
        ("type=&registerednode.id=&limit=&order=", [10, 20, 30, 40, 50]),
        ("registerednode.id=30", [30]),
        ("registerednode.id=eq:30", [30]),
        ("registerednode.id=60", []),
        ("registerednode.id=gt:30", [40, 50]),
        ("registerednode.id=gte:20&registerednode.id=lte:30", [20, 30]),
        ("registerednode.id=lt:30&registerednode.id=lt:40", [10, 20]),
        ("registerednode.id=gt:20&registerednode.id=gt:10", [30, 40, 50]),
        ("registerednode.id=gt:10&registerednode.id=lt:50&type=BLOCK_NODE", []),
        ("registerednode.id=gt:9223372036854775807", []),
    ],
)
def test_parameters_narrow_the_list(api, five, query, expected):
    assert listed(api.get(f"{URL}?{query}")) == expected


@pytest.mark.parametrize(
    ("query", "link"),
    [
        ("limit=2", f"{URL}?limit=2&registerednode.id=gt:20"),
        ("limit=2&order=desc&foo=1", f"{URL}?limit=2&order=desc&foo=1&registerednode.id=lt:40"),
        ("limit=2&registerednode.id=gt:10", f"{URL}?limit=2&registerednode.id=gt:30"),
        ("registerednode.id=gt:10&registerednode.id=lt:21&limit=1", None),
        ("limit=6", None),
    ],
)
def test_the_next_page_begins_after_the_last_node(api, five, query, link):
    registered(21, MIRROR_NODE, deleted=True)
    if link is None:
        registered(22, MIRROR_NODE, deleted=True)
    answer = api.get(f"{URL}?{query}")
    assert answer.json()["links"]["next"] == link
    assert answer.headers.get("link") == (link and f'<{link}>; rel="next"')


def test_a_page_has_25_nodes_and_100_at_most(api, build):
    for number in range(101):
        registered(number)
    assert len(listed(api.get(URL))) == 25
    assert api.get(URL).json()["links"]["next"] == f"{URL}?registerednode.id=gt:24"
    assert len(listed(api.get(f"{URL}?limit=100"))) == 100


TOGETHER = refused("The 'eq' operator cannot be combined with other operators")
EMPTY = refused("Invalid range: lower bound exceeds upper bound")
IDS = [
    *["invalid", "-1", "eq:-1", "lt:-1", "gt:abc", ".1", "a:1", "eq:1:2", "ne:1", "1,2", "+1", "gt:"],
    *["9223372036854775808", "10000000000000000000", "1&registerednode.id=2&registerednode.id=3"],
]


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        *[(f"registerednode.id={text}", invalid("registerednode.id")) for text in IDS],
        *[(f"limit={text}", invalid("limit")) for text in ["0", "-1", "101", "abc", "2147483648"]],
        *[(f"type={text}", invalid("type")) for text in ["UNKNOWN_", "1", "eq:BLOCK_NODE"]],
        ("order=up", invalid("order")),
        ("type=x&limit=0", invalid("type", "limit")),
        ("limit=1&limit=1", refused("Only a single instance is supported for limit")),
        ("registerednode.id=eq:1&registerednode.id=2", TOGETHER),
        ("registerednode.id=1&registerednode.id=lt:3", TOGETHER),
        ("registerednode.id=gte:1&registerednode.id=eq:2", TOGETHER),
        ("registerednode.id=gt:10&registerednode.id=lt:5", EMPTY),
        ("registerednode.id=gt:10&registerednode.id=lt:10", EMPTY),
        ("registerednode.id=gt:10&registerednode.id=lt:11", EMPTY),
        ("registerednode.id=lt:0", EMPTY),
    ],
)
def test_problems_are_told(api, five, query, problem):
    answer = api.get(f"{URL}?{query}")
    assert (answer.status, answer.json()) == (400, problem)
    assert answer.headers["cache-control"] == "public, max-age=60"
