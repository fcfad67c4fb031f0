import pytest
from psycopg.types.json import Jsonb

from tests.api import assert_answer
from tests.build import SECOND, START, insert, time_range

URL = "/api/v1/network/nodes"
DAY = 86_400 * SECOND

ADMIN_KEY = bytes.fromhex("1220") + b"\5" * 32


def address_book(*nodes, at=START, file_id=102, until=None):
    """An address book of these nodes; node n has account n + 3."""
    insert(
        "address_book",
        start_consensus_timestamp=at,
        end_consensus_timestamp=until,
        file_id=file_id,
        node_count=len(nodes),
        file_data=b"",
    )
    for node in nodes:
        entry(node, at)


def entry(node, at, **columns):
    insert(
        "address_book_entry",
        **{"consensus_timestamp": at, "node_id": node, "node_account_id": node + 3} | columns,
    )


def service_endpoint(node, address, port, *, domain_name="", at=START):
    insert(
        "address_book_service_endpoint",
        consensus_timestamp=at,
        node_id=node,
        ip_address_v4=address,
        port=port,
        domain_name=domain_name,
    )


def node(node_id, **columns):
    insert("node", **{"node_id": node_id, "timestamp_range": time_range(START)} | columns)


def stake(node_id, *, at=START, **columns):
    insert(
        "node_stake",
        **{
            "consensus_timestamp": at,
            "epoch_day": 19_675,
            "max_stake": 5,
            "min_stake": 1,
            "node_id": node_id,
            "reward_rate": 4,
            "stake": 3,
            "stake_not_rewarded": 1,
            "stake_rewarded": 2,
            "staking_period": 19_675 * DAY - 1,
        }
        | columns,
    )


def listed(answer):
    assert answer.status == 200, answer
    return [node["node_id"] for node in answer.json()["nodes"]]


@pytest.fixture
def complete(build):
    address_book(at=START, until=START + 10)
    entry(7, START, memo="0.0.10", description="a node", public_key="ab" * 20, node_cert_hash=b"cd" * 10)
    for address, port, domain in [
        ("10.0.0.9", 2, ""),
        ("10.0.0.9", 1, ""),
        ("", 5, "node.example"),
        ("10.0.0.10", 3, ""),
    ]:
        service_endpoint(7, address, port, domain_name=domain)
    proxy = {"port": 443, "ip_address_v4": "", "domain_name": "proxy.example"}
    node(
        7,
        admin_key=ADMIN_KEY,
        associated_registered_nodes=[5, 3, 2**53 + 1],
        decline_reward=True,
        grpc_proxy_endpoint=Jsonb(proxy),
    )
    stake(7, at=START + 5)
    stake(7, at=START + 4, stake=99)


COMPLETE = {
    "associated_registered_nodes": [5, 3, 2**53 + 1],
    "decline_reward": True,
    "description": "a node",
    "file_id": "0.0.102",
    "grpc_proxy_endpoint": {"domain_name": "proxy.example", "ip_address_v4": "", "port": 443},
    "max_stake": 5,
    "memo": "0.0.10",
    "min_stake": 1,
    "node_account_id": "0.0.10",
    "node_id": 7,
    "node_cert_hash": "0x" + "cd" * 10,
    "public_key": "0x" + "ab" * 20,
    "reward_rate_start": 4,
    "service_endpoints": [
        {"domain_name": "node.example", "ip_address_v4": "", "port": 5},
        {"domain_name": "", "ip_address_v4": "10.0.0.10", "port": 3},
        {"domain_name": "", "ip_address_v4": "10.0.0.9", "port": 1},
        {"domain_name": "", "ip_address_v4": "10.0.0.9", "port": 2},
    ],
    "stake": 3,
    "stake_not_rewarded": 1,
    "stake_rewarded": 2,
    "staking_period": {"from": "1699920000.000000000", "to": "1700006400.000000000"},
    "timestamp": {"from": "1700000000.000000000", "to": "1700000000.000000010"},
}


def test_a_node_has_all_members_in_order(api, complete):
    answer = api.get(URL)
    assert_answer(answer, {"nodes": [COMPLETE], "links": {"next": None}})
    assert answer.headers["cache-control"] == "public, max-age=60"
    assert len(answer.statements) == 1


def test_admin_keys_are_listed_when_the_operator_wants_it(api, complete, settings_of):
    settings_of({"rest.network.nodes.exposeAdminKey": True})
    key = {"admin_key": {"_type": "ED25519", "key": "05" * 32}}
    assert_answer(api.get(URL), {"nodes": [key | COMPLETE], "links": {"next": None}})


def test_a_node_of_which_only_the_address_book_knows(api, build):
    address_book(0)
    stake(1)
    (found,) = api.get(URL).json()["nodes"]
    unknown = [
        *["decline_reward", "description", "grpc_proxy_endpoint", "max_stake", "memo", "min_stake"],
        *["reward_rate_start", "stake", "stake_not_rewarded", "stake_rewarded", "staking_period"],
    ]
    assert {name for name, value in found.items() if value is None} == set(unknown)
    assert (found["node_cert_hash"], found["public_key"], found["service_endpoints"]) == ("0x", "0x", [])
    assert found["associated_registered_nodes"] == []
    assert found["timestamp"] == {"from": "1700000000.000000000", "to": None}


