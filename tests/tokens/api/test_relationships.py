import pytest

from mirror.core.db.distribution import is_distributed
from tests.api import assert_answer
from tests.build import SECOND, START, insert, time_range

TOKENS = "/api/v1/accounts/1001/tokens"


def tokens(answer):
    assert answer.status == 200, answer
    return [int(token["token_id"].removeprefix("0.0.")) for token in answer.json()["tokens"]]


@pytest.fixture
def five(build):
    """Account 1001 with tokens 31 to 35; it left 36."""
    build.entity(1001)
    for token in range(31, 37):
        build.holding(build.token(token), account=1001, associated=token != 36)
    build.holding(33, account=1002)


def test_a_relationship_has_all_members_in_order(api, build):
    build.entity(1001)
    build.token(31, decimals=8, freeze_status=1, kyc_status=2)
    build.holding(31, account=1001, balance=2**60 + 1, since=START + 1, automatic_association=True)
    answer = api.get(TOKENS)
    token = {
        "automatic_association": True,
        "balance": 2**60 + 1,
        "created_timestamp": "1700000000.000000001",
        "decimals": 8,
        "token_id": "0.0.31",
        "freeze_status": "FROZEN",
        "kyc_status": "REVOKED",
    }
    assert_answer(answer, {"tokens": [token], "links": {"next": None}})
    assert answer.headers["cache-control"] == "public, max-age=1"
    assert len(answer.statements) == (2 if is_distributed() else 1)


@pytest.mark.parametrize(
    ("own", "of_token", "freeze_status", "kyc_status"),
    [
        (0, 1, "NOT_APPLICABLE", "NOT_APPLICABLE"),
        (1, 0, "FROZEN", "GRANTED"),
        (2, 1, "UNFROZEN", "REVOKED"),
        (None, 2, "UNFROZEN", "REVOKED"),
    ],
)
def test_a_status_of_its_own_counts_more_than_the_tokens(
    api, build, own, of_token, freeze_status, kyc_status
):
    build.entity(1001)
    build.token(31, freeze_status=of_token, kyc_status=of_token)
    build.holding(31, account=1001, freeze_status=own, kyc_status=own)
    (token,) = api.get(TOKENS).json()["tokens"]
    assert (token["freeze_status"], token["kyc_status"]) == (freeze_status, kyc_status)


def test_of_a_token_that_is_not_known_only_the_relationship_is_told(api, build):
    build.entity(1001)
    build.holding(31, account=1001, created_timestamp=None, automatic_association=None)
    (token,) = api.get(TOKENS).json()["tokens"]
    assert token == {
        "automatic_association": None,
        "balance": 0,
        "created_timestamp": None,
        "decimals": None,
        "token_id": "0.0.31",
        "freeze_status": None,
        "kyc_status": None,
    }


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [31, 32, 33, 34, 35]),
        ("order=desc&limit=3", [35, 34, 33]),
        ("token.id=32", [32]),
        ("token.id=32&token.id=eq:0.0.34&token.id=36", [32, 34]),
        ("token.id=32&token.id=34&token.id=lt:33", [32]),
        ("token.id=gt:32&token.id=gt:33", [34, 35]),
        ("token.id=gte:32&token.id=lt:34", [32, 33]),
        ("token.id=lte:0.32", [31, 32]),
        ("token.id=gt:5&token.id=lt:4", []),
    ],
)
def test_parameters_narrow_the_list(api, five, query, expected):
    assert tokens(api.get(f"{TOKENS}?{query}")) == expected


def test_the_next_page_begins_after_the_last_token(api, five):
    assert api.get(f"{TOKENS}?limit=2").json()["links"]["next"] == f"{TOKENS}?limit=2&token.id=gt:0.0.32"


def test_an_account_without_tokens_has_an_empty_list(api, build):
    build.entity(1001)
    assert_answer(api.get(TOKENS), {"tokens": [], "links": {"next": None}})


