import base64

import pytest

from tests.api import assert_answer
from tests.build import START

TOKENS = "/api/v1/accounts/1001/allowances/tokens"
NFTS = "/api/v1/accounts/1001/allowances/nfts"
EVERY = [(21, 31), (21, 32), (22, 31), (22, 33), (23, 31)]


def listed(answer, party="spender"):
    assert answer.status == 200, answer
    return [
        tuple(int(row[name].removeprefix("0.0.")) for name in (party, "token_id"))
        for row in answer.json()["allowances"]
    ]


@pytest.fixture
def five(build):
    """Of account 1001, which is no entity, and of 1002, for tokens of one kind and of the other."""
    for kind, nothing in (("token", {"amount": 0}), ("nft", {"approved_for_all": False})):
        for spender, token in EVERY:
            build.allowance(kind, owner=1001, spender=spender, token_id=token)
            build.allowance(kind, owner=1002, spender=spender, token_id=token)
        build.allowance(kind, owner=1001, spender=22, token_id=32, **nothing)


@pytest.fixture
def given_to(build):
    """The same, given to account 1001 by accounts 21 to 23."""
    for owner, token in EVERY:
        build.allowance("nft", owner=owner, spender=1001, token_id=token)
    build.allowance("nft", owner=1001, spender=24, token_id=31)


def test_a_token_allowance_has_all_members_in_order(api, build):
    build.allowance("token", owner=1001, spender=21, token_id=31, amount=2**60 + 1, since=START + 1)
    answer = api.get(TOKENS)
    allowance = {
        "amount": 2**60 + 1,
        "amount_granted": 7,
        "owner": "0.0.1001",
        "spender": "0.0.21",
        "timestamp": {"from": "1700000000.000000001", "to": None},
        "token_id": "0.0.31",
    }
    assert_answer(answer, {"allowances": [allowance], "links": {"next": None}})
    assert answer.headers["cache-control"] == "public, max-age=1"
    assert len(answer.statements) == 1


RANGES = [
    ("", EVERY),
    ("P=22", [(22, 31), (22, 33)]),
    ("P=gt:21", [(22, 31), (22, 33), (23, 31)]),
    ("P=gte:0.0.22&P=lt:23", [(22, 31), (22, 33)]),
    ("P=lte:0.21", [(21, 31), (21, 32)]),
    ("P=22&token.id=33", [(22, 33)]),
    ("P=22&token.id=gt:31", [(22, 33)]),
    ("P=22&token.id=gte:31&token.id=lte:32", [(22, 31)]),
    ("P=gte:21&token.id=gt:31", [(21, 32), (22, 31), (22, 33), (23, 31)]),
    ("token.id=lt:33&P=lte:22", [(21, 31), (21, 32), (22, 31)]),
    ("P=gte:21&P=lte:22&token.id=gt:31&token.id=lt:33", [(21, 32), (22, 31)]),
    ("P=gt:20&token.id=31", [(21, 31), (22, 31), (23, 31)]),
    ("P=99", []),
]


@pytest.mark.parametrize(("query", "expected"), RANGES)
def test_parameters_narrow_the_lists_in_both_directions(api, five, query, expected):
    for url, party in ((TOKENS, "spender.id"), (NFTS, "account.id")):
        assert listed(api.get(f"{url}?{query.replace('P', party)}")) == expected
        assert listed(api.get(f"{url}?{query.replace('P', party)}&order=DESC")) == expected[::-1]


@pytest.mark.parametrize(("query", "expected"), RANGES)
def test_the_spender_may_ask_as_well(api, given_to, query, expected):
    url = f"{NFTS}?owner=false&{query.replace('P', 'account.id')}"
    assert listed(api.get(url), "owner") == expected
    assert listed(api.get(f"{url}&order=desc"), "owner") == expected[::-1]


def test_a_spring_list_has_no_link_from_a_full_page_where_the_range_ends(api, five):
    answer = api.get(f"{NFTS}?account.id=gt:22&account.id=lt:24&token.id=31&limit=1")
    assert listed(answer) == [(23, 31)]
    assert (answer.json()["links"]["next"], answer.headers.get("link")) == (None, None)


@pytest.mark.parametrize(
    ("url", "next_url"),
    [
        (f"{TOKENS}?limit=2", f"{TOKENS}?limit=2&spender.id=gte:0.0.21&token.id=gt:0.0.32"),
        (
            f"{TOKENS}?limit=2&order=desc&spender.id=lte:22",
            f"{TOKENS}?limit=2&order=desc&spender.id=lte:0.0.22&token.id=lt:0.0.31",
        ),
        (f"{TOKENS}?limit=1&spender.id=22", f"{TOKENS}?limit=1&spender.id=22&token.id=gt:0.0.31"),
        (f"{TOKENS}?limit=1&spender.id=22&token.id=33", None),
        (f"{NFTS}?limit=2&foo=b+c", f"{NFTS}?limit=2&foo=b%20c&account.id=gte:0.0.21&token.id=gt:0.0.32"),
        (f"{NFTS}?limit=1&account.id=22", f"{NFTS}?limit=1&account.id=22&token.id=gt:0.0.31"),
        (
            f"{NFTS}?limit=1&token.id=31&account.id=gte:21&account.id=lt:23",
            f"{NFTS}?limit=1&token.id=31&account.id=lt:23&account.id=gt:0.0.21",
        ),
        (f"{NFTS}?limit=1&account.id=22&token.id=33", f"{NFTS}?limit=1&account.id=22&token.id=33"),
        (f"{NFTS}?limit=6", None),
    ],
)
def test_the_next_page_begins_after_the_last_pair(api, five, url, next_url):
    answer = api.get(url)
    assert answer.json()["links"]["next"] == next_url
    assert answer.headers.get("link") == (next_url and f'<{next_url}>; rel="next"')


