import pytest

from mirror.core.db.distribution import is_distributed
from tests.api import assert_answer
from tests.build import START

NFTS = "/api/v1/accounts/1001/nfts"
EVERY = [(31, 1), (31, 2), (32, 1), (32, 2), (32, 3), (33, 2)]


def pairs(rows):
    return [(int(row["token_id"].removeprefix("0.0.")), row["serial_number"]) for row in rows]


def listed(answer):
    assert answer.status == 200, answer
    return pairs(answer.json()["nfts"])


@pytest.fixture
def six(build):
    """Of account 1001, which is no entity; 21 may spend two of them, 22 one."""
    spenders = {(31, 2): 21, (32, 2): 22, (32, 3): 21}
    for token, serial in EVERY:
        build.nft(token, serial, account=1001, spender=spenders.get((token, serial)))
    build.nft(31, 3, account=1002, spender=21)
    build.nft(31, 4, account=None)


def test_an_nft_has_all_members_in_order(api, build):
    build.entity(31, type="TOKEN")
    build.nft(
        31,
        2**60 + 1,
        account=1001,
        since=START + 1,
        created_timestamp=START,
        delegating_spender=1003,
        spender=1002,
        metadata=b"\xfb\xff",
    )
    answer = api.get(NFTS)
    nft = {
        "account_id": "0.0.1001",
        "created_timestamp": "1700000000.000000000",
        "delegating_spender": "0.0.1003",
        "deleted": False,
        "metadata": "+/8=",
        "modified_timestamp": "1700000000.000000001",
        "serial_number": 2**60 + 1,
        "spender": "0.0.1002",
        "token_id": "0.0.31",
    }
    assert_answer(answer, {"nfts": [nft], "links": {"next": None}})
    assert answer.headers["cache-control"] == "public, max-age=1"
    assert len(answer.statements) == (2 if is_distributed() else 1)


@pytest.mark.parametrize(
    ("own", "of_token", "expected"),
    [
        (False, True, True),
        (True, False, True),
        (False, None, False),
        (None, False, None),
        (None, True, True),
        (False, "unknown", False),
    ],
)
def test_an_nft_is_deleted_with_its_token(api, build, own, of_token, expected):
    if of_token != "unknown":
        build.entity(31, type="TOKEN", deleted=of_token)
    build.nft(31, 1, account=1001, deleted=own, metadata=None, created_timestamp=None)
    (nft,) = api.get(NFTS).json()["nfts"]
    assert nft["deleted"] is expected
    assert nft["metadata"] is nft["created_timestamp"] is nft["spender"] is None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", EVERY),
        ("token.id=32", [(32, 1), (32, 2), (32, 3)]),
        ("token.id=gt:31", [(32, 1), (32, 2), (32, 3), (33, 2)]),
        ("token.id=gte:0.0.31&token.id=lt:32", [(31, 1), (31, 2)]),
        ("token.id=lte:0.31", [(31, 1), (31, 2)]),
        ("token.id=0x000000000000000000000000000000000000001f", [(31, 1), (31, 2)]),
        ("token.id=32&serialnumber=2", [(32, 2)]),
        ("token.id=32&serialnumber=gt:1&serialnumber=lte:3", [(32, 2), (32, 3)]),
        ("token.id=gte:31&serialnumber=gt:1", [(31, 2), (32, 1), (32, 2), (32, 3), (33, 2)]),
        ("token.id=lte:32&serialnumber=lt:2", [(31, 1), (31, 2), (32, 1)]),
        (
            "serialnumber=lte:2&token.id=lte:32&token.id=gte:31&serialnumber=gte:2",
            [(31, 2), (32, 1), (32, 2)],
        ),
        ("token.id=gt:30&serialnumber=2", [(31, 2), (32, 2), (33, 2)]),
        ("token.id=gt:33&token.id=lt:32", []),
        ("token.id=32&serialnumber=gt:3&serialnumber=lt:2", []),
        ("spender.id=21", [(31, 2), (32, 3)]),
        ("spender.id=21&spender.id=0.0.22", [(31, 2), (32, 2), (32, 3)]),
        ("spender.id=21&spender.id=22&spender.id=gt:21", [(32, 2)]),
        ("spender.id=gt:21", [(32, 2)]),
        ("spender.id=gte:21&spender.id=lt:22", [(31, 2), (32, 3)]),
        ("spender.id=lte:22&token.id=gte:31&serialnumber=gt:2", [(32, 2), (32, 3)]),
        ("spender.id=gt:22&token.id=lt:31&token.id=gt:33", []),
        ("spender.id=21&token.id=32", [(32, 3)]),
        (f"spender.id={'ab' * 20}", []),
    ],
)
def test_parameters_narrow_the_list_in_both_directions(api, six, query, expected):
    assert listed(api.get(f"{NFTS}?{query}&order=asc")) == expected
    assert listed(api.get(f"{NFTS}?{query}")) == expected[::-1]


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize(
    "narrow",
    [
        "",
        "&token.id=gte:31&serialnumber=gt:1",
        "&token.id=lte:32&token.id=gt:30&serialnumber=lt:3",
        "&token.id=32",
    ]
    + ["&spender.id=21", "&spender.id=gt:20", "&token.id=gt:31&serialnumber=2"],
)
def test_all_pages_together_have_every_nft_once(api, six, order, narrow):
    whole = api.get(f"{NFTS}?order={order}{narrow}").json()["nfts"]
    for limit in (1, 2):
        assert api.pages(f"{NFTS}?order={order}{narrow}&limit={limit}", "nfts") == whole


