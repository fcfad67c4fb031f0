from decimal import Decimal

import pytest

from network.api.supply import TOTAL, hbars
from tests.api import assert_answer
from tests.build import SECOND, insert

URL = "/api/v1/network/supply"

# The start of months, in seconds.
JANUARY, FEBRUARY, MARCH, APRIL = 1_704_067_200, 1_706_745_600, 1_709_251_200, 1_711_929_600


def snapshot(at, *, nanos=0, **balances):
    """Balances of accounts: `_2=5` is that of account 2."""
    for account, balance in balances.items():
        insert(
            "account_balance",
            account_id=int(account[1:]),
            balance=balance,
            consensus_timestamp=at * SECOND + nanos,
        )


def problem(detail, message="Bad Request"):
    return {"_status": {"messages": [{"detail": detail, "message": message}]}}


def released(answer):
    """What is held back, and the time; None if nothing is known."""
    if answer.status == 404:
        assert answer.json() == problem("Network supply not found", "Not Found")
        return None
    assert answer.status == 200, answer
    return TOTAL - int(answer.json()["released_supply"]), answer.json()["timestamp"]


def test_what_the_networks_accounts_hold_is_not_released(api, build):
    held = {2: 4 * 10**18, 42: 1, 44: 10, 71: 100, 73: 1000, 99: 10_000, 349: 10**5, 400: 10**6, 750: 10**7}
    for account, balance in held.items():
        build.entity(account, balance=balance, balance_timestamp=account)
    for account in (1, 3, 43, 72, 98, 101, 199, 350, 399, 751, 1001):
        build.entity(account, balance=1, balance_timestamp=10**18)
    answer = api.get(URL)
    expected = {
        "released_supply": str(10**18 - 11_111_111),
        "timestamp": "0.000000750",
        "total_supply": "5000000000000000000",
    }
    assert_answer(answer, expected)
    assert answer.headers["cache-control"] == "public, max-age=60"
    assert len(answer.statements) == 1


def test_the_accounts_are_a_setting_of_the_networks_shard_and_realm(api, build, settings_of):
    settings_of({"common.shard": 1, "common.realm": 2, "rest.network.unreleasedSupplyAccounts": ("5", "7-8")})
    base = (1 << 54) + (2 << 38)
    for number in range(1, 10):
        build.entity(base + number, balance=10**number, balance_timestamp=1)
        build.entity(number, balance=3, balance_timestamp=2)
    assert released(api.get(URL)) == (110_100_000, "0.000000001")


@pytest.mark.parametrize(
    ("q", "text"),
    [
        ("circulating", "49999999999.99987655"),
        ("Circulating", "49999999999.99987655"),
        ("totalcoins", "50000000000.00000000"),
        ("TOTALCOINS", "50000000000.00000000"),
        ("totalcoins&q=circulating", "50000000000.00000000"),
    ],
)
def test_one_number_alone_is_plain_text_in_hbars(api, build, q, text):
    build.entity(2, balance=12_345, balance_timestamp=1)
    answer = api.get(f"{URL}?q={q}")
    assert (answer.status, answer.body.decode()) == (200, text)
    assert answer.headers["content-type"] == "text/plain;charset=UTF-8"
    assert answer.headers["cache-control"] == "public, max-age=60"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert api.get(f"{URL}?q={q}", if_none_match=answer.headers["etag"]).status == 304


@pytest.mark.parametrize("tinybars", [0, 1, 12_345, 10**8 - 1, 10**8, TOTAL, -1, -(10**8)])
def test_hbars_have_eight_decimals(tinybars):
    assert hbars(tinybars) == f"{Decimal(tinybars) / 10**8:.8f}"