@pytest.mark.parametrize("stored", [{"port": 443}, {"port": 443, "domain_name": None, "ip_address_v4": None}])
def test_an_endpoint_without_a_name_or_an_address_has_empty_text(api, build, stored):
    address_book(1)
    node(1, grpc_proxy_endpoint=Jsonb(stored))
    (found,) = api.get(URL).json()["nodes"]
    assert found["grpc_proxy_endpoint"] == {"domain_name": "", "ip_address_v4": "", "port": 443}


def test_amounts_nobody_told_are_null(api, build):
    address_book(0)
    stake(0, max_stake=-1, min_stake=-1, stake_not_rewarded=-1)
    (found,) = api.get(URL).json()["nodes"]
    assert [found[name] for name in ("max_stake", "min_stake", "stake_not_rewarded")] == [None] * 3


def test_a_change_of_a_nodes_account_shows_before_the_next_address_book(api, build):
    address_book(0, 1)
    node(0, account_id=2001)
    node(1)
    found = api.get(URL).json()["nodes"]
    assert [one["node_account_id"] for one in found] == ["0.0.2001", "0.0.4"]


def test_only_the_latest_stakes_count(api, build):
    address_book(0, 1)
    stake(0, at=START + 1)
    stake(1, at=START + 2)
    assert [one["stake"] for one in api.get(URL).json()["nodes"]] == [None, 3]


@pytest.fixture
def books(build):
    """The latest of each file counts; that of 101 is older."""
    address_book(1, 2, 3, 4, 5, at=START + 2)
    address_book(9, at=START + 1)
    address_book(6, 7, at=START, file_id=101)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [1, 2, 3, 4, 5]),
        ("order=desc", [5, 4, 3, 2, 1]),
        ("order=DESC", [5, 4, 3, 2, 1]),
        ("order=&limit=&node.id=&file.id=&Order=desc&foo=1", [1, 2, 3, 4, 5]),
        ("file.id=102", [1, 2, 3, 4, 5]),
        ("file.id=0.0.101", [6, 7]),
        ("file.id=eq:0.101", [6, 7]),
        ("file.id=EQ:0.0.101", [6, 7]),
        ("File.Id=101", [1, 2, 3, 4, 5]),
        ("node.id=3", [3]),
        ("node.id=3&node.id=eq:5&node.id=99", [3, 5]),
        ("node.id=gt:3", [4, 5]),
        ("node.id=gte:3&node.id=lt:5", [3, 4]),
        ("node.id=lte:2", [1, 2]),
        ("node.id=ne:2&node.id=ne:4", [1, 3, 5]),
        ("node.id=2&node.id=4&node.id=gt:2", [4]),
        ("node.id=2&node.id=gt:2", []),
        ("node.id=2&node.id=4&node.id=ne:2", [4]),
        ("node.id=GTE:2&node.id=gt:3&node.id=lt:9223372036854775807", [4, 5]),
        ("node.id=gt:9223372036854775807", []),
        *[(f"file.id={text}", []) for text in ["100", "103", "0.0.5", "eq:0.1.102", "0.0.99999"]],
        ("node.id=gt:5", []),
        ("file.id=101&node.id=gt:6&limit=1", [7]),
    ],
)
def test_parameters_narrow_the_list(api, books, query, expected):
    assert listed(api.get(f"{URL}?{query}")) == expected


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize(
    "narrow",
    [
        *["", "&node.id=gt:1", "&node.id=lte:4&node.id=gte:2", "&file.id=101", "&node.id=ne:3"],
        *["&node.id=5&node.id=2&node.id=4&node.id=lt:5", "&node.id=3"],
    ],
)
def test_all_pages_together_have_every_node_once(api, books, order, narrow):
    query = f"{URL}?order={order}{narrow}"
    for limit in (1, 2, 5):
        assert api.pages(f"{query}&limit={limit}", "nodes") == api.get(query).json()["nodes"]


@pytest.mark.parametrize(
    ("query", "link"),
    [
        ("limit=2", f"{URL}?limit=2&node.id=gt:2"),
        ("limit=2&order=desc&file.id=102", f"{URL}?limit=2&order=desc&file.id=102&node.id=lt:4"),
        ("limit=1&node.id=3", None),
        ("limit=1&node.id=3&node.id=EQ:5&node.id=2", f"{URL}?limit=1&node.id=3&node.id=EQ:5"),
        ("limit=1&node.id=3&node.id=5&node.id=lte:4", None),
        ("limit=1&node.id=ne:2", f"{URL}?limit=1&node.id=ne:2&node.id=gt:1"),
        ("limit=1&node.id=gte:3&node.id=lt:5", f"{URL}?limit=1&node.id=lt:5&node.id=gt:3"),
        ("limit=1&node.id=gte:4&node.id=lt:5", None),
        ("limit=1&node.id=gte:3&node.id=lte:3", None),
        ("limit=6", None),
    ],
)
def test_the_next_page_begins_after_the_last_node(api, books, query, link):
    answer = api.get(f"{URL}?{query}")
    assert answer.json()["links"]["next"] == link
    assert answer.headers.get("link") == (link and f'<{link}>; rel="next"')


