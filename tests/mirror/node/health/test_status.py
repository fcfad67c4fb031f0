"""The one sentence about the node, for every state a loader may be in."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pytest
from django.db import connection, connections

from ledger.ingest.reporting import HEARTBEAT_SECONDS, SECONDS_BETWEEN_WRITES
from ledger.models import RecordFile
from mirror.core.metrics import node
from mirror.core.values.human_readable import duration
from mirror.models import LOADER_LOCK, LoaderState
from mirror.node.admin import dashboard
from mirror.node.health import block_nodes, gauges, status
from mirror.node.health.facts import LATE_SECONDS
from tests.build import SECOND, START, Build

pytestmark = pytest.mark.django_db

NOW = datetime.fromtimestamp(START // SECOND, UTC)


@pytest.fixture(autouse=True)
def now(settings_of: Callable[..., None]) -> None:
    settings_of({"clock.now": float(START // SECOND)})
    LoaderState.objects.all().delete()


@pytest.fixture
def lock() -> Any:
    """A loader holds its lock: in a session of its own, until the test ends."""
    other = connections.create_connection("default")
    with other.cursor() as cursor:
        cursor.execute("select pg_advisory_lock(%s)", [LOADER_LOCK])
    yield
    with other.cursor() as cursor:
        # The session ends a little after its connection is closed.
        cursor.execute("select pg_advisory_unlock(%s)", [LOADER_LOCK])
    other.close()


def loader(activity: str, *, seconds_ago: int = 1, **columns: Any) -> None:
    LoaderState.objects.create(
        **{
            "id": 1,
            "activity": activity,
            "source": "s3://streams",
            "following": True,
            "process": 77,
            "host": "ada",
            "started": NOW - timedelta(hours=2),
            "reported": NOW - timedelta(seconds=seconds_ago),
        }
        | columns
    )


def block(seconds_ago: int) -> str:
    Build().block(1234, end=START - seconds_ago * SECOND)
    time = NOW - timedelta(seconds=seconds_ago)
    return f"The last block is number 1234 of {time:%Y-%m-%d %H:%M:%S} UTC, {duration(seconds_ago)} old"


def test_empty_node_names_the_first_command(settings_of: Callable[..., None]) -> None:
    assert status.read().sentence == (
        "No block is loaded yet, and no loader runs: `manage.py up` makes the demo network and loads it."
    )
    settings_of({"network": "testnet"})
    assert status.read().sentence == (
        "No block is loaded yet, and no loader runs: `manage.py ingest PATH` loads files, "
        "`manage.py ingest --follow` follows the network."
    )


def test_last_block_is_named_without_a_loader(settings_of: Callable[..., None]) -> None:
    settings_of({"network": "testnet"})
    last = block(5)

    assert status.read().sentence.startswith(f"{last}, and no loader runs: ")


def test_ended_demo_network_names_the_command(settings_of: Callable[..., None]) -> None:
    last = block(5)

    assert status.read().sentence == (
        "All of the demo network's history is loaded. It has ended: `manage.py up --live` lets it go on. "
        f"{last}."
    )
    settings_of({"network": "testnet"})
    assert "--live" not in status.read().sentence


@pytest.mark.usefixtures("lock")
def test_loader_without_report_is_known_by_its_lock() -> None:
    assert status.read().sentence == "Loading. No block is loaded yet."


PROBLEM = {
    "file": "a.rcd_sig",
    "position": "",
    "cause": "no consensus: signed by node 1, 1 of the 2 stake needed (of 4); node 0: no signature file",
    "cure": "More nodes may sign it soon.",
    "signatures": {
        "signed": [1],
        "others": {"0": "no signature file"},
        "stake": 1,
        "required": 2,
        "counted": True,
    },
}

FAILED = {"file": "a.rcd", "position": "byte 7", "cause": "odd", "cure": "", "signatures": None}
NO_BLOCK = "No block is loaded yet."
KILLED = (
    "Not loading: the loader (process 77 on ada) ended without a word 1 minute ago: it was killed, or "
    "its machine went down, or this is a copy of its database. No block is loaded yet. Start it again: "
    "it goes on where it was."
)


class Case(NamedTuple):
    """The activity of a loader, the age of the last block (s), and the columns of loader_state."""

    activity: str
    block: int | None
    sentence: str
    columns: dict[str, Any] = {}
    seconds_ago: int = 1
    holds_lock: bool = True
    needs_operator: bool = False


CASES = {
    "catching up": Case(
        "loading",
        3 * 86_400,
        "Catching up with s3://streams, 3,100 transactions per second, 73 times as fast as they happened, "
        "about 1 hour to go. {last}.",
        {"transaction_rate": 3100.4, "stream_rate": 73.0},
    ),
    "a pause in the stream": Case(
        "loading",
        3600,
        "Catching up with s3://streams, 6 transactions per second. {last}.",
        {"transaction_rate": 6.0, "stream_rate": 7.2e6},
    ),
    **{
        f"up to date, {activity}": Case(
            activity,
            4,
            "Following s3://streams, up to date, 120 transactions per second. {last}.",
            {"transaction_rate": 120.0, "stream_rate": 1.0},
        )
        for activity in ("loading", "waiting")
    },
    "nothing newer": Case(
        "waiting",
        3600,
        "Following s3://streams; nothing newer is there. {last}: if the network runs, check that it "
        "publishes there.",
    ),
    "a folder": Case(
        "loading",
        None,
        f"Loading the folder /data, 5,000 transactions per second. {NO_BLOCK}",
        {"following": False, "source": "the folder /data", "transaction_rate": 5000.0},
    ),
    "stuck": Case(
        "stuck",
        300,
        "Stuck at a.rcd_sig: no consensus: signed by node 1, 1 of the 2 stake needed (of 4); node 0: no "
        "signature file. More nodes may sign it soon. The node tries again by itself. {last}.",
        {"problem": PROBLEM},
        needs_operator=True,
    ),
    "failed": Case(
        "failed",
        None,
        f"Not loading: the loader ended 2 minutes ago at a.rcd, byte 7: odd. {NO_BLOCK}",
        {"problem": FAILED},
        seconds_ago=120,
        holds_lock=False,
        needs_operator=True,
    ),
    "stopped": Case(
        "stopped",
        None,
        f"Not loading: the loader of s3://streams was stopped 2 hours ago. {NO_BLOCK} "
        "To go on: `manage.py up`, or `manage.py ingest --follow`.",
        seconds_ago=7200,
        holds_lock=False,
    ),
    "starting": Case("starting", None, f"Starting to load from s3://streams. {NO_BLOCK}", seconds_ago=8),
    **{
        f"killed, {activity}": Case(
            activity, None, KILLED, seconds_ago=90, holds_lock=False, needs_operator=True
        )
        for activity in ("starting", "loading", "waiting", "stuck")
    },
    **{
        f"no report for a quarter of a minute, {activity}": Case(
            activity,
            3 * 86_400,
            "The loader (process 77 on ada) last reported 15 seconds ago: its process is stopped, or its "
            "machine or the database is overloaded. {last}.",
            {"transaction_rate": 3100.4, "stream_rate": 73.0},
            seconds_ago=15,
        )
        for activity in ("starting", "loading", "waiting")
    },
    "hanging": Case(
        "loading",
        None,
        "The loader (process 77 on ada) has not said anything for 10 minutes: its output may tell why; if "
        f"not, stop it and start it again. {NO_BLOCK}",
        seconds_ago=600,
        needs_operator=True,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_state_of_the_loader_is_one_sentence(case: Case, request: pytest.FixtureRequest) -> None:
    if case.holds_lock:
        request.getfixturevalue("lock")
    last = "" if case.block is None else block(case.block)
    loader(case.activity, seconds_ago=case.seconds_ago, **case.columns)

    now = status.read()

    assert (now.sentence, now.needs_operator) == (case.sentence.replace("{last}", last), case.needs_operator)


def test_a_loader_without_a_recent_report_has_no_rate_and_is_not_well(lock: Any) -> None:
    block(3 * 86_400)
    loader("loading", transaction_rate=3100.4, stream_rate=73.0)

    recent = status.read()
    LoaderState.objects.update(reported=NOW - timedelta(seconds=15))
    late = status.read()

    assert (recent.state, recent.is_well, recent.public_sentence) == (
        "catching_up",
        True,
        "Catching up with the network.",
    )
    assert (late.state, late.is_well, late.needs_operator) == ("silent", False, False)
    assert late.public_sentence == "The loader last reported 15 seconds ago."
    assert {late.json["loader"][name] for name in ("transactions_per_second", "seconds_left")} == {None}
    assert all(value == 0 for gauge, _, value in gauges._loader_values(late) if gauge is node.RATE)


def test_a_loader_reports_more_often_than_a_report_is_recent() -> None:
    assert HEARTBEAT_SECONDS + SECONDS_BETWEEN_WRITES < LATE_SECONDS


def test_status_takes_five_statements(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(5, connection=connection):
        status.read()


NEVER = {"last_failure": "", "set_aside_until": None}


def test_retry_is_mentioned_once(lock: Any) -> None:
    block(5)
    loader("stuck", problem=PROBLEM | {"cure": "It is tried again while loading goes on."})

    assert status.read().sentence.count("again") == 1


def test_source_of_blocks_and_block_nodes_are_reported(lock: Any) -> None:
    last = block(5)
    nodes = [
        {"name": "near:40840", "priority": 0, "used": True, "latency_ms": 120, "failures": 0},
        {"name": "far:40840", "priority": 1, "used": False, "latency_ms": None, "failures": 0},
    ]
    told = [each | {"last_failure": "", "set_aside_until": None} for each in nodes]
    told[1] |= {"last_failure": "the block node is away.", "set_aside_until": START // SECOND + 43}
    why = "it is the first in order that has the block"
    source = {"now": "the block node near:40840", "why": why, "nodes": told}
    loader("waiting", block_source=source)

    read = status.read()

    assert read.sentence == (
        f"Following s3://streams, up to date. {last}. Blocks come from the block node near:40840: {why}. "
        "Block nodes, the preferred one first: near:40840, 120 ms after the end of a block; far:40840, whose "
        "latency is not known, set aside for another 43 seconds, last failure: the block node is away."
    )
    assert read.json["loader"]["block_source"] == source
    # Other tests may have left deaths of processes.
    (trouble,) = (each for each in dashboard.incidents(read) if "block node" in each.what)
    now = START / SECOND
    assert block_nodes.sentences(source | {"nodes": [told[0]] * 7}, now).endswith("; and 2 more.")
    away = {"answer": "connection refused", "blocks": None, "answered": START // SECOND - 3}
    behind = {"answer": "has blocks 0 to 59", "blocks": [0, 59], "answered": START // SECOND - 2}
    said = block_nodes.sentences(source | {"nodes": [told[0], nodes[1] | away | NEVER]}, now)
    assert said.endswith("; far:40840, asked 3 seconds ago: connection refused.")
    past = NEVER | {"last_failure": "its stream has failed", "failures": 1}
    said = block_nodes.sentences(source | {"nodes": [told[0], nodes[1] | past | away]}, now)
    assert said.endswith("; far:40840, asked 3 seconds ago: connection refused.")
    said = block_nodes.sentences(source | {"nodes": [told[0], nodes[1] | past | behind]}, now)
    assert said.endswith("; far:40840, whose latency is not known, last failure: its stream has failed.")
    nodes[0]["used"] = False
    said = block_nodes.sentences(source | {"nodes": [each | behind | NEVER for each in nodes]}, now)
    assert said.count("asked 2 seconds ago: has blocks 0 to 59") == 2
    assert trouble.what == "The block node far:40840 is set aside: the block node is away."


def test_late_clock_is_reported() -> None:
    block(-3 * 3600)
    loader("waiting")

    assert (
        "The clock of this machine is at least 3 hours behind that of the network, whose last block is later "
        "than now: set it, for example by NTP."
    ) in status.read().sentence
    block(-60)
    RecordFile.objects.filter(consensus_end__gt=START + 60 * SECOND).delete()
    assert "clock" not in status.read().sentence


def test_demo_network_that_is_ahead_of_the_clock_waits() -> None:
    block(-24 * 3600)
    loader("loading", source="the live demo network")

    assert (
        "The demo network waits for 1 day: its last block is that much later than now, as the clock of this "
        "machine was ahead when it was made."
    ) in status.read().sentence


def test_incidents_of_the_source_are_reported(lock: Any) -> None:
    block(3)
    seconds = START // SECOND
    last = [{"at": seconds - 5, "cause": "recordstreams/record0.0.3: can't be had: HTTP error"}]
    loader("waiting", incidents={"count": 4, "last": last})

    assert (
        "4 requests to the source failed or took long in the last 10 minutes, the last one 5 seconds ago: "
        "recordstreams/record0.0.3: can't be had: HTTP error."
    ) in status.read().sentence
    assert not status.read().needs_operator
    LoaderState.objects.update(activity="stopped")
    assert "requests" not in status.read().sentence
