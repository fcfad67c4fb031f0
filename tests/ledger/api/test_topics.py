import pytest

from mirror.core.values.hapi.messages import Key, KeyList
from tests.api import assert_answer
from tests.build import START

ED25519, ECDSA = Key(ed25519=b"\xab" * 32), Key(ECDSA_secp256k1=b"\x02" + b"\xcd" * 32)
ED25519_JSON = {"_type": "ED25519", "key": "ab" * 32}


def problem(detail, message="Not Found"):
    return {"_status": {"messages": [{"detail": detail, "message": message}]}}


@pytest.fixture
def topic(build):
    """Topic 7 with everything."""
    build.entity(
        7,
        type="TOPIC",
        since=START + 2,
        until=START + 9,
        created_timestamp=START,
        auto_renew_account_id=2,
        auto_renew_period=7776000,
        memo="café",
    )
    build.topic(
        7,
        admin_key=ED25519.SerializeToString(),
        submit_key=b"\x00",
        fee_schedule_key=bytes.fromhex("3200"),
        fee_exempt_key_list=KeyList(keys=[ED25519, ECDSA, Key(keyList=KeyList())]).SerializeToString(),
    )
    fees = [
        {"amount": 2**53 + 1, "collector_account_id": 98, "denominating_token_id": None},
        {
            "amount": 5,
            "collector_account_id": None,
            "denominating_token_id": 5005,
            "all_collectors_are_exempt": True,
        },
    ]
    build.custom_fee(7, since=START + 1, fixed_fees=fees)


def test_a_topic_has_all_members_in_order(api, topic):
    answer = api.get("/api/v1/topics/0.0.7")
    assert_answer(
        answer,
        {
            "admin_key": ED25519_JSON,
            "auto_renew_account": "0.0.2",
            "auto_renew_period": 7776000,
            "created_timestamp": "1700000000.000000000",
            "custom_fees": {
                "created_timestamp": "1700000000.000000001",
                "fixed_fees": [
                    {"amount": 2**53 + 1, "collector_account_id": "0.0.98", "denominating_token_id": None},
                    {"amount": 5, "collector_account_id": None, "denominating_token_id": "0.0.5005"},
                ],
            },
            "deleted": False,
            "fee_exempt_key_list": [
                ED25519_JSON,
                {"_type": "ECDSA_SECP256K1", "key": "02" + "cd" * 32},
                None,
            ],
            "fee_schedule_key": None,
            "memo": "café",
            "submit_key": {"_type": "ProtobufEncoded", "key": "00"},
            "timestamp": {"from": "1700000000.000000002", "to": "1700000000.000000009"},
            "topic_id": "0.0.7",
        },
    )
    assert answer.headers["cache-control"] == "public, max-age=5"
    assert answer.headers["content-type"] == "application/json;charset=UTF-8"
    assert len(answer.statements) == 1


@pytest.mark.parametrize("key_list", [None, b"", b"\x0a\x22", b"\xff"])
def test_no_fees_and_no_keys_are_empty_lists(api, build, key_list):
    build.entity(7, type="TOPIC", deleted=True)
    build.topic(7, fee_exempt_key_list=key_list)
    build.custom_fee(7)
    found = api.get("/api/v1/topics/7").json()
    assert found["custom_fees"]["fixed_fees"] == found["fee_exempt_key_list"] == []
    assert found["deleted"] is True and found["timestamp"]["to"] is None


def test_a_fee_may_leave_out_what_it_does_not_have(api, build):
    build.entity(7, type="TOPIC")
    build.topic(7)
    build.custom_fee(7, fixed_fees=[{"amount": 5}])
    assert api.get("/api/v1/topics/7").json()["custom_fees"]["fixed_fees"] == [
        {"amount": 5, "collector_account_id": None, "denominating_token_id": None}
    ]


@pytest.mark.parametrize("query", ["?foo=1", "?limit=0&limit=x", "?%zz"])
def test_the_query_is_ignored(api, topic, query):
    assert api.get(f"/api/v1/topics/0.7{query}").json() == api.get("/api/v1/topics/7").json()


def test_what_is_missing_is_named(api, build):
    build.entity(7)
    assert api.get("/api/v1/topics/7").json() == problem("Topic not found")
    build.topic(7)
    assert api.get("/api/v1/topics/7").json() == problem("Custom fee for entity not found")
    build.topic(8)
    answer = api.get("/api/v1/topics/8")
    assert (answer.status, answer.json()) == (404, problem("Entity not found"))
    assert answer.headers["cache-control"] == "public, max-age=5"


@pytest.mark.parametrize(
    "part", ["0.65536.1", "1024.0.1", "274877906944", "00000.0.1", "0.000000.1", "1" * 13]
)
def test_an_id_out_of_range_is_told(api, build, part):
    answer = api.get(f"/api/v1/topics/{part}")
    assert (answer.status, answer.json()) == (400, problem("Failed to convert 'id'", "Bad Request"))


@pytest.mark.parametrize("part", ["abc", "-1", "0.0.", "0..1", "0.0.0.7", "0x7", "7/", "7x", "0" * 39 + "a"])
def test_what_is_no_id_is_an_unknown_path(api, topic, part):
    answer = api.get(f"/api/v1/topics/{part}")
    assert (answer.status, answer.json()) == (404, {"_status": {"messages": [{"message": "Not found"}]}})


def test_the_path_is_case_sensitive_and_other_methods_are_not_allowed(api, topic):
    assert api.get("/api/v1/Topics/7").messages == ["Not found"]
    answer = api.request("POST", "/api/v1/topics/7")
    assert answer.status == 405
    assert answer.json() == problem("Request method 'POST' is not supported", "Method Not Allowed")
