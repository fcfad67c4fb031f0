import pytest

from tests.api import assert_answer
from tests.build import START, insert

URL = "/api/v1/accounts/1001/hooks/7/storage"
OTHER = "api/v1/accounts/5/hooks/1/storage"
LAST = 2**256 - 1
EVERY = [0, 1, 3, 255, LAST]


def word(number):
    return number.to_bytes(32, "big")


def hexes(number):
    return f"0x{number:064x}"


def slot(key, value=b"\1", *, owner=1001, hook=7, at=START, **columns):
    insert(
        "hook_storage",
        **{
            "owner_id": owner,
            "hook_id": hook,
            "key": word(key),
            "value": value,
            "created_timestamp": START,
            "modified_timestamp": at,
        }
        | columns,
    )


def change(key, written, *, at, owner=1001, hook=7):
    """A slot written so many nanoseconds after the start, or only read when `written` is None."""
    insert(
        "hook_storage_change",
        owner_id=owner,
        hook_id=hook,
        key=word(key),
        value_read=b"\7",
        value_written=written,
        consensus_timestamp=START + at,
        deleted=written == b"",
    )


def listed(answer):
    assert answer.status == 200, answer
    return [int(row["key"], 16) for row in answer.json()["storage"]]


def values(answer):
    assert answer.status == 200, answer
    return {
        int(row["key"], 16): (row["value"] and int(row["value"], 16), int(row["timestamp"][-3:]))
        for row in answer.json()["storage"]
    }


@pytest.fixture
def five(build):
    """Slots of hook 7 now, and as the same changes; other hooks have other ones."""
    for key in EVERY:
        slot(key)
        change(key, b"\1", at=5)
        change(key, b"\2", at=9)
    for owner, hook in ((1001, 8), (1002, 7)):
        slot(2, owner=owner, hook=hook)
        change(2, b"\1", at=5, owner=owner, hook=hook)
    slot(4, b"", deleted=True)


def test_the_storage_has_all_members_in_order(api, build):
    slot(2, b"\5" * 32, at=START + 1)
    slot(10, b"\0\5", at=0)
    answer = api.get(URL)
    storage = [
        {"key": hexes(2), "value": "0x" + "05" * 32, "timestamp": "1700000000.000000001"},
        {"key": hexes(10), "value": hexes(5), "timestamp": "0.0"},
    ]
    assert_answer(answer, {"hook_id": 7, "links": {"next": None}, "owner_id": "0.0.1001", "storage": storage})
    assert answer.headers["cache-control"] == "public, max-age=1"
    assert answer.headers["content-type"] == "application/json;charset=UTF-8"
    assert len(answer.statements) == 1


RANGES = [
    ("", EVERY),
    ("key=", EVERY),
    ("Key=1", EVERY),
    ("key=1", [1]),
    ("key=0x01", [1]),
    ("key=eq:0xFf", [255]),
    ("key=" + hexes(1), [1]),
    ("key=2", []),
    ("key=1&key=ff&key=77", [1, 255]),
    ("key=1,ff", [1, 255]),
    ("key=gt:1", EVERY[2:]),
    ("key=gte:1", EVERY[1:]),
    ("key=lt:ff", EVERY[:3]),
    ("key=lte:ff", EVERY[:4]),
    ("key=gt:0&key=gte:3&key=lt:100", [3, 255]),
    ("key=gt:0,lt:3", [1]),
    ("key=gt:ff&key=lt:3", []),
    ("key=1&key=lt:1", []),
    ("key=lt:0", []),
    ("key=0&key=lt:0", []),
    (f"key=gt:{LAST:x}", []),
    (f"key={LAST:x}&key=gt:{LAST:x}", []),
    (f"key=gte:{LAST:x}", [LAST]),
    (f"key=lt:{LAST:x}", EVERY[:4]),
]


