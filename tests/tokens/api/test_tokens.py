import pytest

from tests.api import assert_answer
from tests.build import START

TOKENS = "/api/v1/tokens"
KEY = "ab" * 32
OTHER_KEY = "cd" * 32
NFT = "NON_FUNGIBLE_UNIQUE"


def found(answer):
    assert answer.status == 200, answer
    return [int(token["token_id"].rpartition(".")[2]) for token in answer.json()["tokens"]]


@pytest.fixture
def five(build):
    """Tokens 11 to 15: 12 and 14 non-fungible, 11 to 13 with a key; 16 has no entity."""
    for number in range(11, 16):
        key = KEY if number < 13 else OTHER_KEY if number == 13 else None
        build.entity(number, type="TOKEN", public_key=key)
        name = {11: "Coral Coin", 12: "coral art", 13: "100% Coral", 14: "Émile_art", 15: "C\\oral"}[number]
        build.token(number, name=name, type=NFT if number in (12, 14) else "FUNGIBLE_COMMON")
    build.token(16)
    build.entity(1001, public_key=KEY)
    for number in (11, 13, 14, 15, 16):
        build.holding(number, account=1001, associated=number != 15)
    build.holding(12, account=1002)


def test_a_listed_token_has_all_members_in_order(api, build):
    build.entity(1500, type="TOKEN", key=bytes.fromhex("1220" + KEY))
    build.token(1500, decimals=8, metadata=b"\x01\xff", name="Coral", symbol="CRL", type=NFT)
    build.entity(1501, type="TOKEN")
    build.token(1501, metadata=None)
    answer = api.get(TOKENS)
    assert_answer(
        answer,
        {
            "tokens": [
                {
                    "admin_key": {"_type": "ED25519", "key": KEY},
                    "metadata": "Af8=",
                    "name": "Coral",
                    "symbol": "CRL",
                    "token_id": "0.0.1500",
                    "type": NFT,
                    "decimals": 8,
                },
                {
                    "admin_key": None,
                    "metadata": "",
                    "name": "Token 1501",
                    "symbol": "T1501",
                    "token_id": "0.0.1501",
                    "type": "FUNGIBLE_COMMON",
                    "decimals": 2,
                },
            ],
            "links": {"next": None},
        },
    )
    assert answer.headers["cache-control"] == "public, max-age=10"
    assert len(answer.statements) == 1


def test_no_tokens_are_an_empty_list(api):
    assert api.get(TOKENS).json() == {"tokens": [], "links": {"next": None}}


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize(
    ("query", "tokens"),
    [
        ("", [11, 12, 13, 14, 15]),
        ("order=desc", [15, 14, 13, 12, 11]),
        ("limit=2&order=DESC", [15, 14]),
        ("token.id=13", [13]),
        ("token.id=eq:0.0.13", [13]),
        ("token.id=0.13&token.id=11", [11, 13]),
        (f"token.id={13:040x}", [13]),
        (f"token.id=gt:0x{13:040X}", [14, 15]),
        ("token.id=ne:13", [11, 12, 14, 15]),
        ("token.id=gt:13", [14, 15]),
        ("token.id=gte:13", [13, 14, 15]),
        ("token.id=lt:13", [11, 12]),
        ("token.id=lte:13", [11, 12, 13]),
        ("token.id=gt:11&token.id=lt:14&token.id=ne:12", [13]),
        ("token.id=16", []),
        ("type=all", [11, 12, 13, 14, 15]),
        ("type=ALL&type=fungible_common", [11, 13, 15]),
        ("type=FUNGIBLE_COMMON", [11, 13, 15]),
        ("type=eq:Non_Fungible_Unique", [12, 14]),
        ("type=non_fungible_unique&type=non_fungible_unique", [12, 14]),
        ("type=fungible_common&type=non_fungible_unique", []),
        (f"publickey={KEY}", [11, 12]),
        (f"publickey=0x{KEY.upper()}", [11, 12]),
        (f"publickey=302a300506032b6570032100{KEY}&order=desc&limit=1", [12]),
        (f"publickey=ne:{KEY}", [13]),
        (f"publickey=gt:{KEY}", [13]),
        (f"publickey=gte:{KEY}", [11, 12, 13]),
        (f"publickey=lt:{OTHER_KEY}", [11, 12]),
        (f"publickey=lte:{OTHER_KEY}", [11, 12, 13]),
        (f"publickey={KEY}&publickey={OTHER_KEY}", []),
        (f"publickey={KEY}&type=fungible_common", [11]),
        (f"publickey={KEY}&token.id=gt:11", [12]),
        ("account.id=1001", [11, 13, 14]),
        ("account.id=0.0.1001&order=desc&limit=2", [14, 13]),
        (f"account.id={1001:040x}", [11, 13, 14]),
        ("account.id=1001&type=fungible_common", [11, 13]),
        ("account.id=1001&token.id=gt:11&token.id=lt:14", [13]),
        (f"account.id=1001&publickey={KEY}", [11]),
        (f"account.id=1001&publickey=gt:{KEY}", [13]),
        ("account.id=1003", []),
        (f"account.id={'ab' * 20}", []),
        ("name=coral", [11, 12, 13]),
        ("name=CORAL&order=desc", [13, 12, 11]),
        ("name=eq:Coral", [11, 12, 13]),
        ("name=coral%20", [11, 12]),
        ("name=coral&name=art", [12]),
        ("name=coral&limit=1", [11]),
        ("name=nothing", []),
        ("name=e_art", [14]),
        ("name=l_art", [12]),
        ("name=c%25art", [12]),
        ("name=%25%25%25", [11, 12, 13, 14, 15]),
        ("name=c%5Coral", [15]),
        ("name=%C3%89m", [14]),
        ("name=%C3%A9m", [14]),
        ("name=coral&type=non_fungible_unique", [12]),
        (f"name=coral&publickey={KEY}", [11, 12]),
        (f"name=coral&publickey=gt:{KEY}", [13]),
    ],
)
def test_tokens_are_narrowed_by_every_parameter(api, query, tokens):
    assert found(api.get(f"{TOKENS}?{query}")) == tokens


