"""The logs of all contracts, and of one."""

import hashlib
from itertools import product
from typing import Any
from urllib.parse import quote

import pytest

from tests.api import assert_answer
from tests.build import SECOND
from tests.contract.plans import prepared
from tests.contracts.api.rows import AT, CONTRACT, OTHER, address, contract, digest, log, seconds, word

ALL = "/api/v1/contracts/results/logs"
ALIAS = "/api/v1/contracts/logs"
OF_CONTRACT = f"/api/v1/contracts/{CONTRACT}/results/logs"
EACH = pytest.mark.parametrize("url", [ALL, ALIAS, OF_CONTRACT], ids=["all", "alias", "of contract"])
TOPICS = "Cannot search topics without a valid timestamp range: "
EVM_ADDRESS = "70f2b2914a2a4b783faefb75f459a580616fcb5e"

EXPECTED = {
    "address": address(CONTRACT),
    "bloom": "0x01",
    "contract_id": f"0.0.{CONTRACT}",
    "data": word(2),
    "index": 0,
    "topics": [word(0x97), word(0xE801)],
    "block_hash": "0x" + hashlib.sha384(b"17").hexdigest(),
    "block_number": 17,
    "root_contract_id": f"0.0.{CONTRACT}",
    "timestamp": seconds(AT),
    "transaction_hash": "0x" + digest(AT).hex(),
    "transaction_index": 1,
}


def at(second):
    return f"17000010{second:02}"


def keys(answer):
    """(second after AT, index) of the logs."""
    assert answer.status == 200, answer
    return [key(row) for row in answer.json()["logs"]]


def key(row):
    return int(row["timestamp"].partition(".")[0]) - AT // SECOND, row["index"]


@pytest.fixture
def logs():
    """Three logs each second, and those of another contract between them."""
    every = list(product(range(5), (0, 2, 4)))
    for second, index in every:
        log(AT + second * SECOND, index)
        log(AT + second * SECOND, index + 1, contract_id=OTHER, topic0=b"\x98")
    return every


@EACH
def test_a_log_is_shown_with_its_block(api, build, url):
    contract(build)
    build.block(17, end=AT)
    log()
    answer = api.get(url)
    assert_answer(answer, {"logs": [EXPECTED], "links": {"next": None}})
    assert answer.headers["cache-control"] == f"public, max-age={1 if url == OF_CONTRACT else 10}"


@pytest.mark.parametrize(
    ("columns", "members"),
    [
        ({"data": b""}, {"data": "0x"}),
        ({"data": b"\1" * 40}, {"data": "0x" + "01" * 40}),
        ({"bloom": b""}, {"bloom": "0x"}),
        (
            {"topic0": None, "topic1": b"", "topic2": b"\2", "topic3": b"\3"},
            {"topics": [word(0), word(2), word(3)]},
        ),
        ({"root_contract_id": None}, {"root_contract_id": None}),
        ({"transaction_hash": None, "transaction_index": None}, {"transaction_hash": "0x"}),
        ({"transaction_index": None}, {"transaction_index": None}),
        ({"contract_id": 0}, {"contract_id": None, "address": None}),
        ({}, {"block_hash": "0x", "block_number": None}),
    ],
)
def test_each_column_has_its_members(api, columns, members):
    log(**columns)
    (shown,) = api.get(ALL).json()["logs"]
    assert {name: shown[name] for name in members} == members


def test_the_address_is_the_contracts_own(api, build):
    contract(build, evm_address=bytes.fromhex(EVM_ADDRESS))
    log()
    for name in (CONTRACT, EVM_ADDRESS, f"0x{EVM_ADDRESS}", f"0.0.{CONTRACT:040x}"):
        (shown,) = api.get(f"/api/v1/contracts/{name}/results/logs").json()["logs"]
        assert shown["address"] == f"0x{EVM_ADDRESS}"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("limit=2", [(4, 4), (4, 2)]),
        ("limit=2&order=asc", [(0, 0), (0, 2)]),
        (f"timestamp={at(3)}", [(3, 4), (3, 2), (3, 0)]),
        (f"timestamp={at(3)}&index=2", [(3, 2)]),
        (f"timestamp={at(3)}&index=gt:0&index=lte:4", [(3, 4), (3, 2)]),
        (f"timestamp=gte:{at(3)}&timestamp=lte:{at(3)}&index=2", [(3, 2)]),
        (f"timestamp=gt:{at(3)}", [(4, 4), (4, 2), (4, 0)]),
        (f"timestamp=gte:{at(3)}&index=gt:2", [(4, 4), (4, 2), (4, 0), (3, 4)]),
        (f"timestamp=gte:{at(3)}&index=gte:2&order=asc", [(3, 2), (3, 4), (4, 0), (4, 2), (4, 4)]),
        (f"timestamp=lte:{at(1)}&index=lt:2", [(1, 0), (0, 4), (0, 2), (0, 0)]),
        (f"timestamp=lte:{at(1)}&index=lte:0&timestamp=gte:{at(0)}&index=gte:4", [(1, 0), (0, 4)]),
        (f"timestamp=lt:{at(1)}&index=lt:2", None),
        (f"timestamp=lt:{at(1)}&timestamp=gte:{at(0)}&index=gte:4", [(0, 4)]),
        (f"timestamp={at(9)}", []),
        ("timestamp=gt:9999999999", []),
    ],
)
def test_logs_are_chosen_by_time_and_index(api, logs, query, expected):
    answer = api.get(f"{OF_CONTRACT}?{query}")
    if expected is None:
        assert (answer.status, answer.messages) == (400, ["timestamp must have lte or eq operator"])
    else:
        assert keys(answer) == expected


