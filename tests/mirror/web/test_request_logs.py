"""What the log says of a request: its id in every line, and how it was slow."""

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from django.db import connection
from mirror.web.requests.gateway import Gateway
from mirror.web.requests.observer import Observer, Times

from mirror.core import logs
from mirror.core.db.reading.sql import fetch
from mirror.core.logs import access as access_log
from mirror.web.requests.slow_requests import MAX_PLANS_PER_MINUTE, SlowRequests
from tests.logs import events
from tests.mirror.web.environment import environment as of_request
from tests.waiting import PATIENCE_SECONDS, wait_until

READ = "select consensus_end from record_file where consensus_end = %s"


class _Protocol:
    """Granian's object that takes an answer."""

    def __init__(self) -> None:
        self._answered = threading.Event()
        self._answer = b""

    def response_bytes(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self._answer = body
        self._answered.set()

    def response_iter(self, status: int, headers: list[tuple[str, str]], pieces: Any) -> None:
        while (piece := next(pieces, None)) is not None:
            self._answer += piece
        pieces.close()
        self._answered.set()

    def answer(self) -> bytes:
        assert self._answered.wait(PATIENCE_SECONDS)
        return self._answer


class _Streamed:
    streaming = True

    def __iter__(self) -> Any:
        return iter([b"ab", b"cde"])

    def close(self) -> None: ...


def _application(environment: dict[str, Any], start: Callable[..., None]) -> Iterable[bytes]:
    """Read a row of two, and answer the id that lines of the log would have."""
    start("200 OK", [])
    if environment["PATH_INFO"] == "/streamed":
        return _Streamed()
    fetch("select n from generate_series(1, 2) n")
    return [(logs.REQUEST_ID.get() or "").encode()]


def _ask(gateway: Gateway, path: str = "/api/v1/blocks", query: str = "", **headers: str) -> bytes:
    protocol = _Protocol()
    environment = of_request(path, query)
    gateway(protocol, environment | headers)
    return protocol.answer()


@pytest.fixture
def access(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The values of the lines of the access log."""
    lines: list[tuple[Any, ...]] = []
    monkeypatch.setattr(access_log, "log", lambda: lambda *values: lines.append(values))
    return lines


@pytest.mark.usefixtures("ledger_tables")
def test_each_request_is_worked_on_with_its_id_and_has_a_line_in_the_access_log(
    access, caplog, settings_of
) -> None:
    settings_of({"web.threads": 1})
    gateway = Gateway(_application, [])
    try:
        assert _ask(gateway, query="limit=2", HTTP_X_REQUEST_ID="mine") == b"mine"
        assert _ask(gateway) not in (b"mine", b"")
        assert _ask(gateway, "/streamed") == b"abcde"
        wait_until(lambda: len(access) == 3)
    finally:
        closed = threading.Event()

        def close() -> None:
            connection.close()
            closed.set()

        gateway.scheduler.submit(close)
        assert closed.wait(PATIENCE_SECONDS)
    assert [(path, status, rows, size, client) for _, path, status, _, rows, size, client, _ in access] == [
        ("/api/v1/blocks?limit=2", 200, 2, 4, "192.0.2.7"),
        ("/api/v1/blocks", 200, 2, access[1][5], "192.0.2.7"),
        ("/streamed", 200, 0, 5, "192.0.2.7"),
    ]
    assert access[0][-1] == "mine"
    assert events(caplog) == []


@pytest.mark.parametrize(
    ("slow_after", "worked", "is_slow"), [(1.0, 2.0, True), (900.0, 2.0, False), (0.0, 2.0, False)]
)
def test_a_request_is_slow_by_the_time_after_its_turn_began(
    settings_of, monkeypatch, slow_after: float, worked: float, is_slow: bool
) -> None:
    settings_of({"logging.slowRequest": slow_after})
    told: list[dict[str, Any]] = []
    monkeypatch.setattr(SlowRequests, "enqueue", lambda *_, **keys: told.append(keys))
    environment = of_request("/")
    observer = Observer()
    observer.begin(environment)

    began = time.monotonic() - worked
    observer.end(environment, 200, Times(began - 64, began), 7)

    assert [(each["waited_ms"], each["bytes"]) for each in told] == [(64_000, 7)] * is_slow


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
    assert "Scan" in plan and "on record_file" in plan and "(consensus_end = $1)" in plan
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