def test_a_name_that_few_tokens_have_is_found_behind_many_others(api, build, monkeypatch):
    monkeypatch.setattr("tokens.queries.tokens._SEARCHED_FIRST", 2)
    for number in range(11, 20):
        build.entity(number, type="TOKEN")
        build.token(number, name="Coral" if number % 3 == 0 else "Ember")
    assert found(api.get(f"{TOKENS}?name=coral")) == [12, 15, 18]
    assert found(api.get(f"{TOKENS}?name=coral&limit=2&order=desc")) == [18, 15]
    assert found(api.get(f"{TOKENS}?name=ember&limit=1")) == [11]
    assert len(api.get(f"{TOKENS}?name=coral").statements) == 2


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize(
    ("query", "link"),
    [
        ("limit=2", "limit=2&token.id=gt:0.0.12"),
        ("limit=2&order=desc", "limit=2&order=desc&token.id=lt:0.0.14"),
        ("limit=1&token.id=gt:11&type=all", "limit=1&type=all&token.id=gt:0.0.12"),
        ("limit=1&account.id=1001", "limit=1&account.id=1001&token.id=gt:0.0.11"),
        (f"limit=1&publickey={KEY}", f"limit=1&publickey={KEY}&token.id=gt:0.0.11"),
        ("limit=6", None),
        ("limit=1&name=coral", None),
    ],
)
def test_the_next_page_goes_on_behind_the_last_token(api, query, link):
    next_link = api.get(f"{TOKENS}?{query}").json()["links"]["next"]
    assert next_link == (None if link is None else f"{TOKENS}?{link}")


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize("limit", [1, 2, 3, 100])
@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize(
    ("query", "tokens"),
    [
        ("", [11, 12, 13, 14, 15]),
        ("account.id=1001", [11, 13, 14]),
        (f"publickey={KEY}", [11, 12]),
        ("type=fungible_common&token.id=gt:11&token.id=lt:99", [13, 15]),
    ],
)
def test_paging_to_the_end_gives_every_token_once(api, limit, order, query, tokens):
    rows = api.pages(f"{TOKENS}?{query}&limit={limit}&order={order}", "tokens")
    in_order = tokens if order == "asc" else tokens[::-1]
    assert [row["token_id"] for row in rows] == [f"0.0.{number}" for number in in_order]


@pytest.mark.parametrize(
    ("query", "messages"),
    [
        ("name=abc&token.id=x&foo", ["token.id and name can not be used together. "
                                      "Use a more specific name instead."]),
        ("account.id=x&NAME=", ["account.id and name cannot be used together"]),
        ("account.id=1&name=abc&token.id=1", ["token.id and name can not be used together. "
                                               "Use a more specific name instead."]),
        ("name=ab", ["Invalid parameter: name"]),
        ("name=" + "a" * 101, ["Invalid parameter: name"]),
        ("name=" + "%C3%89" * 51, ["Invalid parameter: name"]),
        ("name=gt:abc", ["Invalid parameter: name"]),
        ("name=ne:abc", ["Invalid parameter: name"]),
        ("name=foo:bar", ["Invalid parameter: name"]),
        ("name=a%00bc", ["Invalid parameter: name"]),
        ("type=fungible", ["Invalid parameter: type"]),
        ("type=ne:all", ["Invalid parameter: type"]),
        ("publickey=ab", ["Invalid parameter: publickey"]),
        ("account.id=gt:5", ["Invalid parameter: account.id"]),
        ("account.id=eq:5", ["Invalid parameter: account.id"]),
        ("account.id=5&account.id=6", ['Entity ID "5,6" is not a string']),
        ("account.id=gt:5&account.id=6&limit=0", ["Invalid parameter: limit"]),
        ("account.id=-5", ['Invalid entity ID "0.0.-5"']),
        (f"token.id={'ab' * 20}", ["Invalid parameter: token.id"]),
        ("limit=0&order=x&foo=1&token.id=x&foo=2",
         ["Invalid parameter: limit", "Invalid parameter: order", "Invalid parameter: token.id",
          "Unknown query parameter: foo", "Unknown query parameter: foo"]),
    ],
)  # fmt: skip
def test_problems_are_named(api, query, messages):
    answer = api.get(f"{TOKENS}?{query}")
    assert (answer.status, answer.messages) == (400, messages)
    assert answer.statements == []


# One token.

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


@pytest.mark.parametrize(
    "text",
    [
        *["x", "-5", "1024.0.5", "0.65536.5", "274877906944", "1.2.3.4", "0.0.", "%00", "1%0A", "CIQAAAH4"],
        *[f"0.0.0x{1500:040x}", f"1.2.{1500:040x}", "ab" * 20, "0x" + "ab" * 20, f"{1500:039x}"],
    ],
)
@pytest.mark.parametrize("below", ["", "/balances", "/nfts", "/nfts/1", "/nfts/1/transactions"])
def test_what_is_no_token_id_is_invalid(api, text, below):
    answer = api.get(f"{TOKENS}/{text}{below}")
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
