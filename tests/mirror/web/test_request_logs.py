"""What the log says of a slow request."""

from typing import Any

import pytest

from mirror.web.requests.slow_requests import MAX_PLANS_PER_MINUTE, SlowRequests
from tests.logs import events
from tests.waiting import wait_until

READ = "select consensus_end from record_file where consensus_end = %s"

#: The keys of a slow request's line, as the observer passes them.
SLOW: dict[str, Any] = {
    "request_id": "mine",
    "method": "GET",
    "path": "/api/v1/blocks",
    "status": 200,
    "ms": 2500.0,
    "waited_ms": 250.0,
    "bytes": 512,
    "client": "192.0.2.7",
}


@pytest.mark.usefixtures("ledger_tables")
def test_a_slow_request_has_a_line_with_its_statements_and_a_plan(caplog: pytest.LogCaptureFixture) -> None:
    SlowRequests().write([("select 1", (), 0.1, 1), (f"\n    {READ}\n", [5], 2.0, 0)], **SLOW)

    (event,) = events(caplog)
    plan = event.pop("plan")
    # By an index, or not: PostgreSQL decides that by how many rows it believes in.
    assert "Scan" in plan and "on record_file" in plan and "consensus_end = " in plan
    assert event == {
        **{key: value for key, value in SLOW.items() if key != "request_id"},
        "event": "slow_request",
        "statement_count": 2,
        "statement_ms": 2100.0,
        "statements": [
            {"ms": 2000.0, "rows": 0, "parameters": "5", "sql": READ},
            {"ms": 100.0, "rows": 1, "parameters": "", "sql": "select 1"},
        ],
    }


@pytest.mark.usefixtures("ledger_tables")
def test_only_a_few_plans_are_asked_for_in_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    slow = SlowRequests()
    for _ in range(MAX_PLANS_PER_MINUTE + 2):
        slow.write([(READ, [5], 2.0, 0)], **SLOW)

    has_plan = [event["plan"] is not None for event in events(caplog)]
    assert has_plan == [True] * MAX_PLANS_PER_MINUTE + [False] * 2


@pytest.mark.usefixtures("ledger_tables")
@pytest.mark.parametrize(
    ("noted", "plan"),
    [
        ([], None),
        ([("select * from auth_user where password = %s", None, 2.0, 0)], None),
        ([("select * from lost", (), 2.0, None)], 'not known: relation "lost" does not exist'),
    ],
    ids=["no statement", "of the admin", "failing"],
)
def test_a_line_may_have_no_plan(noted: Any, plan: str | None, caplog: pytest.LogCaptureFixture) -> None:
    SlowRequests().write(noted, **SLOW)

    (event,) = events(caplog)
    assert event["plan"] == plan
    assert not [each for each in event["statements"] if "parameters" in each and noted[0][1] is None]


@pytest.mark.usefixtures("ledger_tables")
def test_lines_of_slow_requests_are_written_beside_them(caplog: pytest.LogCaptureFixture) -> None:
    SlowRequests().enqueue([("select 1", (), 2.0, 1)], **SLOW)

    wait_until(lambda: events(caplog))
    assert events(caplog)[0]["event"] == "slow_request"
