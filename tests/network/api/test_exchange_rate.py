from urllib.parse import unquote

import pytest

from mirror.core.values.hapi.messages import ExchangeRateSet
from tests.api import assert_answer
from tests.build import START
from tests.network.files import APPEND, CREATE, UNREADABLE, UPDATE, part, rates

URL = "/api/v1/network/exchangerate"
FILE = 112


def cents(answer):
    """The current rate and the time of the file, in nanoseconds after the start; None if there is none."""
    if answer.status == 404:
        assert answer.json() == problem("File 0.0.112 not found", "Not Found")
        return None
    assert answer.status == 200, answer
    seconds, nanos = answer.json()["timestamp"].split(".")
    return answer.json()["current_rate"]["cent_equivalent"], int(seconds + nanos) - START


def problem(detail, message="Bad Request"):
    return {"_status": {"messages": [{"detail": detail, "message": message}]}}


def test_the_rates_have_all_members_in_order(api, build):
    part(FILE, rates(12, hbars=30_000), at=START + 1)
    answer = api.get(URL)
    expected = {
        "current_rate": {"cent_equivalent": 12, "expiration_time": 1_700_003_600, "hbar_equivalent": 30_000},
        "next_rate": {"cent_equivalent": 13, "expiration_time": 1_700_007_200, "hbar_equivalent": 30_000},
        "timestamp": "1700000000.000000001",
    }
    assert_answer(answer, expected)
    assert answer.headers["cache-control"] == "public, max-age=60"
    assert answer.headers["content-type"] == "application/json;charset=UTF-8"
    assert len(answer.statements) == 1


def test_what_the_file_does_not_say_is_null_or_zero(api, build):
    part(FILE, b"", at=0)
    nothing = {"current_rate": None, "next_rate": None, "timestamp": "0.0"}
    assert_answer(api.get(URL), nothing)
    found = ExchangeRateSet()
    found.nextRate.centEquiv = 5
    part(FILE, found.SerializeToString(), at=START, type=UPDATE)
    next_rate = {"cent_equivalent": 5, "expiration_time": None, "hbar_equivalent": 0}
    expected = {"current_rate": None, "next_rate": next_rate, "timestamp": "1700000000.000000000"}
    assert_answer(api.get(URL), expected)


@pytest.fixture
def versions(build):
    """A file created, replaced in three parts, replaced again, with what doesn't count in between."""
    second = rates(20)
    part(FILE, rates(10), at=START + 10)
    part(FILE, second[:5], at=START + 20, type=UPDATE)
    part(FILE, second[5:9], at=START + 21, type=APPEND)
    part(FILE, b"", at=START + 22, type=UPDATE)
    part(111, b"of another file", at=START + 23, type=APPEND)
    part(FILE, second[9:], at=START + 24, type=APPEND)
    part(FILE, rates(30), at=START + 30, type=UPDATE)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", (30, 30)),
        ("timestamp=", (30, 30)),
        ("Timestamp=x&foo=1", (30, 30)),
        ("timestamp=1700000000.000000029", (20, 24)),
        ("timestamp=EQ:1700000000.24", (20, 24)),
        ("timestamp=lte:1700000000.30", (30, 30)),
        ("timestamp=lt:1700000000.30", (20, 24)),
        ("timestamp=lt:1700000000.24", (10, 10)),
        ("timestamp=lte:1700000000.20", (10, 10)),
        ("timestamp=lt:1700000000.10", None),
        ("timestamp=gt:1700000000.10", (30, 30)),
        ("timestamp=gte:1700000000.30", (30, 30)),
        ("timestamp=gt:1700000000.30", None),
        ("timestamp=gt:1700000000.20&timestamp=lt:1700000000.30", None),
        ("timestamp=gte:1700000000.20,lt:1700000000.30", (20, 24)),
        ("timestamp=gte:1700000000.30&timestamp=lt:1700000000.20", None),
        ("timestamp=lt:1700000000.10&timestamp=lt:1700000000.30", (20, 24)),
        ("timestamp=1700000000.10&timestamp=1700000000.24", (20, 24)),
        ("timestamp=gt:9223372036.854775807", None),
        ("timestamp=0", None),
    ],
)
def test_a_time_chooses_the_version(api, versions, query, expected):
    assert cents(api.get(f"{URL}?{query}")) == expected


def test_an_unreadable_version_gives_way_to_the_one_before(api, build):
    part(FILE, rates(10))
    part(FILE, rates(20), at=START + 1, type=UPDATE)
    part(FILE, UNREADABLE, at=START + 2, type=APPEND)
    part(FILE, UNREADABLE, at=START + 3, type=UPDATE)
    assert cents(api.get(URL)) == (20, 1)


def test_all_versions_are_tried_a_hundred_by_a_statement(api, build):
    for at in range(250):
        part(FILE, UNREADABLE, at=START + at)
    assert cents(api.get(URL)) is None
    part(FILE, rates(20), at=START - 1)
    answer = api.get(URL)
    assert cents(answer) == (20, -1)
    assert len(answer.statements) == 1 + 3


def test_the_file_is_that_of_the_networks_own_shard_and_realm(api, build, settings_of):
    settings_of({"common.shard": 1, "common.realm": 2})
    part(FILE, rates(10))
    answer = api.get(URL)
    assert (answer.status, answer.json()) == (404, problem("File 1.2.112 not found", "Not Found"))
    part((1 << 54) + (2 << 38) + FILE, rates(20), at=START + 1)
    assert cents(api.get(URL)) == (20, 1)


def test_content_may_be_missing(api, build):
    part(FILE, None, type=CREATE)
    part(FILE, rates(10), at=START + 1, type=APPEND)
    assert cents(api.get(URL)) == (10, 1)


@pytest.mark.parametrize(
    "text",
    [
        *["x", "ne:1", "-1", "1.", ".1", "1.1234567890", "eq:", "gt:gt:1", "1:gt", " 1", "0x1", "1,x"],
        *["9223372036.854775808", "100000000000000000", "123456789012345678", "1&timestamp=x"],
    ],
)
def test_other_text_is_not_a_time(api, text):
    answer = api.get(f"{URL}?timestamp={text}")
    assert (answer.status, answer.json()) == (400, problem("Failed to convert 'timestamp'"))
    assert answer.headers["cache-control"] == "public, max-age=60"


@pytest.mark.parametrize("query", ["timestamp=1&timestamp=2&timestamp=3", "timestamp=1,2,3"])
def test_three_times_are_too_many(api, query):
    answer = api.get(f"{URL}?{query}")
    assert (answer.status, answer.json()) == (400, problem("timestamp size must be between 0 and 2"))


@pytest.mark.parametrize(
    "path",
    [f"{URL}/", f"{URL}/x", "/api/v1/network/exchangeRate", "/api/v1/network/", "/api/v1/network/a%20b"],
)
def test_other_paths_below_network_are_named(api, path):
    answer = api.get(path)
    detail = f"No static resource {unquote(path).strip('/')} for request '{path}'."
    assert (answer.status, answer.json()) == (404, problem(detail, "Not Found"))
    assert answer.headers["content-type"] == "application/json"
    assert "cache-control" not in answer.headers


def test_network_itself_and_other_letters_are_classic(api):
    for path in ("/api/v1/network", "/api/v1/Network/fees"):
        assert api.get(path).messages == ["Not found"]