class TestTopics:
    @pytest.fixture
    def rows(self):
        for index, topics in enumerate(
            [
                (b"\1", b"\2", None, None),
                (b"\1", b"\3", b"\4", None),
                (b"\5", b"\2", b"\4", b"\6"),
                (b"", *[None] * 3),
            ]
        ):
            columns: dict[str, Any] = {f"topic{number}": topic for number, topic in enumerate(topics)}
            log(index=index, **columns)

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("topic0=1", [1, 0]),
            ("topic0=0x01&topic1=eq:0x2", [0]),
            (f"topic0={word(1)}&topic0={word(5)}", [2, 1, 0]),
            ("topic0=1&topic0=5&topic1=2", [2, 0]),
            ("topic2=4&topic3=06", [2]),
            ("topic0=0", [3]),
            ("topic0=7", []),
        ],
    )
    @pytest.mark.parametrize(
        "times",
        [f"timestamp={at(0)}", f"timestamp=gte:{at(0)}&timestamp=lt:1700605800"],
        ids=["time", "range"],
    )
    @EACH
    def test_logs_are_chosen_by_topics(self, api, rows, url, times, query, expected):
        assert [index for _, index in keys(api.get(f"{url}?{query}&{times}"))] == expected

    @pytest.mark.parametrize(
        ("times", "message"),
        [
            ("", "No timestamp range or eq operator provided"),
            ("ne:1", "Not equals operator not supported for timestamp param"),
            ("gt:1 gte:2 lt:3", "Multiple gt or gte operators not permitted for timestamp param"),
            ("lt:1 lte:2 gt:3", "Multiple lt or lte operators not permitted for timestamp param"),
            ("1 gt:1", "Cannot combine eq with ne, gt, gte, lt, or lte for timestamp param"),
            ("gt:1", "Timestamp range must have gt (or gte) and lt (or lte), or eq operator"),
            ("lte:1", "Timestamp range must have gt (or gte) and lt (or lte), or eq operator"),
            *(
                (times, "Timestamp range by the lower and upper bounds must be positive and within 7d")
                for times in ("gte:2 lt:1", "gt:1 lt:1", "gte:1 lte:604801.000000001")
            ),
        ],
    )
    @EACH
    def test_topics_need_a_range_of_time(self, api, url, times, message):
        query = "".join(f"&timestamp={time}" for time in times.split())
        answer = api.get(f"{url}?topic1=2{query}&index=1")
        assert (answer.status, answer.messages) == (400, [TOPICS + message])

    def test_several_times_are_refused_as_such(self, api):
        answer = api.get(f"{ALL}?topic1=2&timestamp=1&timestamp=2")
        assert answer.messages == ["Only one equal (eq) operator is allowed for timestamp"]

    def test_the_range_is_as_long_as_configured(self, api, settings_of):
        settings_of({"rest.query.maxTimestampRange": 5400.0})
        answer = api.get(f"{ALL}?topic1=2&timestamp=gt:1&timestamp=lt:9999")
        assert answer.messages[0].endswith("must be positive and within 90m")


