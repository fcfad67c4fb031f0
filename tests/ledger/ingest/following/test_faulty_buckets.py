"""Following a bucket over bad networks, and across kills and stops."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from psycopg.conninfo import make_conninfo

from ledger.ingest import loader_lock
from tests import forking
from tests.ledger.ingest.following.network import Network, download, follow, loaded, undisturbed
from tests.ledger.ingest.tables import contents, empty_tables
from tests.ledger.stream.source.servers import BUCKET, Fault, S3Server
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.usefixtures("ledger_tables")


# BAD NETWORKS

FAULTS = 60


def test_a_bad_network_loses_nothing_and_repeats_nothing(network: Network) -> None:
    network.happen(60)
    expected = undisturbed(network)
    choose = random.Random(11)

    with S3Server(network.folder) as server:
        # Every slow answer costs the whole time that the client waits.
        weights = [1 if fault is Fault.SLOW else 4 for fault in Fault]
        server.fault = lambda: choose.choices(list(Fault), weights)[0] if choose.random() < 0.3 else None
        runs = 0
        while (
            sum(server.faults.values()) < FAULTS
            or set(server.faults) < set(Fault)
            or len(loaded()) < len(network.blocks)
        ):
            if len(loaded()) == len(network.blocks):
                assert contents() == expected
                empty_tables()
            done = follow(
                network,
                download(f"s3://{BUCKET}", endpoint=server.endpoint, timeout=1),
                files=min(choose.randrange(10, 40), len(network.blocks) - len(loaded())),
            )
            runs += 1
            assert done.skipped == 0
            assert loaded() == network.files[: len(loaded())]
            assert runs < 200

    assert contents() == expected


# KILLS

KILLS = int(os.environ.get("MIRROR_TEST_KILLS", "4"))


@pytest.fixture
def command(network: Network, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts `manage.py ingest --follow` on the test's database."""
    book = tmp_path / "book.bin"
    book.write_bytes(network.book)
    database = connection.settings_dict
    url = make_conninfo(
        dbname=database["NAME"],
        user=database["USER"] or None,
        password=database["PASSWORD"] or None,
        host=database["HOST"] or None,
        port=database["PORT"] or None,
    )
    environment = os.environ | {"DATABASE_URL": url, "SVC_MIRROR_IMPORTER_INITIALADDRESSBOOK": str(book)}
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, str(settings.BASE_DIR / "manage.py"), "ingest", "--follow", *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_killed_at_random_moments_it_ends_as_if_undisturbed(
    network: Network,
    tmp_path: Path,
    command: Callable[..., subprocess.Popen[str]],
    settings_of: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # So long may it take until the database notices that a loader was killed.
    monkeypatch.setattr(loader_lock, "LOADER_LOCK_SECONDS", PATIENCE_SECONDS)
    settings_of(
        {
            "importer.initialAddressBook": str(tmp_path / "book.bin"),
            # Small batches, so that there are many moments between two commits.
            "importer.parser.record.batch.maxItems": 40,
        }
    )
    network.happen(80, transfers=20)
    expected = undisturbed(network)
    choose = random.Random()

    for _ in range(KILLS):
        before = len(loaded())
        follower = forking.begun(follow, network, files=len(network.blocks) + 1)
        wait_until(lambda one=follower, known=before: len(loaded()) > known or one.exitcode is not None)
        time.sleep(choose.uniform(0, 0.1))
        assert forking.kill(follower), "it ends only when it is killed"
        assert loaded() == network.files[: len(loaded())]
        if len(loaded()) == len(network.blocks):
            assert contents() == expected
            empty_tables()
    until = "2025-02-01"
    assert command(str(network.folder), "--until", until).wait(PATIENCE_SECONDS) == 0

    assert contents() == expected


def test_the_command_stops_between_files_and_says_what_it_did(
    network: Network, command: Callable[..., subprocess.Popen[str]]
) -> None:
    network.happen(3)
    follower = command(str(network.folder))
    wait_until(lambda: len(loaded()) == 3)
    follower.send_signal(signal.SIGTERM)
    said, _ = follower.communicate(timeout=PATIENCE_SECONDS)

    assert follower.returncode == 0
    assert f"Following the folder {network.folder}." in said
    assert "Loaded 3 files with 12 transactions" in said
    assert "All 3 files were verified by signatures of" in said
