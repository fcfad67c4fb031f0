import base64

import pytest
from django.db import connection

from mirror.core.db.reading.sql import fetch
from mirror.core.values import entity_id
from tests.api import Api, assert_answer
from tests.build import SECOND, START, Build
from tests.contract import budgets
from tests.waiting import PATIENCE_SECONDS

SCHEDULES = "/api/v1/schedules"
ADMIN_KEY = bytes.fromhex("1220" + "ab" * 32)


def ids(answer):
    assert answer.status == 200, answer
    return [schedule["schedule_id"] for schedule in answer.json()["schedules"]]


@pytest.fixture
def five(build):
    """Schedules 2001 to 2005; the odd ones by 1001, the even ones by 1002."""
    for num in range(2001, 2006):
        build.schedule(build.entity(num, type="SCHEDULE"), creator=1002 - num % 2)


def full(build):
    """A schedule with everything, and its JSON."""
    build.entity(2001, type="SCHEDULE", key=ADMIN_KEY, memo="memo")
    build.schedule(
        2001,
        creator=1001,
        payer=1002,
        consensus_timestamp=START,
        executed_timestamp=START + 5,
        expiration_time=START + 9,
        transaction_body=b"\xfb\xff",
        wait_for_expiry=True,
    )
    build.signature(2001, START + 2, b"b", type=6)
    build.signature(2001, START + 1, b"c" * 60, type=None)
    build.signature(2001, START + 2, b"a", type=3)
    line = base64.b64encode(b"c" * 57).decode()
    return {
        "admin_key": {"_type": "ED25519", "key": "ab" * 32},
        "deleted": False,
        "consensus_timestamp": "1700000000.000000000",
        "creator_account_id": "0.0.1001",
        "executed_timestamp": "1700000000.000000005",
        "expiration_time": "1700000000.000000009",
        "memo": "memo",
        "payer_account_id": "0.0.1002",
        "schedule_id": "0.0.2001",
        "signatures": [
            {
                "consensus_timestamp": "1700000000.000000001",
                "public_key_prefix": f"{line}\nY2Nj",
                "signature": f"{line}\nY2NjY2NjYw==",
                "type": "UNKNOWN",
            },
            *(
                {
                    "consensus_timestamp": "1700000000.000000002",
                    "public_key_prefix": base64.b64encode(prefix).decode(),
                    "signature": base64.encodebytes(prefix * 64).decode().rstrip("\n"),
                    "type": kind,
                }
                for prefix, kind in ((b"a", "ED25519"), (b"b", "ECDSA_SECP256K1"))
            ),
        ],
        "transaction_body": "+/8=",
        "wait_for_expiry": True,
    }


def test_a_schedule_has_all_members_in_order(api, build):
    expected = full(build)
    answer = api.get(SCHEDULES)
    assert_answer(answer, {"schedules": [expected], "links": {"next": None}})
    assert answer.headers["cache-control"] == "public, max-age=10"
    assert len(answer.statements) == 1
    for path in (
        "schedules/0.0.2001",
        "schedules/0.2001",
        "schedules/2001",
        "schedule/2001",
        "Schedules/2001/",
    ):
        one = api.get(f"/api/v1/{path}")
        assert_answer(one, expected)
        assert len(one.statements) == 1


def test_without_its_entity_a_listed_schedule_lacks_members_and_a_single_one_has_nulls(api, build):
    build.schedule(2001)
    (listed,) = api.get(SCHEDULES).json()["schedules"]
    assert listed["admin_key"] is None and listed["signatures"] == []
    assert "deleted" not in listed and "memo" not in listed
    alone = api.get(f"{SCHEDULES}/2001").json()
    assert alone == listed | {"deleted": None, "memo": None}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("schedule.id=2003", [2003]),
        ("schedule.id=eq:0.0.2003&schedule.id=2004", []),
        ("schedule.id=gt:2003", [2004, 2005]),
        ("schedule.id=gte:2003&schedule.id=lt:2005", [2003, 2004]),
        ("schedule.id=lte:2002", [2001, 2002]),
        ("schedule.id=ne:2002&schedule.id=ne:2004", [2001, 2003, 2005]),
        ("schedule.id=0x00000000000000000000000000000000000007d1", [2001]),
        (f"schedule.id=lt:{'ab' * 20}", []),
        ("account.id=1001", [2001, 2003, 2005]),
        ("account.id=1001&account.id=1002", []),
        ("account.id=ne:1001", [2002, 2004]),
        ("account.id=gt:1001&schedule.id=gt:2002", [2004]),
        ("account.id=1001&order=desc&limit=2", [2005, 2003]),
        ("ACCOUNT.ID=1001&Order=DESC&limit=1000", [2005, 2003, 2001]),
        ("account.id=lte:1001&limit=5&limit=1", [2001]),
    ],
)
def test_parameters_narrow_the_list(api, five, query, expected):
    assert ids(api.get(f"{SCHEDULES}?{query}")) == [f"0.0.{num}" for num in expected]


