import pytest

from tests.api import assert_answer
from tests.build import SECOND, START

REWARDS = "/api/v1/accounts/1001/rewards"


def times(answer):
    assert answer.status == 200, answer
    return [(int(reward["timestamp"][:10]) * SECOND - START) // SECOND for reward in answer.json()["rewards"]]


def at(number):
    return f"{START // SECOND + number}"


@pytest.fixture
def four(build):
    """Rewards of 1001 after 1 to 4 seconds, and one of 1002."""
    for account in (1001, 1002):
        build.entity(account, alias=b"alias%d" % account, evm_address=bytes([account % 256]) * 20)
    for number in range(1, 5):
        build.staking_reward(START + number * SECOND, 1001, number)
    build.staking_reward(START + 2 * SECOND, 1002, 9)


def test_a_reward_has_all_members_in_order(api, build):
    build.entity(1001)
    build.staking_reward(START + 1, 1001, 2**53 + 1)
    answer = api.get(REWARDS)
    reward = {"account_id": "0.0.1001", "amount": 2**53 + 1, "timestamp": "1700000000.000000001"}
    assert_answer(answer, {"rewards": [reward], "links": {"next": None}})
    assert answer.headers["cache-control"] == "public, max-age=60"
    assert len(answer.statements) == 1


@pytest.mark.parametrize("name", ["0.0.1001", "0x" + "e9" * 20, "0" * 37 + "3e9", "MFWGSYLTGEYDAMI"])
def test_an_account_is_named_in_any_form(api, four, name):
    assert times(api.get(f"/api/v1/accounts/{name}/rewards")) == [4, 3, 2, 1]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("order=asc", [1, 2, 3, 4]),
        ("limit=2", [4, 3]),
        (f"timestamp={at(2)}", [2]),
        (f"timestamp={at(2)}&timestamp=eq:{at(3)}", [3, 2]),
        (f"timestamp={at(2)}&timestamp={at(3)}&timestamp=gt:{at(2)}", [3]),
        (f"timestamp=gt:{at(2)}", [4, 3]),
        (f"timestamp=gte:{at(2)}&timestamp=lt:{at(4)}", [3, 2]),
        (f"timestamp=lte:{at(2)}&timestamp=lte:{at(3)}", [2, 1]),
        (f"timestamp=gt:{at(3)}&timestamp=lt:{at(2)}", []),
        ("timestamp=gt:9999999999.9", []),
        ("timestamp=lt:9999999999.9", [4, 3, 2, 1]),
    ],
)
def test_parameters_narrow_the_list(api, four, query, expected):
    assert times(api.get(f"{REWARDS}?{query}")) == expected


def test_the_next_page_begins_after_the_last_reward(api, four):
    next_link = api.get(f"{REWARDS}?limit=2").json()["links"]["next"]
    assert next_link == f"{REWARDS}?limit=2&timestamp=lt:{at(3)}.000000000"


def test_an_entity_of_any_kind_may_have_no_rewards(api, build):
    build.entity(1001, type="TOPIC", deleted=True)
    assert_answer(api.get(REWARDS), {"rewards": [], "links": {"next": None}})


@pytest.mark.parametrize(
    ("url", "status", "messages"),
    [
        ("9999/rewards", 404, ["Not found"]),
        ("9999/rewards?limit=0", 404, ["Not found"]),
        ("9999/rewards?timestamp=ne:5", 404, ["Not found"]),
        (f"{'ab' * 20}/rewards", 404, ["Not found"]),
        ("AAAAAAAA/rewards?foo", 404, ["No account with a matching alias found"]),
        ("zz/rewards?foo=1", 400, ["Invalid parameter: idOrAliasOrEvmAddress"]),
        ("1001/rewards?timestamp=ne:5", 400, ["Not equals (ne) operator is not supported for timestamp"]),
        (
            "1001/rewards?foo=1&timestamp=x&limit=a&timestamp=ne:5",
            400,
            ["Invalid parameter: timestamp", "Invalid parameter: limit", "Unknown query parameter: foo"],
        ),
    ],
)
def test_problems_are_told(api, four, url, status, messages):
    answer = api.get(f"/api/v1/accounts/{url}")
    assert (answer.status, answer.messages) == (status, messages)


def test_rewards_of_an_account_that_is_not_known_are_not_told(api, build):
    build.staking_reward(START, 1003, 5)
    assert api.get("/api/v1/accounts/1003/rewards").status == 404
