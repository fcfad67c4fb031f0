"""The runner of backfills: stopped and killed anywhere, it changes every row once; and what status says."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from django.db import connection

from mirror.core.db.schema.backfill import IndexBuild
from mirror.models import UPGRADE_LOCK
from mirror.node.health import status
from mirror.upgrade import remaining, runner
from mirror.upgrade.progress import lines
from mirror.upgrade.remaining import Remaining
from mirror.upgrade.runner import BACKFILLS
from tests.build import START, Build
from tests.contracts.backfills.test_allowances import CONTRACT, allow, left, spend
from tests.contracts.backfills.test_logs import log, stored
from tests.node import ROOT
from tests.upgrading import put_ahead, upgrade
from tests.waiting import wait_until

ROWS = 700


def finished() -> set[str]:
    return set(BACKFILLS) - set(remaining.names())


@pytest.mark.django_db
def test_stop_between_two_pieces_loses_nothing_and_repeats_nothing() -> None:
    build = Build()
    allow(build, CONTRACT, ROWS, granted=ROWS)
    for number in range(ROWS):
        spend(build, START + 1 + number, 1)
    put_ahead("contract_allowances")
    stops = 0
    done = False
    while not done:
        stopping = threading.Event()
        shown: list[Remaining] = []

        def stop_after_a_piece(
            state: Remaining, shown: list[Remaining] = shown, stopping: threading.Event = stopping
        ) -> None:
            shown.append(state)
            if state.rows > shown[0].rows:
                stopping.set()

        done = runner.run(stop_after_a_piece, stopping)
        stops += not done
        assert left() == {CONTRACT: ROWS - spent()}

    assert stops > 1
    assert left() == {CONTRACT: 0}


def spent() -> int:
    """Return how many tinybars the pieces that are done have spent."""
    position = remaining.get("contract_allowances").position
    assert position is not None
    return max(0, min(ROWS, START + ROWS - position))


@pytest.mark.django_db
def test_all_backfills_run_once_in_their_order() -> None:
    put_ahead(*BACKFILLS)
    put_ahead(*(name for name in BACKFILLS if not isinstance(BACKFILLS[name], IndexBuild)))
    order: list[str] = []

    assert runner.run(lambda state: order.append(state.name), threading.Event())

    assert list(dict.fromkeys(order)) == [
        name for name in BACKFILLS if not isinstance(BACKFILLS[name], IndexBuild)
    ]
    assert finished() == set(BACKFILLS)
    assert remaining.read().sentence == ""


@pytest.mark.django_db(transaction=True)
def test_row_that_a_loader_holds_only_delays_its_piece() -> None:
    log(START)
    put_ahead("synthetic_logs")
    loader = connection.copy()
    with loader.cursor() as cursor:
        cursor.execute("begin; select from contract_log for update")
    # Longer than a piece waits.
    released = threading.Timer(1.5, loader.connection.rollback)
    released.start()

    assert upgrade()[0].rows == 1

    released.join()
    loader.close()


class Killed:
    """`manage.py upgrade` on the tests' database, in a process of its own."""

    def __init__(self) -> None:
        given = connection.get_connection_params()
        user, host, port = given.get("user", ""), given.get("host", ""), given.get("port", "")
        url = f"postgresql://{user}@/{given['dbname']}?host={host}&port={port}"
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "upgrade"],
            cwd=ROOT,
            env=os.environ | {"DATABASE_URL": url},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def end(self, number: signal.Signals) -> str:
        self.process.send_signal(number)
        return self.process.communicate()[0]


@pytest.fixture
def many_logs() -> Iterator[None]:
    """Logs in so many pieces that a process can be met at work."""
    with connection.cursor() as cursor:
        cursor.execute(
            "insert into contract_log (consensus_timestamp, index, bloom, contract_id, data, "
            "payer_account_id, topic0) select %s + n, 0, '', 5005, '', 1001, %s "
            "from generate_series(1, 200000) n",
            [START, bytes.fromhex("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")],
        )
    yield
    with connection.cursor() as cursor:
        cursor.execute("truncate contract_log")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("many_logs")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_next_process_continues_the_work_of_a_killed_one(number: signal.Signals) -> None:
    put_ahead("synthetic_logs")
    first = Killed()
    wait_until(lambda: remaining.get("synthetic_logs").rows or first.process.poll() is not None)
    second = Killed()
    said = first.end(number)
    if number == signal.SIGTERM:
        assert said.endswith("Stopped as asked: `manage.py upgrade` goes on from here.\n"), said
    before = remaining.get("synthetic_logs").rows
    assert before < 200_000

    said, _ = second.process.communicate()

    assert second.process.returncode == 0
    assert said.endswith("Done: all rows are as this release writes them.\n"), said
    assert remaining.get("synthetic_logs").rows == 200_000
    assert set(stored("synthetic")) == {(True,)}


# WORDS


@pytest.mark.django_db
def test_status_says_what_is_left_and_who_does_it() -> None:
    put_ahead("ethereum_weibars", "synthetic_logs")

    assert status.read().sentence.endswith(
        " Rows of an older release are still to be changed, which `manage.py upgrade` does beside all other "
        f"work (2 of {len(BACKFILLS)} steps left)."
    )
    with connection.cursor() as cursor:
        cursor.execute("select pg_advisory_lock(%s)", [UPGRADE_LOCK])
        cursor.execute(
            "update backfill set newest = 1000, oldest = 0, position = 370, seconds = 409, started = now() "
            "where name = 'ethereum_weibars'"
        )
        sentence = status.read().sentence
        cursor.execute("select pg_advisory_unlock(%s)", [UPGRADE_LOCK])

    assert sentence.endswith(
        " Upgrading: weibars of Ethereum transactions, 63 %, about 4 minutes left; one more step follows."
    )


@pytest.mark.django_db
def test_without_a_terminal_progress_is_lines() -> None:
    said: list[str] = []
    show = lines(said.append)
    log(START)
    put_ahead("synthetic_logs")

    runner.run(show, threading.Event())

    assert said == [
        "Upgrading: marks of synthetic logs, 0 %, 0 rows changed.",
        "Upgrading: marks of synthetic logs, 100 %, 1 rows changed.",
    ]
