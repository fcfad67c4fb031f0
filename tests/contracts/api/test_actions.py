import pytest

from tests.api import assert_answer
from tests.build import SECOND
from tests.contracts.api.rows import (
    AT,
    CONTRACT,
    OTHER,
    PAYER,
    SENDER,
    action,
    address,
    digest,
    found_by,
    seconds,
)

VALID_START = AT - SECOND
BY_HASH = f"/api/v1/contracts/results/0x{digest(AT).hex()}/actions"
BY_ID = f"/api/v1/contracts/results/0.0.{PAYER}-{VALID_START // SECOND}-{VALID_START % SECOND:09}/actions"
BOTH = pytest.mark.parametrize("url", [BY_HASH, BY_ID], ids=["hash", "id"])

EXPECTED = {
    "call_depth": 1,
    "call_operation_type": "CALL",
    "call_type": "CALL",
    "caller": f"0.0.{SENDER}",
    "caller_type": "ACCOUNT",
    "from": address(SENDER),
    "gas": 900,
    "gas_used": 90,
    "index": 1,
    "input": "0x07",
    "recipient": f"0.0.{CONTRACT}",
    "recipient_type": "CONTRACT",
    "result_data": "0x06",
    "result_data_type": "OUTPUT",
    "timestamp": seconds(AT),
    "to": address(CONTRACT),
    "value": 20,
}


@pytest.fixture(autouse=True)
def transaction(build):
    build.transaction(AT, payer=PAYER, transfers=[])
    found_by(AT)


def indexes(answer):
    assert answer.status == 200, answer
    return [row["index"] for row in answer.json()["actions"]]


@BOTH
def test_an_action_is_shown_with_all_its_members(api, url):
    action(1)
    action(2, payer_account_id=PAYER + 1)
    answer = api.get(url)
    assert_answer(answer, {"actions": [EXPECTED], "links": {"next": None}})
    assert answer.headers["cache-control"] == "public, max-age=600"


@pytest.mark.parametrize(
    ("columns", "members"),
    [
        *(
            ({"call_operation_type": number}, {"call_operation_type": name})
            for number, name in [
                *((None, "UNKNOWN"), (0, "UNKNOWN"), (2, "CALLCODE"), (3, "DELEGATECALL")),
                *((4, "STATICCALL"), (5, "CREATE"), (6, "CREATE2"), (7, "UNKNOWN")),
            ]
        ),
        *(
            ({"call_type": number}, {"call_type": name})
            for number, name in enumerate(("NO_ACTION", "CALL", "CREATE", "PRECOMPILE", "SYSTEM"))
        ),
        ({"result_data_type": 12}, {"result_data_type": "REVERT_REASON"}),
        ({"result_data_type": 13}, {"result_data_type": "ERROR"}),
        ({"input": None, "result_data": b""}, {"input": "0x", "result_data": "0x"}),
        (
            {"recipient_account": 1001, "recipient_contract": None},
            {"recipient": "0.0.1001", "recipient_type": "ACCOUNT", "to": address(1001)},
        ),
        (
            {"recipient_contract": None, "recipient_address": b"\1\2"},
            {"recipient": None, "recipient_type": None, "to": address(0x0102)},
        ),
        ({"recipient_contract": None}, {"recipient": None, "recipient_type": None, "to": None}),
        (
            {"caller": None, "caller_type": "CONTRACT"},
            {"caller": None, "from": None, "caller_type": "CONTRACT"},
        ),
    ],
)
def test_each_column_has_its_members(api, columns, members):
    action(1, **columns)
    (shown,) = api.get(BY_HASH).json()["actions"]
    assert {name: shown[name] for name in members} == members


@pytest.mark.parametrize(
    "columns", [{"call_type": None}, {"call_type": 9}, {"result_data_type": 0}], ids=["null", "9", "0"]
)
def test_a_number_without_name_is_left_out(api, columns):
    action(1, **columns)
    (shown,) = api.get(BY_HASH).json()["actions"]
    assert set(EXPECTED) - set(shown) == set(columns)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [1, 2, 3, 4]),
        ("order=desc", [4, 3, 2, 1]),
        ("limit=2", [1, 2]),
        ("index=2", [2]),
        ("index=2&index=3", []),
        ("index=gt:2", [3, 4]),
        ("index=gte:2&index=lt:4", [2, 3]),
        ("index=lte:2&index=gt:0", [1, 2]),
        ("index=9223372036854775807", []),
    ],
)
@BOTH
def test_actions_are_chosen(api, url, query, expected):
    for index in range(1, 5):
        action(index)
    assert indexes(api.get(f"{url}?{query}")) == expected


@BOTH
def test_a_transaction_may_have_none(api, url):
    assert_answer(api.get(f"{url}?index=2"), {"actions": [], "links": {"next": None}})


@pytest.mark.parametrize(
    ("query", "messages"),
    [
        (
            "order=b&limit=c&nonce=2",
            ["Invalid parameter: order", "Invalid parameter: limit", "Unknown query parameter: nonce"],
        ),
        ("index=ne:3", ["Invalid parameter: index"]),
        ("index=eq:test&index=-1", ["Invalid parameter: index", "Invalid parameter: index"]),
    ],
)
def test_what_is_wrong_is_named(api, query, messages):
    for url in (BY_ID, "/api/v1/contracts/results/x/actions"):
        answer = api.get(f"{url}?{query}")
        assert (answer.status, answer.messages) == (400, messages)


@pytest.mark.parametrize("name", ["ab" * 32, f"0.0.{OTHER}-1-1"])
def test_an_unknown_transaction_is_not_found(api, name):
    answer = api.get(f"/api/v1/contracts/results/{name}/actions")
    assert (answer.status, answer.messages) == (404, ["Not found"])


def test_another_text_names_no_transaction(api):
    answer = api.get("/api/v1/contracts/results/x/actions")
    assert (answer.status, answer.messages[0][:22]) == (400, "Invalid Transaction id")
