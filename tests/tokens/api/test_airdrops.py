import random
from operator import eq, ge, gt, le, lt

import pytest

from tests.api import assert_answer
from tests.build import START, insert, time_range

OUTSTANDING = "/api/v1/accounts/1001/airdrops/outstanding"
PENDING = "/api/v1/accounts/1001/airdrops/pending"

# Other party, token, serial number.
EVERY = [(20, 30, 0), (20, 31, 1), (20, 31, 5), (21, 30, 0), (21, 31, 2), (22, 29, 0), (22, 31, 7)]


def airdrop(sender, receiver, token, serial, *, since=START, table="token_airdrop", **columns):
    insert(
        table,
        **{
            "sender_account_id": sender,
            "receiver_account_id": receiver,
            "token_id": token,
            "serial_number": serial,
            "amount": None if serial else 5,
            "timestamp_range": time_range(since),
        }
        | columns,
    )


def listed(answer, party="receiver_id"):
    assert answer.status == 200, answer
    return [
        (*(int(row[name].removeprefix("0.0.")) for name in (party, "token_id")), row["serial_number"] or 0)
        for row in answer.json()["airdrops"]
    ]


@pytest.fixture
def seven(build):
    """From and to account 1001, which is no entity; others are over, or have nothing to do with it."""
    for other, token, serial in EVERY:
        airdrop(1001, other, token, serial)
        airdrop(other, 1001, token, serial)
        airdrop(1002, other, token, serial)
        airdrop(other, 1002, token, serial)
    for state, serial in (("CANCELLED", 8), ("CLAIMED", 9)):
        airdrop(1001, 21, 31, serial, state=state)
        airdrop(21, 1001, 31, serial, state=state)


def test_an_airdrop_has_all_members_in_order(api, build):
    airdrop(1001, 21, 31, 0, amount=2**60 + 1, since=START + 1)
    airdrop(1001, 21, 32, 2**53 + 1, since=0)
    answer = api.get(OUTSTANDING)
    fungible = {
        "amount": 2**60 + 1,
        "receiver_id": "0.0.21",
        "sender_id": "0.0.1001",
        "serial_number": None,
        "timestamp": {"from": "1700000000.000000001", "to": None},
        "token_id": "0.0.31",
    }
    serial = fungible | {
        "amount": None,
        "serial_number": 2**53 + 1,
        "timestamp": {"from": "0.0", "to": None},
        "token_id": "0.0.32",
    }
    assert_answer(answer, {"airdrops": [fungible, serial], "links": {"next": None}})
    assert answer.headers["cache-control"] == "public, max-age=1"
    assert answer.headers["content-type"] == "application/json;charset=UTF-8"
    assert len(answer.statements) == 1
    assert_answer(
        api.get("/api/v1/accounts/21/airdrops/pending"),
        {"airdrops": [fungible, serial], "links": {"next": None}},
    )


RANGES = [
    ("", EVERY),
    ("P=21", EVERY[3:5]),
    ("P=eq:0.0.21&foo=1", EVERY[3:5]),
    ("P=GT:20", EVERY[3:]),
    ("P=gte:0.21", EVERY[3:]),
    ("P=lt:21", EVERY[:3]),
    ("P=gte:20,lte:21", EVERY[:5]),
    ("P=gte:21&P=lte:21", EVERY[3:5]),
    ("P=ne:21", EVERY),
    ("P=20&P=22", EVERY[5:]),
    ("P=gt:21&P=gt:20", EVERY[3:]),
    ("P=gt:20&P=20", EVERY[:3]),
    ("P=1.0.21", []),
    ("P=&token.id=", EVERY),
    ("token.id=31", [row for row in EVERY if row[1] == 31]),
    ("token.id=gt:30", [row for row in EVERY if row[1] > 30]),
    ("token.id=gt:29&token.id=lt:31", [row for row in EVERY if row[1] == 30]),
    ("token.id=gt:30&token.id=lt:30", []),
    ("token.id=31&token.id=lt:31", []),
    ("serialnumber=0", [row for row in EVERY if not row[2]]),
    ("serialnumber=gt:0", [row for row in EVERY if row[2]]),
    ("serialnumber=gte:2,lt:7", [(20, 31, 5), (21, 31, 2)]),
    ("serialnumber=gt:5&serialnumber=lt:2", []),
    ("P=20&token.id=gte:31", EVERY[1:3]),
    ("P=20&serialnumber=gt:1", [(20, 31, 5)]),
    ("P=gte:20&token.id=gte:31", EVERY[1:]),
    ("P=gte:20&token.id=gt:31", EVERY[3:]),
    ("P=gt:20&token.id=gte:31", EVERY[3:]),
    ("P=lte:22&token.id=lt:31", EVERY[:6]),
    ("P=lt:22&token.id=lt:31", EVERY[:5]),
    ("P=lte:22&token.id=gt:31", EVERY),
    ("P=gte:20&P=lte:22&token.id=gte:31&token.id=lte:29", EVERY[1:6]),
    ("P=gte:20&token.id=31", [row for row in EVERY if row[1] == 31]),
    ("P=gt:20&token.id=31&serialnumber=gt:2", [(21, 31, 2), (22, 31, 7)]),
    ("P=gt:20&serialnumber=gt:2", EVERY[3:]),
    ("token.id=gte:31&serialnumber=gt:1", [(20, 31, 5), (21, 31, 2), (22, 31, 7)]),
    ("token.id=gte:30&serialnumber=gt:0", [row for row in EVERY if row[2]]),
    ("token.id=gt:30&serialnumber=gt:9", [row for row in EVERY if row[1] > 30]),
    ("token.id=31&serialnumber=2", [(21, 31, 2)]),
    ("P=gte:20&token.id=gte:31&serialnumber=gte:5", EVERY[2:]),
    ("P=gte:20&token.id=gte:31&serialnumber=gt:5", EVERY[3:]),
    ("P=lte:22&token.id=lte:31&serialnumber=lt:7", EVERY[:6]),
    ("P=gte:20&P=lte:21&token.id=gte:31&token.id=lte:31&serialnumber=gt:1&serialnumber=lt:2", EVERY[2:4]),
    ("P=gte:20&token.id=gt:30&serialnumber=gt:1", EVERY[1:]),
    ("P=gte:20&serialnumber=gt:2", EVERY[2:]),
    ("P=gt:20&P=lt:22&token.id=gt:30&serialnumber=lt:2", []),
    ("P=lte:21&token.id=gt:30", EVERY[:5]),
    ("P=20&token.id=gte:30&serialnumber=gte:1", EVERY[1:3]),
]