@pytest.fixture
def snapshots(build):
    """The first of a month is whole, later ones have what changed."""
    snapshot(JANUARY, _2=1000, _42=1)
    snapshot(FEBRUARY, _2=2000, _42=2, _3=7)
    snapshot(FEBRUARY + 900, _42=20, _1001=7)
    snapshot(FEBRUARY + 1800, nanos=5, _2=2001)
    snapshot(MARCH, _2=3000, _42=3)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (f"timestamp={FEBRUARY}", (2002, FEBRUARY)),
        (f"timestamp=eq:{FEBRUARY}.0", (2002, FEBRUARY)),
        (f"timestamp={FEBRUARY + 899}.999999999", (2002, FEBRUARY)),
        (f"timestamp=lte:{FEBRUARY + 900}", (2020, FEBRUARY + 900)),
        (f"timestamp=lt:{FEBRUARY + 900}", (2002, FEBRUARY)),
        (f"timestamp={FEBRUARY + 1800}.000000005", (2021, f"{FEBRUARY + 1800}.000000005")),
        (f"timestamp=lt:{FEBRUARY + 1800}.000000005", (2020, FEBRUARY + 900)),
        (f"timestamp=lt:{MARCH}", (2021, f"{FEBRUARY + 1800}.000000005")),
        (f"timestamp={MARCH}", (3003, MARCH)),
        (f"timestamp={APRIL}", (3003, MARCH)),
        # The last bound of a side counts.
        (f"timestamp=lt:{APRIL}&timestamp=lte:{FEBRUARY}", (2002, FEBRUARY)),
        (f"timestamp=lte:{FEBRUARY}&timestamp=lt:{APRIL}", (3003, MARCH)),
        # The fraction is a number of nanoseconds.
        (f"timestamp={FEBRUARY + 1800}.5", (2021, f"{FEBRUARY + 1800}.000000005")),
        (f"timestamp={FEBRUARY + 1800}.4", (2020, FEBRUARY + 900)),
        (f"timestamp=GT:{FEBRUARY},LT:{MARCH}&foo=1", (2021, f"{FEBRUARY + 1800}.000000005")),
        (f"timestamp=gt:{FEBRUARY}&timestamp=lt:{MARCH}", (2021, f"{FEBRUARY + 1800}.000000005")),
        (f"timestamp=gt:{FEBRUARY}&timestamp=lte:{FEBRUARY + 900}", (20, FEBRUARY + 900)),
        (f"timestamp=gt:{FEBRUARY}&timestamp=lt:{FEBRUARY + 900}", None),
        (f"timestamp=lt:{JANUARY}", None),
        ("timestamp=0", None),
        ("timestamp=lt:9000000001&timestamp=gt:9000000000.5", None),
    ],
)
def test_a_time_chooses_the_latest_balances_up_to_it(api, snapshots, query, expected):
    if expected and isinstance(expected[1], int):
        expected = (expected[0], f"{expected[1]}.000000000")
    assert released(api.get(f"{URL}?{query}")) == expected


@pytest.mark.parametrize("bound", [f"gt:{JANUARY}", "gte:0", f"gte:{MARCH}", "gt:9000000000"])
def test_a_lower_bound_alone_finds_nothing(api, snapshots, bound):
    assert released(api.get(f"{URL}?timestamp={bound}")) is None


def test_the_beginning_of_time_has_no_nanoseconds(api, build):
    build.entity(2, balance=1, balance_timestamp=0)
    assert released(api.get(URL)) == (1, "0.0")


def test_balances_from_before_the_month_before_are_too_old(api, build):
    snapshot(JANUARY, _2=1000)
    assert released(api.get(f"{URL}?timestamp=lt:{MARCH}")) == (1000, f"{JANUARY}.000000000")
    assert released(api.get(f"{URL}?timestamp={MARCH}")) is None


@pytest.mark.parametrize("query", ["", "?q=totalcoins", "?timestamp=1700000000"])
def test_without_balances_nothing_is_known(api, build, query):
    build.entity(1001, balance=5, balance_timestamp=1)
    build.entity(2)
    answer = api.get(f"{URL}{query}")
    assert (answer.status, answer.json()) == (404, problem("Network supply not found", "Not Found"))
    assert answer.headers["cache-control"] == "public, max-age=60"


WRONG_WAY = "Invalid range provided for timestamp"


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("timestamp=gt:2&timestamp=1", WRONG_WAY),
        ("timestamp=gt:2&timestamp=lte:2", WRONG_WAY),
        ("timestamp=gt:2,lt:2.1", WRONG_WAY),
        ("timestamp=ne:1", "Failed to convert 'timestamp'"),
        ("foo=1&q=x&timestamp=x&q=gt:totalcoins", "Failed to convert 'timestamp'"),
        ("timestamp=lt:9999999999", "Failed to convert 'timestamp'"),
        ("timestamp=1&q=foo", "Failed to convert 'q'"),
        ("q=eq:circulating", "Failed to convert 'q'"),
        ("timestamp=1,2,3", "timestamp size must be between 0 and 2"),
    ],
)
def test_problems_are_told(api, build, query, detail):
    answer = api.get(f"{URL}?{query}")
    assert (answer.status, answer.json()) == (400, problem(detail))


def test_other_methods_are_not_supported(api, build):
    answer = api.request("POST", URL)
    detail = "Request method 'POST' is not supported"
    assert (answer.status, answer.json()) == (405, problem(detail, "Method Not Allowed"))