@pytest.mark.parametrize(
    ("url", "status", "messages"),
    [
        ("9999/tokens?foo=1", 404, ["Not found"]),
        (f"{'ab' * 20}/tokens", 404, ["Not found"]),
        ("AAAAAAAA/tokens", 404, ["No account with a matching alias found"]),
        ("zz/tokens?foo=1", 400, ["Invalid parameter: idOrAliasOrEvmAddress"]),
        (
            "1001/tokens?token.id=ne:5",
            400,
            ["Not equal (ne) comparison operator is not supported for token.id"],
        ),
        (
            "1001/tokens?spender.id=1&token.id=x&order=up",
            400,
            [
                "Invalid parameter: token.id",
                "Invalid parameter: order",
                "Unknown query parameter: spender.id",
            ],
        ),
        (f"1001/tokens?token.id={'ab' * 20}", 400, ["Invalid parameter: token.id"]),
        ("1001/tokens?token.id=274877906944", 400, ['Invalid entity ID "0.0.274877906944"']),
    ],
)
def test_problems_are_told(api, five, url, status, messages):
    answer = api.get(f"/api/v1/accounts/{url}")
    assert (answer.status, answer.messages) == (status, messages)


# AT A TIME


JUNE = 1_685_577_600 * SECOND  # 2023-06-01


@pytest.fixture
def changing(build, settings_of):
    """Account 1001: token 31 frozen at 10, left at 20, back at 30; 32 joined at 20; snapshots at 5, 25."""
    settings_of({"clock.now": JUNE / SECOND + 86_400.0})
    build.entity(1001)
    build.token(31)
    build.token(32, decimals=2)
    joined = {"account_id": 1001, "automatic_association": False, "created_timestamp": JUNE}
    for since, until, changes in (
        (JUNE, JUNE + 10, {"associated": True, "freeze_status": 2}),
        (JUNE + 10, JUNE + 20, {"associated": True, "freeze_status": 1}),
        (JUNE + 20, JUNE + 30, {"associated": False}),
    ):
        row = joined | changes
        insert("token_account_history", token_id=31, timestamp_range=time_range(since, until), **row)
    build.holding(31, account=1001, since=JUNE + 30, balance=9)
    build.holding(32, account=1001, since=JUNE + 20, balance=77)
    for at, token, balance in ((5, 31, 4), (25, 32, 70)):
        insert("account_balance", consensus_timestamp=JUNE + at, account_id=2, balance=1)
        row = {"consensus_timestamp": JUNE + at, "account_id": 1001}
        insert("token_balance", token_id=token, balance=balance, **row)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("timestamp=lt:1685577600", []),
        ("timestamp=1685577600.000000007", [(31, 4, "UNFROZEN")]),
        ("timestamp=lte:1685577600.000000015", [(31, 4, "FROZEN")]),
        ("timestamp=1685577600.000000026", [(32, 70, "NOT_APPLICABLE")]),
        ("timestamp=1685577600.00000003", [(31, 4, "NOT_APPLICABLE"), (32, 70, "NOT_APPLICABLE")]),
        ("timestamp=1685577600.00000003&token.id=gt:31", [(32, 70, "NOT_APPLICABLE")]),
        ("timestamp=1685577600.00000003&order=desc&limit=1", [(32, 70, "NOT_APPLICABLE")]),
        ("timestamp=gt:5&timestamp=lt:4", []),
    ],
)
def test_relationships_of_a_time(api, changing, query, expected):
    answer = api.get(f"{TOKENS}?{query}")
    found = [(token["balance"], token["freeze_status"]) for token in answer.json()["tokens"]]
    assert list(zip(tokens(answer), *zip(*found, strict=True), strict=True)) == expected


def test_pages_of_a_time_are_of_that_time(api, changing):
    url = f"{TOKENS}?timestamp=1685577600.00000003"
    assert api.pages(f"{url}&limit=1", "tokens") == api.get(url).json()["tokens"]