@pytest.mark.parametrize(("query", "expected"), RANGES)
def test_parameters_narrow_the_lists_in_both_directions(api, seven, query, expected):
    for url, party in ((OUTSTANDING, "receiver"), (PENDING, "sender")):
        asked = f"{url}?{query.replace('P=', f'{party}.id=')}"
        assert listed(api.get(asked), f"{party}_id") == expected
        assert listed(api.get(f"{asked}&order=DESC"), f"{party}_id") == expected[::-1]


OPERATORS = {"eq": eq, "gt": gt, "gte": ge, "lt": lt, "lte": le}


def is_within(row, keys):
    """Whether values are within the bounds of the keys that have some, by the rule of the reference."""
    given = [(value, bounds) for value, bounds in zip(row, keys, strict=True) if bounds]
    if not given:
        return True
    (value, bounds), *later = given
    if not holds(value, bounds):
        return False
    if is_single(bounds):
        return all(holds(*each) for each in later)
    if not all(holds(*each) for each in later if each[1][0][0] == "eq"):
        return False
    values, rest = [value for value, _ in later], [bounds for _, bounds in later]
    return all(
        is_within(values, [[bound for bound in bounds if bound[0] in ("eq", *side)] for bounds in rest])
        for side in (("gt", "gte"), ("lt", "lte"))
        if any(operator == side[1] and bound == value for operator, bound in bounds)
    )


def is_single(bounds):
    """Whether the bounds of a key leave one value."""
    inclusive = [bound + (operator == "gt") - (operator == "lt") for operator, bound in bounds]
    return bool(bounds) and (bounds[0][0] == "eq" or (len(bounds) == 2 and inclusive[0] == inclusive[1]))


def holds(value, bounds):
    return all(OPERATORS[operator](value, bound) for operator, bound in bounds)


SIDES = [[], [["eq"]], [["gt", "gte"]], [["lt", "lte"]], [["gt", "gte"], ["lt", "lte"]]]
OF_LINKS = [("token.id=gte", "serialnumber=gt:"), ("token.id=lte", "serialnumber=lt:")]


def test_random_bounds_are_combined_by_the_rule(api, seven):
    choose = random.Random(7)
    keys = {"receiver.id": (20, 22), "token.id": (29, 31), "serialnumber": (0, 7)}
    for _ in range(400):
        sent = {
            name: [(choose.choice(some), choose.randint(*least_and_most)) for some in choose.choice(SIDES)]
            for name, least_and_most in keys.items()
        }
        query = "&".join(f"{name}={op}:{value}" for name, texts in sent.items() for op, value in texts)
        # Beside one receiver these continue a page, from the last token and serial number on.
        is_link = any(all(part in query for part in parts) for parts in OF_LINKS)
        answer = api.get(f"{OUTSTANDING}?{query}")
        if (is_link and is_single(sent["receiver.id"])) or answer.status == 400:
            continue
        expected = [row for row in EVERY if is_within(row, sent.values())]
        assert listed(answer) == expected, query


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_pages_beside_one_party_lose_no_serial_number(api, build, order):
    every = [(20, token, serial) for token in (31, 32) for serial in (1, 5)]
    for other, token, serial in every:
        airdrop(1001, other, token, serial)
    for only in ("receiver.id=20", "receiver.id=gte:20&receiver.id=lte:20"):
        rows = api.pages(f"{OUTSTANDING}?{only}&limit=1&order={order}", "airdrops")
        assert sorted((20, int(row["token_id"][4:]), row["serial_number"]) for row in rows) == every