@pytest.mark.parametrize(
    ("query", "next_query"),
    [
        ("limit=2", "limit=2&token.id=lte:0.0.32&serialnumber=lt:3"),
        ("limit=2&order=asc&token.id=32", "limit=2&order=asc&token.id=32&serialnumber=gt:2"),
        (
            "limit=2&order=asc&token.id=gte:31&serialnumber=2",
            "limit=2&order=asc&serialnumber=2&token.id=gt:0.0.32",
        ),
        (
            "spender.id=gt:20&limit=2&order=asc",
            "spender.id=gt:20&limit=2&order=asc&token.id=gte:0.0.32&serialnumber=gt:2",
        ),
        ("limit=1&token.id=32&serialnumber=2", None),
        ("limit=6", "limit=6&token.id=lte:0.0.31&serialnumber=lt:1"),
        ("limit=7", None),
    ],
)
def test_the_next_page_begins_after_the_last_pair(api, six, query, next_query):
    expected = next_query and f"{NFTS}?{next_query}"
    assert api.get(f"{NFTS}?{query}").json()["links"]["next"] == expected


def test_the_number_of_nothing_holds_nothing(api, build):
    assert_answer(api.get("/api/v1/accounts/9999/nfts"), {"nfts": [], "links": {"next": None}})


@pytest.mark.parametrize(
    ("url", "status", "messages"),
    [
        (f"{'ab' * 20}/nfts?foo=1", 404, ["Not found"]),
        ("AAAAAAAA/nfts?limit=0", 404, ["No account with a matching alias found"]),
        ("zz/nfts?foo=1", 400, ["Invalid parameter: idOrAliasOrEvmAddress"]),
        (
            "1001/nfts?token.id=x&foo=1&serialnumber=0&spender.id=z&order=12&limit=a",
            400,
            [
                *(
                    f"Invalid parameter: {name}"
                    for name in ("token.id", "serialnumber", "spender.id", "order", "limit")
                ),
                "Unknown query parameter: foo",
            ],
        ),
        (f"1001/nfts?token.id={'ab' * 20}", 400, ["Invalid parameter: token.id"]),
        ("1001/nfts?serialnumber=1", 400, ["serialnumber without a token.id parameter filter"]),
        (
            "1001/nfts?spender.id=gt:1&spender.id=gte:2",
            400,
            ["Multiple range params not allowed for spender.id"],
        ),
        (
            "1001/nfts?spender.id=lt:1&spender.id=lt:2",
            400,
            ["Multiple range params not allowed for spender.id"],
        ),
        ("1001/nfts?spender.id=ne:1", 400, ["Not equals (ne) comparison operator is not supported"]),
        (
            "1001/nfts?spender.id=ne:1&token.id=ne:1",
            400,
            ["Not equal (ne) operator is not supported for token.id"],
        ),
        ("1001/nfts?token.id=1024.0.1", 400, ['Invalid entity ID "1024.0.1"']),
    ],
)
def test_problems_are_told(api, six, url, status, messages):
    answer = api.get(f"/api/v1/accounts/{url}")
    assert (answer.status, answer.messages) == (status, messages)