@pytest.mark.parametrize(
    ("url", "status", "messages"),
    [
        (f"{'ab' * 20}/allowances/tokens?foo=1", 404, ["Not found"]),
        ("AAAAAAAA/allowances/tokens", 404, ["No account with a matching alias found"]),
        ("zz/allowances/tokens?foo=1", 400, ["Invalid parameter: idOrAliasOrEvmAddress"]),
        (
            "1001/allowances/tokens?account.id=1&token.id=x&limit=",
            400,
            [
                "Invalid parameter: token.id",
                "Invalid parameter: limit",
                "Unknown query parameter: account.id",
            ],
        ),
        ("1001/allowances/tokens?token.id=1", 400, ["token.id without a spender.id parameter filter"]),
        (
            "1001/allowances/tokens?spender.id=gt:1&token.id=gt:1",
            400,
            ["spender.id must have gte or eq operator"],
        ),
        (
            "1001/allowances/tokens?spender.id=ne:1",
            400,
            ["Not equal (ne) operator is not supported for spender.id"],
        ),
    ],
)
def test_problems_of_the_token_list_are_told(api, five, url, status, messages):
    answer = api.get(f"/api/v1/accounts/{url}")
    assert (answer.status, answer.messages) == (status, messages)


@pytest.mark.parametrize("operator", ["eq", "gt", "lte"])
def test_an_evm_address_of_nobody_matches_no_spender(api, five, operator):
    assert listed(api.get(f"{TOKENS}?spender.id={operator}:{'ab' * 20}")) == []


def test_an_nft_allowance_has_all_members_in_order(api, build):
    build.allowance("nft", owner=1001, spender=21, token_id=31, since=START + 1)
    answer = api.get(NFTS)
    allowance = {
        "approved_for_all": True,
        "owner": "0.0.1001",
        "spender": "0.0.21",
        "timestamp": {"from": "1700000000.000000001", "to": None},
        "token_id": "0.0.31",
    }
    assert_answer(answer, {"allowances": [allowance], "links": {"next": None}})
    assert answer.headers["cache-control"] == "public, max-age=1"
    assert answer.headers["content-type"] == "application/json;charset=UTF-8"
    assert len(answer.statements) == 1


ALIAS = bytes(range(25))


@pytest.mark.parametrize(
    "name", ["0.0.1001", "0.1001", "0x" + "e9" * 20, "7.8." + "e9" * 20, base64.b32encode(ALIAS).decode()]
)
def test_an_account_is_named_in_any_form(api, build, five, name):
    build.entity(1001, evm_address=b"\xe9" * 20, alias=ALIAS)
    assert listed(api.get(f"/api/v1/accounts/{name}/allowances/nfts")) == EVERY


def problem(detail, message="Bad Request"):
    return {"detail": detail, "message": message}


@pytest.mark.parametrize(
    ("url", "status", "details"),
    [
        ("0.65536.1/allowances/nfts?limit=0", 400, ["Failed to convert 'id'"]),
        ("1001/allowances/nfts?limit=0&account.id=x", 400, ["Failed to convert 'account.id'"]),
        (
            "1001/allowances/nfts?limit=101&token.id=1,2,3&account.id=1&account.id=2&account.id=3",
            400,
            [
                "accountIds size must be between 0 and 2",
                "limit must be less than or equal to 100",
                "tokenIds size must be between 0 and 2",
            ],
        ),
        (f"{'ab' * 20}/allowances/nfts?limit=0", 400, ["limit must be greater than 0"]),
        (f"{'ab' * 20}/allowances/nfts?token.id=5", 400, ["token.id parameter must have account.id present"]),
    ],
)
def test_problems_of_the_nft_list_are_told(api, five, url, status, details):
    answer = api.get(f"/api/v1/accounts/{url}")
    assert answer.status == status
    assert answer.json() == {"_status": {"messages": [problem(detail) for detail in details]}}


@pytest.mark.parametrize("name", ["ab" * 20, "0" * 37 + "3e9", "A" * 40])
def test_an_account_nobody_is_called_is_not_found(api, five, name):
    answer = api.get(f"/api/v1/accounts/{name}/allowances/nfts")
    assert answer.status == 404
    expected = problem("No account found for the given ID", "Not Found")
    assert answer.json() == {"_status": {"messages": [expected]}}