@pytest.mark.parametrize(
    ("query", "link"),
    [
        ("limit=1", "limit=1&receiver.id=gte:0.0.20&token.id=gt:0.0.30"),
        ("limit=2", "limit=2&receiver.id=gte:0.0.20&token.id=gte:0.0.31&serialnumber=gt:1"),
        (
            "limit=2&order=desc&foo=b+c",
            "limit=2&order=desc&foo=b%20c&receiver.id=lte:0.0.22&token.id=lt:0.0.29",
        ),
        (
            "limit=3&receiver.id=gte:20&token.id=gte:30&serialnumber=gte:0&receiver.id=lte:22",
            "limit=3&receiver.id=lte:22&receiver.id=gte:0.0.20&token.id=gte:0.0.31&serialnumber=gt:5",
        ),
        (
            "limit=1&receiver.id=gte:20,lte:22&serialnumber=gte:0&serialnumber=lt:9",
            "limit=1&receiver.id=lte:22&receiver.id=gte:0.0.20&serialnumber=lt:9&token.id=gt:0.0.30",
        ),
        ("limit=1&receiver.id=21", "limit=1&receiver.id=21&token.id=gt:0.0.30"),
        ("limit=1&token.id=31", "limit=1&token.id=31&receiver.id=gt:0.0.20&serialnumber=gt:1"),
        ("limit=1&serialnumber=5", "limit=1&serialnumber=5&receiver.id=gte:0.0.20&token.id=gt:0.0.31"),
        ("limit=1&receiver.id=20&token.id=31", "limit=1&receiver.id=20&token.id=31&serialnumber=gt:1"),
        ("limit=7", "limit=7&receiver.id=gte:0.0.22&token.id=gte:0.0.31&serialnumber=gt:7"),
        ("limit=8", None),
    ],
)
def test_the_next_page_begins_after_the_last_airdrop(api, seven, query, link):
    answer = api.get(f"{OUTSTANDING}?{query}")
    expected = link and f"{OUTSTANDING}?{link}"
    assert answer.json()["links"]["next"] == expected
    assert answer.headers.get("link") == (expected and f'<{expected}>; rel="next"')


def test_an_account_of_that_number_need_not_exist(api, seven):
    assert listed(api.get("/api/v1/accounts/4711/airdrops/outstanding")) == []


def problems(*details, message="Bad Request"):
    return {"_status": {"messages": [{"detail": text, "message": message} for text in details]}}


@pytest.mark.parametrize(
    ("query", "details"),
    [
        ("limit=x&order=x&P=x&serialnumber=x&token.id=x", ["Failed to convert 'limit'"]),
        ("order=x&P=x&serialnumber=x&token.id=x", ["Failed to convert 'order'"]),
        ("P=x&serialnumber=x&token.id=x&limit=0", ["Failed to convert 'P'"]),
        ("serialnumber=x&token.id=x", ["Failed to convert 'serialnumber'"]),
        ("token.id=x", ["Failed to convert 'token.id'"]),
        ("P=" + "ab" * 20, ["Failed to convert 'P'"]),
        ("P=0.65536.1", ["Failed to convert 'P'"]),
        ("P=ge:1", ["Failed to convert 'P'"]),
        ("serialnumber=-1", ["Failed to convert 'serialnumber'"]),
        ("serialnumber=9223372036854775808", ["Failed to convert 'serialnumber'"]),
        (
            "limit=0&P=1,2,3&serialnumber=1,2,3&token.id=1&token.id=2&token.id=3",
            [
                "limit must be greater than 0",
                "VARIABLE size must be between 0 and 2",
                "serialNumbers size must be between 0 and 2",
                "tokenIds size must be between 0 and 2",
            ],
        ),
        ("limit=101", ["limit must be less than or equal to 100"]),
        ("P=gt:21&P=lt:22", ["Invalid range provided for account.id"]),
        ("P=22&P=lt:22", ["Invalid range provided for account.id"]),
    ],
)
def test_problems_are_told_before_the_account_is_looked_for(api, build, query, details):
    for kind, party in (("outstanding", "receiver"), ("pending", "sender")):
        asked = query.replace("P=", f"{party}.id=")
        answer = api.get(f"/api/v1/accounts/{'ab' * 20}/airdrops/{kind}?{asked}")
        expected = [
            text.replace("'P'", f"'{party}.id'").replace("VARIABLE", f"{party}Ids") for text in details
        ]
        assert (answer.status, answer.json()) == (400, problems(*expected))
        assert answer.headers["cache-control"] == "public, max-age=1"


@pytest.mark.parametrize("name", ["ab" * 20, "0" * 37 + "3e9", "A" * 40])
def test_an_account_nobody_is_called_is_not_found(api, seven, name):
    for kind in ("outstanding", "pending"):
        answer = api.get(f"/api/v1/accounts/{name}/airdrops/{kind}")
        expected = problems("No account found for the given ID", message="Not Found")
        assert (answer.status, answer.json()) == (404, expected)


def test_an_id_out_of_range_is_refused(api, build):
    answer = api.get("/api/v1/accounts/0.65536.1/airdrops/pending?limit=0")
    assert (answer.status, answer.json()) == (400, problems("Failed to convert 'id'"))
