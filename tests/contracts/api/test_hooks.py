import pytest

from tests.api import assert_answer
from tests.build import START, insert, time_range

URL = "/api/v1/accounts/1001/hooks"
EVERY = [0, 10, 20, 30, 2**63 - 1]


def hook(hook_id, *, owner=1001, **columns):
    insert(
        "hook",
        **{
            "owner_id": owner,
            "hook_id": hook_id,
            "contract_id": 600,
            "created_timestamp": START,
            "timestamp_range": time_range(START),
        }
        | columns,
    )


def listed(answer):
    assert answer.status == 200, answer
    return [row["hook_id"] for row in answer.json()["hooks"]]


@pytest.fixture
def five(build):
    for hook_id in EVERY:
        hook(hook_id)
        hook(hook_id, owner=1002)


def test_a_hook_has_all_members_in_order(api, build):
    hook(1, admin_key=bytes.fromhex("1220") + b"\5" * 32, timestamp_range=time_range(START, START + 1))
    hook(0, contract_id=None, created_timestamp=0, timestamp_range=None, deleted=True)
    answer = api.get(URL)
    first = {
        "admin_key": {"_type": "ED25519", "key": "05" * 32},
        "contract_id": "0.0.600",
        "created_timestamp": "1700000000.000000000",
        "deleted": False,
        "extension_point": "ACCOUNT_ALLOWANCE_HOOK",
        "hook_id": 1,
        "owner_id": "0.0.1001",
        "timestamp_range": {"from": "1700000000.000000000", "to": "1700000000.000000001"},
        "type": "EVM",
    }
    second = first | {
        "admin_key": None,
        "contract_id": None,
        "created_timestamp": "0.0",
        "deleted": True,
        "hook_id": 0,
        "timestamp_range": None,
    }
    assert_answer(answer, {"hooks": [first, second], "links": {"next": None}})
    assert answer.headers["cache-control"] == "public, max-age=1"
    assert answer.headers["content-type"] == "application/json;charset=UTF-8"
    assert len(answer.statements) == 1


def test_a_page_after_which_none_can_follow_has_no_link(api, five):
    between = f"{URL}?limit=1&hook.id=gt:{{}}&hook.id=lt:{{}}"
    last = api.get(between.format(19, 21))
    assert (listed(last), last.json()["links"]["next"], last.headers.get("link")) == ([20], None, None)
    another = api.get(between.format(18, 21))
    assert another.json()["links"]["next"] == f"{URL}?limit=1&hook.id=gt:18&hook.id=lt:20"
    assert another.headers["link"] == f'<{another.json()["links"]["next"]}>; rel="next"'


RANGES = [
    ("", EVERY),
    ("hook.id=", EVERY),
    ("Hook.id=10", EVERY),
    ("hook.id=10", [10]),
    ("hook.id=EQ:10&hook.id=30&hook.id=99", [10, 30]),
    ("hook.id=10,10,30", [10, 30]),
    ("hook.id=gt:10", EVERY[2:]),
    ("hook.id=gte:10&hook.id=lt:30", [10, 20]),
    ("hook.id=lte:10,lte:0", [0]),
    ("hook.id=ne:10", EVERY),
    ("hook.id=10&hook.id=ne:10", [10]),
    ("hook.id=10&hook.id=30&hook.id=gt:10&hook.id=gte:5", [30]),
    ("hook.id=10&hook.id=lt:10", []),
    ("hook.id=gt:30&hook.id=lt:20", []),
    ("hook.id=lt:0", []),
    (f"hook.id=gt:{2**63 - 1}", []),
    (f"hook.id=lte:{2**63 - 1}", EVERY),
]


@pytest.mark.parametrize(("query", "expected"), RANGES)
def test_ids_narrow_the_list_in_both_directions(api, five, query, expected):
    assert listed(api.get(f"{URL}?{query}")) == expected[::-1]
    assert listed(api.get(f"{URL}?{query}&order=Asc")) == expected


@pytest.mark.parametrize(
    ("query", "link"),
    [
        ("limit=4", "limit=4&hook.id=lt:10"),
        ("limit=1&order=asc&x=%20", "limit=1&order=asc&x=%20&hook.id=gt:0"),
        ("limit=1&hook.id=gt:10&hook.id=lt:30&x=1", "limit=1&hook.id=gt:10&hook.id=lt:20&x=1"),
        ("limit=1&hook.id=20,30", "limit=1&hook.id=20&hook.id=30"),
        ("limit=1&hook.id=NE:10", "limit=1&hook.id=NE:10"),
        ("limit=6", None),
    ],
)
def test_the_next_page_begins_after_the_last_hook(api, five, query, link):
    answer = api.get(f"{URL}?{query}")
    expected = link and f"{URL}?{link}"
    assert answer.json()["links"]["next"] == expected
    assert answer.headers.get("link") == (expected and f'<{expected}>; rel="next"')


def test_an_account_is_named_in_any_form_and_need_not_exist(api, build, five):
    build.entity(1001, evm_address=b"\xe9" * 20)
    assert listed(api.get(f"/api/v1/accounts/0x{'e9' * 20}/hooks?order=asc")) == EVERY
    assert listed(api.get("/api/v1/accounts/0.0.4711/hooks")) == []


def problems(*details, message="Bad Request"):
    return {"_status": {"messages": [{"detail": text, "message": message} for text in details]}}


@pytest.mark.parametrize(
    ("path", "status", "details"),
    [
        ("0.65536.1/hooks?limit=0", 400, ["Failed to convert 'ownerId'"]),
        ("5/hooks?limit=x&order=x&hook.id=x", 400, ["Failed to convert 'hook.id'"]),
        ("5/hooks?limit=x&order=x", 400, ["Failed to convert 'limit'"]),
        ("5/hooks?hook.id=-1", 400, ["Failed to convert 'hook.id'"]),
        ("5/hooks?hook.id=9223372036854775808", 400, ["Failed to convert 'hook.id'"]),
        ("5/hooks?hook.id=gte::1", 400, ["Failed to convert 'hook.id'"]),
        (
            f"{'ab' * 20}/hooks?limit=0&hook.id={','.join(map(str, range(101)))}",
            400,
            ["hookId size must be between 0 and 100", "limit must be greater than 0"],
        ),
        (f"{'ab' * 20}/hooks", 404, ["No account found for the given ID"]),
        (
            "5/hooks/",
            404,
            ["No static resource api/v1/accounts/5/hooks for request '/api/v1/accounts/5/hooks/'."],
        ),
        (
            "5/hooks/1",
            404,
            ["No static resource api/v1/accounts/5/hooks/1 for request '/api/v1/accounts/5/hooks/1'."],
        ),
    ],
)
def test_problems_are_told(api, build, path, status, details):
    answer = api.get(f"/api/v1/accounts/{path}")
    message = {400: "Bad Request", 404: "Not Found"}[status]
    assert (answer.status, answer.json()) == (status, problems(*details, message=message))