class TestTransactionHash:
    @pytest.mark.parametrize("prefix", ["", "0x"])
    @pytest.mark.parametrize("url", [ALL, ALIAS])
    def test_the_logs_of_a_transaction_are_found(self, api, build, logs, url, prefix):
        text = build.transaction_hash(AT + SECOND)
        for given in (text, text[:64], text.upper()):
            assert keys(api.get(f"{url}?transaction.hash={prefix}{given}"))[::2] == [(1, 5), (1, 3), (1, 1)]
        assert keys(api.get(f"{url}?transaction.hash={text[:64]}{'0' * 32}")) == []
        assert keys(api.get(f"{url}?transaction.hash={'0' * 64}")) == []

    @pytest.mark.parametrize(
        ("query", "second"),
        [
            ("", 3),
            ("order=desc", 3),
            ("order=asc", 1),
            (f"timestamp=lt:{at(3)}", 1),
            (f"timestamp=gt:{at(1)}&order=asc", 3),
            (f"timestamp={at(2)}", None),
            (f"timestamp=gt:{at(3)}", None),
        ],
    )
    def test_of_several_transactions_the_first_within_the_times_counts(self, api, build, logs, query, second):
        for each in (1, 3):
            text = build.transaction_hash(AT + each * SECOND, b"\7" * 32)
        found = keys(api.get(f"{ALL}?transaction.hash={text}&{query}"))
        assert {found_second for found_second, _ in found} == ({second} if second else set())

    @pytest.mark.parametrize(
        ("query", "link"),
        [
            ("limit=2", f"limit=2&timestamp=lte:{at(1)}.000000000&index=lt:4"),
            ("limit=2&order=asc", f"limit=2&order=asc&timestamp=gte:{at(1)}.000000000&index=gt:1"),
            (f"limit=1&index=lt:3&timestamp={at(1)}", f"limit=1&timestamp={at(1)}&index=lt:2"),
            (
                f"limit=1&timestamp=gte:{at(1)}",
                f"limit=1&timestamp=gte:{at(1)}&timestamp=lte:{at(1)}.000000000&index=lt:5",
            ),
            (
                f"limit=1&timestamp=gte:{at(1)}&timestamp=lte:{at(1)}",
                f"limit=1&timestamp=gte:{at(1)}&timestamp=lte:{at(1)}&index=lt:5",
            ),
            (f"limit=1&index=3&timestamp={at(1)}", None),
        ],
    )
    def test_the_link_goes_on_as_without_a_hash(self, api, build, logs, query, link):
        url = f"{ALL}?transaction.hash={build.transaction_hash(AT + SECOND)}"
        assert api.get(f"{url}&{query}").json()["links"]["next"] == (link and f"{url}&{link}")

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            (f"index=3&timestamp={at(1)}", [3]),
            (f"index=gt:3&timestamp=gte:{at(1)}", [5, 4]),
            (f"index=lt:2&timestamp=lte:{at(1)}", [1, 0]),
            (f"timestamp=gt:{at(3)}&timestamp=lt:{at(0)}", []),
        ],
    )
    def test_an_index_applies_at_its_time(self, api, build, logs, query, expected):
        url = f"{ALL}?transaction.hash={build.transaction_hash(AT + SECOND)}"
        assert keys(api.get(f"{url}&{query}")) == [(1, index) for index in expected]

    def test_topics_need_times_all_the_same(self, api):
        answer = api.get(f"{ALL}?transaction.hash={'0' * 64}&topic0=1")
        assert answer.messages == [TOPICS + "No timestamp range or eq operator provided"]


