"""Reports of a loader in the row of loader_state."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection, connections
from psycopg.conninfo import make_conninfo

from ledger.ingest import IngestError, loader_lock
from ledger.ingest.pipeline import Pipeline, Progress
from ledger.ingest.reporting import Problem, Reporting
from ledger.stream.errors import StreamFileError
from ledger.stream.signature.address_book import AddressBookNode
from ledger.stream.signature.quorum import ConsensusMode, NoQuorum, Quorum, Votes
from ledger.stream.source.local import find_record_files
from mirror.core.config.setting import OperatorError
from mirror.models import LOADER_LOCK, LoaderState
from mirror.node.loading import following
from tests.ledger.compose import Stream
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures("ledger_tables")

NODE, OTHER = AddressBookNode(0, 3, "ab"), AddressBookNode(1, 4, "cd")


def start(folder: Path) -> subprocess.Popen[bytes]:
    """The command in a process of its own."""
    database = connection.settings_dict
    url = make_conninfo(
        dbname=database["NAME"],
        user=database["USER"] or None,
        password=database["PASSWORD"] or None,
        host=database["HOST"] or None,
        port=database["PORT"] or None,
    )
    manage = [sys.executable, str(django_settings.BASE_DIR / "manage.py")]
    environment = os.environ | {"DATABASE_URL": url}
    return subprocess.Popen([*manage, "ingest", str(folder)], env=environment, stdout=subprocess.DEVNULL)


def reported(activity: str) -> dict[str, Any]:
    """The row, once it says this."""
    rows = LoaderState.objects.values()
    return dict(wait_until(lambda: rows.filter(activity=activity).first(), rows.first))


def test_a_loader_reports_its_progress_and_that_it_stopped(tmp_path: Any) -> None:
    stream = Stream()
    for _ in range(3):
        stream.send({1001: -1, 1002: 1})
        stream.block().write(tmp_path)

    with Reporting(source="the folder somewhere", following=True) as report:
        assert reported("starting")["source"] == "the folder somewhere"
        Pipeline(report=report.loading).run(find_record_files([tmp_path]))
        assert reported("loading")["following"]
        report.newest(5)
        report.waiting()
        reported("waiting")

    row = reported("stopped")
    assert (row["files"], row["transactions"], row["newest"], row["problem"]) == (3, 3, 5, None)


def test_a_loader_tells_where_it_has_blocks_from_as_long_as_it_follows_them() -> None:
    told = {"now": "the block node near:40840", "why": "", "nodes": []}

    with Reporting(source="block nodes", following=True) as report:
        report.block_source_from(lambda: told)
        report.waiting()
        assert reported("waiting")["block_source"] == told
        report.block_source_from(None)

    assert reported("stopped")["block_source"] is None


def test_stuck_loader_says_why_until_it_continues() -> None:
    ballot = Votes(
        "a.rcd_sig", Quorum.from_address_book([NODE, OTHER], {}, ConsensusMode.EQUAL, Fraction(1, 3))
    )
    ballot.reject(1, "unreachable")
    with pytest.raises(NoQuorum) as raised:
        ballot.require()

    with Reporting(source="the bucket b", following=True) as report:
        report.stuck(Problem.from_error(raised.value))
        found = reported("stuck")["problem"]
        report.loading(Progress())
        after = reported("loading")["problem"]

    assert found["file"] == "a.rcd_sig"
    assert "signed by 0 of " in found["cause"]
    assert found["signatures"] == {
        "signed": [],
        "others": {"0": "no signature file", "1": "unreachable"},
        "stake": 0,
        "required": 1,
        "counted": True,
    }
    assert after is None


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            IngestError("a.rcd", "header", "the chain is broken", "Load the files between."),
            {
                "file": "a.rcd",
                "position": "header",
                "cause": "the chain is broken",
                "cure": "Load the files between.",
            },
        ),
        (StreamFileError("a.rcd", 7, "odd", "Fetch it again."), {"file": "a.rcd", "position": "byte 7"}),
        (ValueError("what?"), {"file": "", "cause": "ValueError: what?"}),
    ],
    ids=["order", "file", "defect"],
)
def test_a_loader_that_fails_leaves_its_last_error(error: Exception, expected: dict[str, str]) -> None:
    with pytest.raises(type(error)), Reporting(source="the bucket b"):
        raise error

    row = reported("failed")
    assert expected.items() <= row["problem"].items()


@pytest.fixture
def running() -> Iterator[dict[str, Any]]:
    """Store the report of a loader that runs elsewhere and holds the lock."""
    other = connections.create_connection("default")
    with other.cursor() as cursor:
        cursor.execute("select pg_advisory_lock(%s)", [LOADER_LOCK])
    with Reporting(source="the bucket of the one that runs", following=True):
        pass
    LoaderState.objects.update(activity="loading", process=1)
    yield reported("loading")
    other.close()


def test_a_follower_that_is_refused_leaves_the_state_of_the_one_that_runs(
    running: dict[str, Any], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader_lock, "LOADER_LOCK_SECONDS", 0.1)

    with pytest.raises(OperatorError, match="another loader is writing to it"):
        following.follow(print, threading.Event(), str(tmp_path))

    assert LoaderState.objects.values().get() == running


def test_an_importer_that_is_refused_leaves_the_state_of_the_one_that_runs(
    running: dict[str, Any], tmp_path: Any
) -> None:
    stream = Stream()
    stream.send({1001: -1, 1002: 1})
    stream.block().write(tmp_path)

    refused = start(tmp_path)

    assert refused.wait() == 1
    assert LoaderState.objects.values().get() == running


def test_stopping_is_no_failure() -> None:
    with pytest.raises(KeyboardInterrupt), Reporting(source="the bucket b"):
        raise KeyboardInterrupt

    assert reported("stopped")["problem"] is None


def test_a_later_loader_replaces_the_report_of_an_earlier_one() -> None:
    for source in ("the folder a", "the folder b"):
        with Reporting(source=source):
            pass

    assert list(LoaderState.objects.values_list("source", flat=True)) == ["the folder b"]