@pytest.mark.parametrize("at", ["", "timestamp=1700000000.9&"])
@pytest.mark.parametrize(("query", "expected"), RANGES)
def test_keys_narrow_the_list_in_both_directions(api, five, query, expected, at):
    assert listed(api.get(f"{URL}?{at}{query}")) == expected
    assert listed(api.get(f"{URL}?{at}{query}&order=DESC")) == expected[::-1]


def test_of_named_keys_those_within_the_range_count_but_at_a_time_all_if_any_does(api, five):
    query = "key=1&key=ff&key=gt:2"
    assert listed(api.get(f"{URL}?{query}")) == [255]
    assert listed(api.get(f"{URL}?timestamp=1700000001&{query}")) == [1, 255]


@pytest.fixture
def history(build):
    """Slot 1 is written and freed, 2 and 4 written, 3 only read."""
    change(1, b"\x0a", at=1)
    change(2, b"\x0b", at=2)
    change(1, b"", at=3)
    change(3, None, at=4)
    change(2, b"\xff" * 32, at=5)
    change(4, b"\0" * 30 + b"\x0c", at=6)
    change(1, b"\x11", at=1, hook=8)


LATEST = {1: (0, 3), 2: (LAST, 5), 3: (None, 4), 4: (12, 6)}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("timestamp=1700000000.8", LATEST),
        ("timestamp=Eq:1700000000.2", {1: (10, 1), 2: (11, 2)}),
        ("timestamp=lte:1700000000.4", {1: (0, 3), 2: (11, 2), 3: (None, 4)}),
        ("timestamp=lt:1700000000.3", {1: (10, 1), 2: (11, 2)}),
        ("timestamp=gt:1700000000.3", {2: (LAST, 5), 3: (None, 4), 4: (12, 6)}),
        ("timestamp=gte:1700000000.2&timestamp=lt:1700000000.5", {1: (0, 3), 2: (11, 2), 3: (None, 4)}),
        ("timestamp=gt:1700000000.3,1700000000.4", {3: (None, 4)}),
        ("timestamp=lt:1700000000.1&timestamp=lt:1700000000.2", {1: (10, 1)}),
        ("timestamp=gte:1700000000.4&timestamp=lte:1700000000.3", {}),
        ("timestamp=lt:1700000000.1", {}),
        ("timestamp=1700000000", {}),
        ("timestamp=gt:9223372036.854775807", {}),
        ("timestamp=1700000000.4&key=2&key=3", {2: (11, 2), 3: (None, 4)}),
        ("timestamp=gt:1700000000.3&key=gt:0&key=lt:4", {2: (LAST, 5), 3: (None, 4)}),
    ],
)
def test_at_a_time_each_slot_is_as_it_was_last(api, history, query, expected):
    answer = api.get(f"{URL}?{query}")
    assert values(answer) == expected
    assert list(values(api.get(f"{URL}?{query}&order=desc"))) == list(expected)[::-1]
    assert len(answer.statements) == 1


def test_without_a_time_the_history_does_not_count(api, history):
    assert listed(api.get(URL)) == []


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_of_the_past_skip_slots_without_changes_in_the_time(api, history, order, limit):
    query = f"{URL}?order={order}&timestamp=gt:1700000000.3"
    whole = api.get(query).json()["storage"]
    assert len(whole) == 3
    assert api.pages(f"{query}&limit={limit}", "storage") == whole


@pytest.mark.parametrize(
    ("query", "link"),
    [
        ("limit=2", f"limit=2&key=gt:{hexes(1)}"),
        ("limit=2&order=desc", f"limit=2&order=desc&key=lt:{hexes(255)}"),
        ("key=gte:1&limit=2&key=lt:ff&x=1", f"key=lt:ff&key=gt:{hexes(3)}&limit=2&x=1"),
        ("timestamp=1700000000.9&limit=1", f"timestamp=1700000000.9&limit=1&key=gt:{hexes(0)}"),
        ("limit=1&limit=3", f"limit=1&limit=3&key=gt:{hexes(0)}"),
        ("limit=5", f"limit=5&key=gt:{hexes(LAST)}"),
        ("limit=6", None),
    ],
)
def test_the_next_page_begins_after_the_last_slot(api, five, query, link):
    answer = api.get(f"{URL}?{query}")
    expected = link and f"{URL}?{link}"
    assert answer.json()["links"]["next"] == expected
    assert answer.headers.get("link") == (expected and f'<{expected}>; rel="next"')