@pytest.mark.parametrize(
    ("query", "messages"),
    [
        ("timestamp=1&timestamp=2", ["Only one equal (eq) operator is allowed for timestamp"]),
        ("index=1&index=2&timestamp=1", ["Only one equal (eq) operator is allowed for index"]),
        ("timestamp=gt:1&timestamp=gte:2", ["Only one gt/gte operator is allowed for timestamp"]),
        ("timestamp=lt:1&timestamp=lte:2", ["Only one lt/lte operator is allowed for timestamp"]),
        ("timestamp=1&index=gt:1&index=gte:2", ["Only one gt/gte operator is allowed for index"]),
        ("timestamp=ne:1", ["Not equal (ne) operator is not supported for timestamp"]),
        ("timestamp=1&index=ne:1", ["Not equal (ne) operator is not supported for index"]),
        ("index=1", ["timestamp must have eq operator"]),
        ("index=1&timestamp=gte:1", ["timestamp must have eq operator"]),
        ("timestamp=1&timestamp=gt:1", ["Can't support both range and equal for timestamp"]),
        ("timestamp=1&index=1&index=gt:1", ["Can't support both range and equal for index"]),
        ("index=gte:2&index=lte:7", ["index without a timestamp parameter filter"]),
        ("index=gt:0&timestamp=lt:1", ["timestamp must have gte or eq operator"]),
        ("index=gte:0&timestamp=gt:1", ["timestamp must have gte or eq operator"]),
        ("index=lt:0&timestamp=gt:1", ["timestamp must have lte or eq operator"]),
        ("index=lte:0&timestamp=lt:1", ["timestamp must have lte or eq operator"]),
        ("index=-1&index=a", ["Invalid parameter: index", "Invalid parameter: index"]),
        ("index=1.5&index=1e3&index=0x1", ["Invalid parameter: index"] * 3),
        (f"timestamp=1&index={2**63}", ["Invalid parameter: index"]),
        ("topic1=0xqqq&topic0=gt:1", ["Invalid parameter: topic1", "Invalid parameter: topic0"]),
        (f"topic2=0{'f' * 64}&topic3=", ["Invalid parameter: topic2", "Invalid parameter: topic3"]),
        (
            "scheduled=true&timestamp=x",
            ["Invalid parameter: timestamp", "Unknown query parameter: scheduled"],
        ),
    ],
)
@EACH
def test_what_is_wrong_is_named(api, url, query, messages):
    answer = api.get(f"{url}?{query}")
    assert (answer.status, answer.messages) == (400, messages)
    if url == ALL:
        answer = api.get(f"{url}?transaction.hash={'0' * 64}&{query}")
        assert (answer.status, answer.messages) == (400, messages)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            f"transaction.hash={'0' * 64}&transaction.hash={'1' * 64}",
            "Only one transaction.hash filter is allowed",
        ),
        (
            f"index=ne:1&transaction.hash={'0' * 64}&transaction.hash={'1' * 64}",
            "Not equal (ne) operator is not supported for index",
        ),
        (f"transaction.hash=gt:{'0' * 64}", "Invalid parameter: transaction.hash"),
        ("transaction.hash=00", "Invalid parameter: transaction.hash"),
    ],
)
def test_what_is_wrong_with_a_hash_is_named(api, query, message):
    assert api.get(f"{ALL}?{query}").messages == [message]
    assert api.get(f"{OF_CONTRACT}?{query}").messages[-1] == "Unknown query parameter: transaction.hash"


class TestPath:
    @pytest.mark.parametrize("name", ["7777", "0.0.0", "0x" + "0" * 40])
    def test_an_unknown_contract_has_no_logs(self, api, logs, name):
        answer = api.get(f"/api/v1/contracts/{name}/results/logs")
        assert_answer(answer, {"logs": [], "links": {"next": None}})

    def test_an_unknown_address_has_no_logs(self, api):
        answer = api.get(f"/api/v1/contracts/{EVM_ADDRESS}/results/logs")
        assert_answer(answer, {"logs": [], "links": {"next": None}})

    def test_an_account_may_have_logs(self, api, build):
        build.entity(1001, type="ACCOUNT", evm_address=bytes.fromhex(EVM_ADDRESS))
        log(AT + SECOND, contract_id=1001)
        answer = api.get(f"/api/v1/contracts/{EVM_ADDRESS}/results/logs")
        assert [row["contract_id"] for row in answer.json()["logs"]] == ["0.0.1001"]

    def test_the_contract_is_looked_up_before_the_index_is_checked(self, api):
        answer = api.get(f"/api/v1/contracts/{EVM_ADDRESS}/results/logs?index=1")
        assert_answer(answer, {"logs": [], "links": {"next": None}})
        answer = api.get("/api/v1/contracts/1024.0.5/results/logs?index=1")
        assert (answer.status, answer.messages) == (400, ["Invalid parameter: contractid"])

    def test_topics_are_checked_before_the_address_is_looked_up(self, api):
        answer = api.get(f"/api/v1/contracts/{EVM_ADDRESS}/results/logs?topic0=1")
        assert answer.messages[0].startswith(TOPICS)
        assert api.get("/api/v1/contracts/x/results/logs?foo=1").messages == ["Invalid parameter: contractid"]