def test_the_next_page_begins_after_the_last_schedule(api, five):
    answer = api.get(f"{SCHEDULES}?account.id=1001&limit=2")
    assert answer.json()["links"]["next"] == f"{SCHEDULES}?account.id=1001&limit=2&schedule.id=gt:0.0.2003"
    assert answer.headers["link"] == f'<{answer.json()["links"]["next"]}>; rel="next"'


@pytest.mark.parametrize(
    ("query", "messages"),
    [
        ("account.id=x&limit=0", ["Invalid parameter: account.id", "Invalid parameter: limit"]),
        ("order=up&schedule.id=gt:", ["Invalid parameter: order", "Invalid parameter: schedule.id"]),
        ("foo=1&schedule.id=x:5", ["Invalid parameter: schedule.id", "Unknown query parameter: foo"]),
        ("schedule.id=274877906944", ['Invalid entity ID "0.0.274877906944"']),
        ("schedule.id=1024.0.1&limit=a", ["Invalid parameter: limit"]),
    ],
)
def test_problems_of_the_query_are_told(api, build, query, messages):
    answer = api.get(f"{SCHEDULES}?{query}")
    assert (answer.status, answer.messages) == (400, messages)


@pytest.mark.parametrize(
    "part", ["x", "0.0.x", "-1", "274877906944", "1024.0.1", "ab" * 20, "0x" + "0" * 40, "0xa"]
)
def test_a_bad_id_is_told(api, build, part):
    answer = api.get(f"{SCHEDULES}/{part}")
    assert (answer.status, answer.messages) == (400, ["Invalid parameter: scheduleid"])


def test_0x_before_the_number_counts_for_nothing(api, five):
    assert api.get(f"{SCHEDULES}/0x5").status == 404
    assert api.get(f"{SCHEDULES}/0x2001").json()["schedule_id"] == "0.0.2001"


def test_a_schedule_takes_no_parameters(api, build):
    answer = api.get(f"{SCHEDULES}/x?limit=1&limit=2&foo")
    assert answer.status == 400
    assert answer.messages == ["Unknown query parameter: limit", "Unknown query parameter: foo"]


def test_an_unknown_schedule_is_not_found(api, five):
    answer = api.get(f"{SCHEDULES}/2006")
    assert (answer.status, answer.messages) == (404, ["Not found"])
    assert "cache-control" not in answer.headers


MINUTES = 60 * SECOND


@pytest.mark.parametrize(
    ("columns", "deleted", "after", "max_age"),
    [
        ({}, False, 31 * MINUTES - 1_000, 1),
        ({}, False, 31 * MINUTES, 3600),
        ({}, True, 0, 3600),
        ({}, None, 0, 1),
        ({"executed_timestamp": START + 1}, False, 0, 3600),
        ({"expiration_time": START + 99 * MINUTES}, False, 100 * MINUTES - 1_000, 1),
        ({"expiration_time": START + 99 * MINUTES}, False, 100 * MINUTES, 3600),
    ],
)
def test_a_finished_schedule_may_be_kept_for_an_hour(
    api, build, settings_of, columns, deleted, after, max_age
):
    build.entity(2001, type="SCHEDULE", deleted=deleted)
    build.schedule(2001, consensus_timestamp=START, **columns)
    settings_of({"clock.now": (START + after) / SECOND})
    answer = api.get(f"{SCHEDULES}/2001")
    assert answer.headers["cache-control"] == f"public, max-age={max_age}"


def test_a_late_list_continues_after_an_id_that_no_schedule_can_have(ledger_tables, settings_of, monkeypatch):
    """The first window ends with number 0 of the next realm."""
    # A walk takes as many statements as there are windows.
    monkeypatch.setattr(budgets, "check", lambda *_: None)
    realm = entity_id.encode(0, 1, 0)
    numbers = (realm - 999, realm + 5)
    for number in numbers:
        Build().schedule(number, creator=1001)
    slow = """
        create policy slow on schedule using ((select pg_sleep(0.05)) is not null);
        alter table schedule enable row level security, force row level security
    """
    with connection.cursor() as cursor:
        cursor.execute(slow)
    settings_of({"rest.query.timeBudget": 0.001})
    first = Api().get(f"{SCHEDULES}?account.id=ne:1002").json()
    # The connection keeps the limit of its last statement.
    settings_of({"rest.query.timeBudget": 0.0, "rest.db.statementTimeout": PATIENCE_SECONDS})
    fetch("select 1")
    with connection.cursor() as cursor:
        cursor.execute("drop policy slow on schedule")
        cursor.execute("alter table schedule disable row level security, no force row level security")

    assert first["links"]["next"] == f"{SCHEDULES}?account.id=ne:1002&schedule.id=gt:0.1.0"
    assert ids(Api().get(first["links"]["next"])) == ["0.1.5"]
    assert [schedule["schedule_id"] for schedule in first["schedules"]] == [entity_id.text(numbers[0])]