@pytest.mark.parametrize("query", ["", "limit=&"])
def test_the_link_tells_the_limit_also_when_the_request_did_not(api, build, query):
    for key in range(26):
        slot(key)
    link = api.get(f"{URL}?{query}").json()["links"]["next"]
    assert link == f"{URL}?limit=25&key=gt:{hexes(24)}"
    assert listed(api.get(link)) == [25]


@pytest.mark.parametrize("path", ["1001/hooks/9", "4711/hooks/7", "1001/hooks/9223372036854775807"])
@pytest.mark.parametrize("query", ["", "?timestamp=1800000000"])
def test_a_hook_nobody_created_keeps_nothing(api, five, path, query):
    answer = api.get(f"/api/v1/accounts/{path}/storage{query}")
    owner, _, hook = path.split("/")
    expected = {"hook_id": int(hook), "links": {"next": None}, "owner_id": f"0.0.{owner}", "storage": []}
    assert_answer(answer, expected)


def problems(*details, message="Bad Request"):
    return {"_status": {"messages": [{"detail": text, "message": message} for text in details]}}


KEYS = [
    *["x", "gt:", "eq:", "ne:1", "GT:1", "0X1", "0x", "-1", "1.0", "gte::1", ":1", "gt=1", " 1", "1,x"],
    "0" * 65,
]


@pytest.mark.parametrize("key", KEYS)
def test_text_that_is_no_key_is_refused(api, build, key):
    answer = api.get(f"{URL}?key={key}&timestamp=x&limit=x")
    assert (answer.status, answer.json()) == (400, problems("Failed to convert 'key'"))


@pytest.mark.parametrize(
    ("path", "status", "details"),
    [
        ("1024.0.1/hooks/x/storage?key=x", 400, ["Failed to convert 'ownerId'"]),
        ("5/hooks/x/storage?key=x", 400, ["Failed to convert 'hookId'"]),
        ("5/hooks/1.5/storage", 400, ["Failed to convert 'hookId'"]),
        ("5/hooks/9223372036854775808/storage", 400, ["Failed to convert 'hookId'"]),
        ("5/hooks/-1/storage?limit=x", 400, ["Failed to convert 'limit'"]),
        ("5/hooks/-1/storage", 400, ["hookId must be greater than or equal to 0"]),
        (
            f"{'ab' * 20}/hooks/-1/storage?limit=101&timestamp=1,2,3&key={','.join('1' * 101)}",
            400,
            [
                "hookId must be greater than or equal to 0",
                "keys size must be between 0 and 100",
                "timestamps size must be between 0 and 2",
                "limit must be less than or equal to 100",
            ],
        ),
        ("5/hooks/1/storage?timestamp=ne:1&limit=x", 400, ["Failed to convert 'timestamp'"]),
        ("5/hooks/1/storage?limit=0", 400, ["limit must be greater than 0"]),
        (f"{'ab' * 20}/hooks/1/storage", 404, ["No account found for the given ID"]),
        (*("5/hooks/1/storage/", 404), [f"No static resource {OTHER} for request '/{OTHER}/'."]),
    ],
)
def test_problems_are_told(api, build, path, status, details):
    answer = api.get(f"/api/v1/accounts/{path}")
    message = {400: "Bad Request", 404: "Not Found"}[status]
    assert (answer.status, answer.json()) == (status, problems(*details, message=message))
