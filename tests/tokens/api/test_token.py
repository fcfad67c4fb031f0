import pytest

from tests.api import assert_answer
from tests.build import START

TOKENS = "/api/v1/tokens"
KEY = "ab" * 32
OTHER_KEY = "cd" * 32
NFT = "NON_FUNGIBLE_UNIQUE"

FIXED = {
    "all_collectors_are_exempt": True,
    "amount": 5,
    "collector_account_id": 98,
    "denominating_token_id": 1600,
}
IN_HBAR = {"amount": 6, "collector_account_id": 99, "denominating_token_id": None}
FRACTIONAL = {
    "all_collectors_are_exempt": True,
    "collector_account_id": 98,
    "denominator": 10,
    "maximum_amount": 100,
    "minimum_amount": 1,
    "net_of_transfers": True,
    "numerator": 3,
}
ROYALTY = {
    "all_collectors_are_exempt": False,
    "collector_account_id": 98,
    "denominator": 20,
    "fallback_fee": {"amount": 7, "denominating_token_id": 1600},
    "numerator": 1,
}


def key(byte):
    return bytes.fromhex("1220") + bytes([byte]) * 32


def key_json(byte):
    return {"_type": "ED25519", "key": f"{byte:02x}" * 32}


def make(build, token_id=1500, *, since=START, **columns):
    build.entity(token_id, type="TOKEN", since=since)
    build.custom_fee(token_id, since=since)
    return build.token(token_id, since=since, **columns)


def test_one_token_has_all_members_in_order(api, build):
    build.entity(
        1500,
        type="TOKEN",
        since=START + 7,
        auto_renew_account_id=1002,
        auto_renew_period=7_776_000,
        expiration_timestamp=START + 99,
        key=key(1),
        memo="a memo",
    )
    build.custom_fee(1500, since=START + 5, fixed_fees=[FIXED, IN_HBAR], fractional_fees=[FRACTIONAL])
    build.token(
        1500,
        since=START + 6,
        created_timestamp=START,
        fee_schedule_key=key(2),
        freeze_default=True,
        freeze_key=key(3),
        initial_supply=1_000,
        kyc_key=key(4),
        max_supply=9_223_372_036_854_775_807,
        metadata=b"meta",
        metadata_key=key(5),
        name="Coral",
        pause_key=key(6),
        pause_status="UNPAUSED",
        supply_key=key(7),
        supply_type="FINITE",
        symbol="CRL",
        total_supply=2_000,
        treasury_account_id=1001,
        wipe_key=key(8),
    )
    expected = {
        "admin_key": key_json(1),
        "auto_renew_account": "0.0.1002",
        "auto_renew_period": 7_776_000,
        "created_timestamp": "1700000000.000000000",
        "custom_fees": {
            "created_timestamp": "1700000000.000000005",
            "fixed_fees": [
                {
                    "all_collectors_are_exempt": True,
                    "amount": 5,
                    "collector_account_id": "0.0.98",
                    "denominating_token_id": "0.0.1600",
                },
                {
                    "all_collectors_are_exempt": False,
                    "amount": 6,
                    "collector_account_id": "0.0.99",
                    "denominating_token_id": None,
                },
            ],
            "fractional_fees": [
                {
                    "all_collectors_are_exempt": True,
                    "amount": {"numerator": 3, "denominator": 10},
                    "collector_account_id": "0.0.98",
                    "denominating_token_id": "0.0.1500",
                    "maximum": 100,
                    "minimum": 1,
                    "net_of_transfers": True,
                }
            ],
        },
        "decimals": "2",
        "deleted": False,
        "expiry_timestamp": START + 99,
        "fee_schedule_key": key_json(2),
        "freeze_default": True,
        "freeze_key": key_json(3),
        "initial_supply": "1000",
        "kyc_key": key_json(4),
        "max_supply": "9223372036854775807",
        "memo": "a memo",
        "metadata": "bWV0YQ==",
        "metadata_key": key_json(5),
        "modified_timestamp": "1700000000.000000007",
        "name": "Coral",
        "pause_key": key_json(6),
        "pause_status": "UNPAUSED",
        "supply_key": key_json(7),
        "supply_type": "FINITE",
        "symbol": "CRL",
        "token_id": "0.0.1500",
        "total_supply": "2000",
        "treasury_account_id": "0.0.1001",
        "type": "FUNGIBLE_COMMON",
        "wipe_key": key_json(8),
    }
    answer = api.get(f"{TOKENS}/0.0.1500")
    assert_answer(answer, expected)
    assert answer.headers["cache-control"] == "public, max-age=5"
    assert len(answer.statements) == 1
    assert_answer(api.get(f"{TOKENS}/1500?timestamp=1700000001"), expected)