def test_no_link_asks_for_less_than_the_least_node(api, build):
    address_book(0, 1)
    for query in ("limit=2", "limit=1&node.id=lt:1"):
        answer = api.get(f"{URL}?order=desc&{query}")
        assert listed(answer)[-1] == 0
        assert answer.json()["links"]["next"] is None


def test_a_page_has_10_nodes_and_25_at_most(api, build):
    address_book(*range(30))
    assert len(listed(api.get(URL))) == 10
    assert api.get(URL).json()["links"]["next"] == f"{URL}?node.id=gt:9"
    assert len(listed(api.get(f"{URL}?limit=25"))) == 25
    assert len(listed(api.get(f"{URL}?limit=2147483647"))) == 25
    answer = api.get(f"{URL}?limit=26")
    assert len(listed(answer)) == 25
    assert answer.json()["links"]["next"] == f"{URL}?limit=26&node.id=gt:24"


def test_without_an_address_book_there_are_no_nodes(api, build):
    node(0)
    stake(0)
    assert_answer(api.get(URL), {"nodes": [], "links": {"next": None}})


def test_the_address_book_is_that_of_the_networks_own_shard_and_realm(api, build, settings_of):
    address_book(1, file_id=102)
    address_book(2, at=START - 1, file_id=(1 << 54) + (2 << 38) + 102)
    settings_of({"common.shard": 1, "common.realm": 2})
    assert listed(api.get(URL)) == [2]
    assert listed(api.get(f"{URL}?file.id=1.2.102")) == [2]
    assert listed(api.get(f"{URL}?file.id=0.0.102")) == [1]


def invalid(*names):
    return {"_status": {"messages": [{"message": f"Invalid parameter: {name}"} for name in names]}}


def refused(detail):
    return {"_status": {"messages": [{"detail": detail, "message": "Bad Request"}]}}


FILES = ["x", "-5", "gt:x", "like:101", "274877906944", "1024.0.102"]


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        *[(f"file.id={text}", invalid("file.id")) for text in [*FILES, "ab" * 20, f"{101:040x}"]],
        ("node.id=lt:0", refused("Invalid range provided for node.id")),
        ("node.id=3&node.id=lt:0", refused("Invalid range provided for node.id")),
        ("file.id=gt:5", refused("Only equality operator is supported for file.id")),
        *[(f"limit={text}", invalid("limit")) for text in ["0", "-1", "abc", "2147483648"]],
        *[
            (f"node.id={text}", invalid("node.id"))
            for text in ["x", "-1", "gt:", "lt:-1", "9223372036854775808", "1,gte:5", "1,2"]
        ],
        ("order=up", invalid("order")),
        ("node.id=x&node.id=-1&foo=1&limit=0&order=up", invalid("node.id", "order", "limit")),
        *[
            (f"file.id={operator}:102", refused("Only equality operator is supported for file.id"))
            for operator in ("gt", "gte", "lt", "LTE", "ne")
        ],
        ("file.id=101&file.id=101", refused("Only a single instance is supported for file.id")),
        ("file.id=101&file.id=x", refused("Only a single instance is supported for file.id")),
        ("limit=2&limit=3", refused("Only a single instance is supported for limit")),
        ("order=asc&order=asc", refused("Only a single instance is supported for order")),
        *[
            (f"node.id={lower}&node.id={upper}", refused("Invalid range provided for node.id"))
            for lower, upper in [("gt:4", "lt:5"), ("gte:5", "lte:4"), ("gt:10", "lt:2"), ("gt:4", "lt:4")]
        ],
        ("node.id=3&node.id=gt:4&node.id=lt:5", refused("Invalid range provided for node.id")),
    ],
)
def test_problems_are_told(api, books, query, problem):
    answer = api.get(f"{URL}?{query}")
    assert (answer.status, answer.json()) == (400, problem)
    assert answer.headers["cache-control"] == "public, max-age=60"


def test_at_most_100_ids_are_taken(api, books):
    ids = [f"node.id={number}" for number in range(101)]
    assert listed(api.get(f"{URL}?{'&'.join(ids[:100])}")) == [1, 2, 3, 4, 5]
    assert api.get(f"{URL}?{'&'.join(ids)}").json() == invalid("node.id")


@pytest.mark.parametrize("path", ["/API/v1/Network/Nodes", f"{URL}/"])
def test_the_path_matches_exactly(api, books, path):
    assert api.get(path).status == 404


def test_the_list_is_not_sent_again_while_it_stays_the_same(api, books):
    etag = api.get(URL).headers["etag"]
    assert api.get(URL, if_none_match=etag).status == 304
    assert api.get(f"{URL}?limit=2", if_none_match=etag).status == 200