class TestPaging:
    @pytest.mark.parametrize("order", ["asc", "desc"])
    @pytest.mark.parametrize("times", [[f"{at(2)}"], [f"gte:{at(2)}", f"lte:{at(2)}"]], ids=["eq", "range"])
    def test_pages_of_one_time_go_on_by_index(self, api, logs, order, times):
        given = "&".join(f"timestamp={time}" for time in times)
        answer = api.get(f"{OF_CONTRACT}?{given}&limit=2&order={order}")
        bound = "lt:2" if order == "desc" else "gt:2"
        link = f"{OF_CONTRACT}?{given}&limit=2&order={order}&index={bound}"
        assert answer.json()["links"]["next"] == link
        assert keys(api.get(link)) == [(2, 0 if order == "desc" else 4)]
        assert api.get(f"{OF_CONTRACT}?{given}&index=2&limit=1").json()["links"]["next"] is None

    def test_both_parameters_go_on(self, api, logs):
        assert api.get(f"{OF_CONTRACT}?limit=2").json()["links"]["next"] == (
            f"{OF_CONTRACT}?limit=2&timestamp=lte:{at(4)}.000000000&index=lt:2"
        )
        query = f"index=gte:0&timestamp=gte:{at(0)}&index=lte:2&timestamp=lte:{at(4)}&limit=2&order=asc"
        assert api.get(f"{OF_CONTRACT}?{query}").json()["links"]["next"] == (
            f"{OF_CONTRACT}?index=lte:2&index=gt:2&timestamp=lte:{at(4)}&timestamp=gte:{at(0)}.000000000"
            "&limit=2&order=asc"
        )

    def test_topics_stay_in_the_link(self, api, logs):
        given = f"topic0=0x97&timestamp=gte:{at(0)}&timestamp=lte:{at(4)}&limit=4"
        assert [key(row) for row in api.pages(f"{ALL}?{given}", "logs")] == sorted(logs, reverse=True)

    def test_the_alias_links_to_itself(self, api, logs):
        assert api.get(f"{ALIAS}?limit=1").json()["links"]["next"].startswith(ALIAS)

    def test_a_range_that_ends_before_it_begins_is_none(self, api, logs):
        query = f"timestamp=gt:{at(3)}&timestamp=lt:{at(2)}&limit=1"
        assert keys(api.get(f"{ALL}?{query}")) == [(4, 5)]
        assert keys(api.get(f"{OF_CONTRACT}?{query}")) == []

    @pytest.mark.parametrize("order", ["asc", "desc"])
    def test_a_search_may_end_with_the_configured_window(self, api, settings_of, order):
        settings_of({"rest.query.bindTimestampRange": True, "clock.now": 1700001100})
        settings_of({"rest.query.maxTransactionsTimestampRange": 2.0})
        # At both ends of a window there are several logs.
        ends = [AT, AT + 2 * SECOND - 1, AT + 2 * SECOND, AT + 4 * SECOND - 2, AT + 4 * SECOND]
        every = sorted(log(end, index) for end in ends for index in range(3))
        given = f"timestamp=gte:{at(0)}&timestamp=lte:{at(4)}"
        rows = api.pages(f"{ALL}?{given}&limit=4&order={order}", "logs")
        found = [(AT + (key(row)[0]) * SECOND + int(row["timestamp"][-9:]), row["index"]) for row in rows]
        assert found == (every if order == "asc" else every[::-1])


@EACH
@pytest.mark.parametrize("times", ["timestamp=0", "timestamp=lte:0", "timestamp=gte:0&timestamp=lt:1"])
def test_time_zero_is_an_end_like_any_other(api, logs, url, times):
    assert keys(api.get(f"{url}?{times}")) == []


def test_a_hash_may_be_encoded(api, build, logs):
    text = build.transaction_hash(AT + SECOND)
    assert len(keys(api.get(f"{ALL}?transaction%2Ehash={quote('0x' + text)}"))) == 6


def test_the_address_of_one_contract_is_looked_up_once_for_all_of_its_logs(api, build, logs):
    contract(build)
    for _ in range(2):
        assert api.get(f"/api/v1/contracts/{CONTRACT}/results/logs").json()["logs"]
    (plan,) = [each.plan for each in prepared(set()) if "evm_address from entity" in each.text]
    assert plan["Plans"][0]["Parent Relationship"] == "InitPlan"


@pytest.mark.parametrize("zero", ["0", "0x00", "0x" + "00" * 32])
@pytest.mark.parametrize("url", [ALL, f"/api/v1/contracts/{CONTRACT}/results/logs"])
def test_a_topic_of_zeros_is_that_of_nodes_and_of_synthetic_logs(api, url, zero):
    for index, topic in enumerate((b"\0", b"", b"\1", None)):
        log(AT, index, topic1=topic)
    time = seconds(AT)

    answer = api.get(f"{url}?topic0=0x97&topic1={zero}&timestamp=gte:{time}&timestamp=lte:{time}")
    alone = api.get(f"{url}?topic1={zero}&timestamp={time}")

    assert [row["index"] for row in answer.json()["logs"]] == [1, 0]
    assert alone.json()["logs"] == answer.json()["logs"]
    assert {row["topics"][1] for row in alone.json()["logs"]} == {"0x" + "00" * 32}