def test_a_token_without_extras_has_nulls(api, build):
    make(build, token_id=1500, metadata=None)
    answer = api.get(f"{TOKENS}/1500").json()
    nulls = [name for name, value in answer.items() if value is None]
    keys = ["fee_schedule", "freeze", "kyc", "metadata", "pause", "supply", "wipe"]
    assert sorted(nulls) == sorted(
        ["admin_key", "auto_renew_account", "auto_renew_period", "expiry_timestamp"]
        + [f"{name}_key" for name in keys]
    )
    assert (answer["metadata"], answer["pause_status"]) == ("", "NOT_APPLICABLE")
    assert answer["custom_fees"] == {
        "created_timestamp": "1700000000.000000000",
        "fixed_fees": [],
        "fractional_fees": [],
    }


@pytest.mark.parametrize(
    ("fallback", "shown"),
    [
        (ROYALTY["fallback_fee"], {"amount": 7, "denominating_token_id": "0.0.1600"}),
        ({"amount": 7, "denominating_token_id": None}, {"amount": 7, "denominating_token_id": None}),
        ({"amount": 0, "denominating_token_id": 1600}, None),
        ({"denominating_token_id": 1600}, None),
        (None, None),
    ],
)
def test_non_fungible_tokens_have_royalties(api, build, fallback, shown):
    build.entity(1500, type="TOKEN")
    build.token(1500, type=NFT)
    royalty = {**ROYALTY, "fallback_fee": fallback}
    build.custom_fee(1500, fixed_fees=[IN_HBAR], fractional_fees=[FRACTIONAL], royalty_fees=[royalty])
    fees = api.get(f"{TOKENS}/1500").json()["custom_fees"]
    assert list(fees) == ["created_timestamp", "fixed_fees", "royalty_fees"]
    assert len(fees["fixed_fees"]) == 1
    assert fees["royalty_fees"] == [
        {
            "all_collectors_are_exempt": False,
            "amount": {"denominator": 20, "numerator": 1},
            "collector_account_id": "0.0.98",
            "fallback_fee": shown,
        }
    ]


@pytest.mark.parametrize("maximum", [None, 0])
def test_a_fraction_without_maximum_has_null(api, build, maximum):
    build.entity(1500, type="TOKEN")
    build.token(1500)
    fee = {"collector_account_id": 98, "denominator": 2, "maximum_amount": maximum, "minimum_amount": 0,
           "numerator": 1}  # fmt: skip
    build.custom_fee(1500, fractional_fees=[fee])
    (shown,) = api.get(f"{TOKENS}/1500").json()["custom_fees"]["fractional_fees"]
    assert (shown["maximum"], shown["minimum"]) == (None, 0)
    assert (shown["all_collectors_are_exempt"], shown["net_of_transfers"]) == (False, False)


def test_without_expiry_of_its_own_a_token_expires_a_period_after_its_creation(api, build):
    build.entity(1500, type="TOKEN", auto_renew_period=100, since=START + 50)
    build.custom_fee(1500)
    build.token(1500, created_timestamp=START + 3)
    assert api.get(f"{TOKENS}/1500").json()["expiry_timestamp"] == START + 3 + 100 * 10**9


@pytest.fixture
def versions(build):
    """Token 1500, changed at 20 and 40, its entity at 30, its fees at 10 and 30; made at 0 to 10."""
    build.token(1500, table="token_history", since=START, until=START + 20, symbol="ONE")
    build.token(1500, table="token_history", since=START + 20, until=START + 40, symbol="TWO")
    build.token(1500, since=START + 40, created_timestamp=START, symbol="THREE")
    build.entity(1500, type="TOKEN", table="entity_history", since=START, until=START + 30, memo="one")
    build.entity(1500, type="TOKEN", since=START + 30, created_timestamp=START, memo="two")
    build.custom_fee(1500, table="custom_fee_history", since=START + 10, until=START + 30)
    build.custom_fee(1500, since=START + 30, fixed_fees=[FIXED])


