import pytest

from tests.api import assert_answer
from tests.build import START

CRYPTO = "/api/v1/accounts/1001/allowances/crypto"


def spenders(answer):
    assert answer.status == 200, answer
    return [int(allowance["spender"].removeprefix("0.0.")) for allowance in answer.json()["allowances"]]


@pytest.fixture
def five(build):
    """Of account 1001, which is no entity, for 21 to 25; nothing is left for 26."""
    for spender in range(21, 27):
        build.allowance("crypto", owner=1001, spender=spender, amount=26 - spender)
    build.allowance("crypto", owner=1002, spender=23)


def test_an_allowance_has_all_members_in_order(api, build):
    build.allowance("crypto", owner=1001, spender=21, amount=5, amount_granted=2**60 + 1, since=START + 1)
    answer = api.get(CRYPTO)
    allowance = {
        "amount": 5,
        "amount_granted": 2**60 + 1,
        "owner": "0.0.1001",
        "spender": "0.0.21",
        "timestamp": {"from": "1700000000.000000001", "to": None},
    }
    assert_answer(answer, {"allowances": [allowance], "links": {"next": None}})
    assert answer.headers["cache-control"] == "public, max-age=1"
    assert len(answer.statements) == 1


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [25, 24, 23, 22, 21]),
        ("order=asc&limit=3", [21, 22, 23]),
        ("spender.id=22", [22]),
        ("spender.id=22&spender.id=0.0.24&spender.id=26", [24, 22]),
        ("spender.id=22&spender.id=24&spender.id=gt:23", [24]),
        ("spender.id=gt:22&spender.id=gt:23", [25, 24]),
        ("spender.id=gte:22&spender.id=lt:24", [23, 22]),
        ("spender.id=lte:0.22", [22, 21]),
        ("spender.id=0x0000000000000000000000000000000000000016", [22]),
        (f"spender.id={'ab' * 20}", []),
    ],
)
def test_parameters_narrow_the_list(api, five, query, expected):
    assert spenders(api.get(f"{CRYPTO}?{query}")) == expected


def test_the_next_page_begins_after_the_last_spender(api, five):
    assert api.get(f"{CRYPTO}?limit=2").json()["links"]["next"] == f"{CRYPTO}?limit=2&spender.id=lt:0.0.24"


def test_the_number_of_nothing_allows_nothing(api, build):
    assert_answer(
        api.get("/api/v1/accounts/9999/allowances/crypto"), {"allowances": [], "links": {"next": None}}
    )


@pytest.mark.parametrize(
    ("url", "status", "messages"),
    [
        (f"{'ab' * 20}/allowances/crypto?foo=1", 404, ["Not found"]),
        ("AAAAAAAA/allowances/crypto", 404, ["No account with a matching alias found"]),
        ("zz/allowances/crypto?foo=1", 400, ["Invalid parameter: idOrAliasOrEvmAddress"]),
        (
            "1001/allowances/crypto?spender.id=ne:5",
            400,
            ["Not equal (ne) comparison operator is not supported for spender.id"],
        ),
        (
            "1001/allowances/crypto?token.id=1&spender.id=x&limit=-1",
            400,
            [
                "Invalid parameter: spender.id",
                "Invalid parameter: limit",
                "Unknown query parameter: token.id",
            ],
        ),
        ("1001/allowances/crypto?spender.id=0.65536.1", 400, ['Invalid entity ID "0.65536.1"']),
    ],
)
def test_problems_are_told(api, five, url, status, messages):
    answer = api.get(f"/api/v1/accounts/{url}")
    assert (answer.status, answer.messages) == (status, messages)