@pytest.mark.usefixtures("versions")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("timestamp=1700000000.000000009", None),
        ("timestamp=lt:1700000000.00000001", None),
        ("timestamp=lte:1700000000.00000001", ("ONE", "one", 0)),
        ("timestamp=1700000000.00000002", ("TWO", "one", 0)),
        ("timestamp=eq:1700000000.000000029", ("TWO", "one", 0)),
        ("timestamp=lt:1700000000.00000003", ("TWO", "one", 0)),
        ("timestamp=lte:1700000000.00000003", ("TWO", "two", 30)),
        ("timestamp=1700000001", ("THREE", "two", 40)),
        ("timestamp=lt:9999999999.999999999", ("THREE", "two", 40)),
        ("timestamp=1&timestamp=1700000000.000000020", ("TWO", "one", 0)),
        ("timestamp=1700000001&timestamp=lt:1", None),
        ("", ("THREE", "two", 40)),
    ],
)
def test_a_token_is_shown_as_it_was(api, query, expected):
    answer = api.get(f"{TOKENS}/1500?{query}")
    if expected is None:
        assert (answer.status, answer.messages) == (404, ["Not found"])
        return
    symbol, memo, since = expected
    shown = answer.json()
    assert (shown["symbol"], shown["memo"]) == (symbol, memo)
    assert len(shown["custom_fees"]["fixed_fees"]) == (memo == "two")
    modified = since or (20 if symbol == "TWO" else 0)
    assert shown["modified_timestamp"] == f"1700000000.{modified:09}"
    assert len(answer.statements) == 1


def test_a_token_of_which_a_part_is_missing_is_not_found(api, build):
    build.token(11)
    build.custom_fee(11)
    build.token(12)
    build.entity(12, type="TOKEN")
    build.entity(13, type="TOKEN")
    build.custom_fee(13)
    for number in (11, 12, 13, 14, 0):
        for query in ("", "?timestamp=1800000000"):
            answer = api.get(f"{TOKENS}/{number}{query}")
            assert (answer.status, answer.messages) == (404, ["Not found"])


@pytest.mark.parametrize(
    "text", ["1500", "0.1500", "0.0.1500", "0.0.01500", f"{1500:040x}", f"0x{1500:040X}", f"0.0.{1500:040x}"]
)
def test_a_token_is_found_by_every_form_of_its_id(api, build, text):
    make(build)
    assert api.get(f"{TOKENS}/{text}").json()["token_id"] == "0.0.1500"


@pytest.mark.parametrize("text", ["0x1500", "0x0.0.1500"])
def test_0x_before_the_number_counts_for_nothing(api, build, text):
    make(build)
    assert api.get(f"{TOKENS}/{text}").json()["token_id"] == "0.0.1500"
    assert api.get(f"{TOKENS}/0x5").messages == ["Not found"]
    assert api.get(f"{TOKENS}/0x5/balances").json()["balances"] == []


@pytest.mark.parametrize(
    "path",
    [
        *["x/balances", "x/nfts", "x/nfts/1", "x/nfts/1/transactions"],
        *["0x", "0xa", "0x-5", "0x0x5"],
        *["x", "-5", "1024.0.5", "0.65536.5", "274877906944", "1.2.3.4", "0.0.", "%00", "1%0A", "CIQAAAH4"],
        *[f"0.0.0x{1500:040x}", f"1.2.{1500:040x}", "ab" * 20, "0x" + "ab" * 20, f"{1500:039x}"],
    ],
)
def test_what_is_no_token_id_is_invalid(api, path):
    answer = api.get(f"{TOKENS}/{path}")
    assert (answer.status, answer.messages) == (400, ["Invalid parameter: tokenid"])


@pytest.mark.parametrize("text", ["ab" * 20, "0x" + "AB" * 20, "0.0." + "ab" * 20])
def test_an_evm_address_that_an_entity_bears_is_its_id(api, build, text):
    build.entity(1500, type="TOKEN", evm_address=b"\xab" * 20)
    build.custom_fee(1500)
    build.token(1500)
    build.holding(1500, account=1001)
    build.nft(1500, 1, account=1001)
    assert api.get(f"{TOKENS}/{text}").json()["token_id"] == "0.0.1500"
    assert len(api.get(f"{TOKENS}/{text}/balances").json()["balances"]) == 1
    assert len(api.get(f"{TOKENS}/{text}/nfts").json()["nfts"]) == 1
    assert api.get(f"{TOKENS}/{text}/nfts/1").json()["token_id"] == "0.0.1500"


def test_the_path_is_read_before_the_query(api):
    assert api.get(f"{TOKENS}/x?foo=1").messages == ["Invalid parameter: tokenid"]
    assert api.get(f"{TOKENS}/x/balances?limit=0").messages == ["Invalid parameter: tokenid"]


def test_all_problems_of_a_time_are_named(api):
    query = "timestamp=gt:1&timestamp=gte:1&timestamp=ne:1&timestamp=x&limit=1"
    answer = api.get(f"{TOKENS}/1500?{query}")
    assert answer.status == 400
    assert answer.messages == ["Invalid parameter: timestamp"] * 4 + ["Unknown query parameter: limit"]
