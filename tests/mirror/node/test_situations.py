"""All that `manage.py status` prints, in each situation in which a node may be: read it aloud."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from mirror.core.db.schema.backfill import TITLES
from mirror.core.processes.exits import Death
from mirror.management.commands.status import Command
from mirror.node.health import checks
from mirror.node.health.facts import Block, MissingArchiveFile, State
from mirror.node.health.inventory import AddressBook, Database, Disk, Inventory
from mirror.node.health.status import Status
from mirror.upgrade.remaining import Remaining, Upgrade
from mirror.web.monitoring.probe import ProbeResult
from tests.build import SECOND, START, insert

NOW = datetime.fromtimestamp(START // SECOND, UTC)
DAY = 86_400
GB = 1024**3
URL = "http://127.0.0.1:8000"


def block(age: int) -> Block:
    return Block(1234, START - age * SECOND, "a.rcd.gz")


def loader(
    activity: str, source: str = "s3://mainnet", *, reported: int = 1, **columns: Any
) -> dict[str, Any]:
    return {
        "activity": activity,
        "source": source,
        "following": True,
        "process": 77,
        "host": "ada",
        "started": NOW - timedelta(hours=2, seconds=reported),
        "reported": NOW - timedelta(seconds=reported),
        "files": 3600,
        "transactions": 432_000,
        "transaction_rate": None,
        "stream_rate": None,
        "problem": None,
    } | columns


def status(age: int | None, state: dict[str, Any] | None, *, running: bool = True, **more: Any) -> Status:
    return Status(block=None if age is None else block(age), loader=state, running=running, now=START, **more)


HELD = Inventory(
    network="mainnet",
    book=AddressBook(START - 30 * DAY * SECOND, 31, START - 3600 * SECOND),
    rows={"transaction": 432_000, "entity": 9_000},
    database=Database("18.1", True, 3 * GB),
    disk=Disk(40 * GB, 250 * GB, Path("/data")),
    versions={"Ledger Mirror": "1.0.0", "Python": "3.11.7", "Django": "5.2"},
)


def inventory(network: str = "mainnet", **facts: Any) -> Inventory:
    return replace(HELD, network=network, **facts)


def problem(file: str, cause: str, cure: str, **more: Any) -> dict[str, Any]:
    since = START // SECOND - 720
    return {
        "file": file,
        "position": "",
        "cause": cause,
        "cure": cure,
        "signatures": None,
        "since": since,
    } | more


NEW = inventory("demo", book=None, rows={}, database=Database("18.1", True, 20 * 1024**2))
DEMO = inventory("demo", book=AddressBook(1, 4, None))
PRIVATE = inventory("ours", book=AddressBook(1, 3, None), database=Database("17.2", False, 3 * GB))
UP, DOWN = ProbeResult(URL, answers=True), ProbeResult(URL, answers=False)
NO_QUORUM = problem(
    "2026-01-01T00_00_02.000000000Z.rcd_sig",
    "no consensus: signed by 1 of 3 nodes (node 0) with 31.0 % of the stake; more than 33.3 % needed; "
    "nodes 1, 2: no signature file",
    "More nodes may publish their signatures soon; if not, name the network's address book by "
    "importer.initialAddressBook.",
    signatures={
        "signed": [0],
        "others": {"1": "no signature file", "2": "no signature file"},
        "stake": 31 * 10**16,
        "required": 34 * 10**16,
        "counted": False,
    },
)

Situation = tuple[Status, Inventory, ProbeResult]
SITUATIONS: dict[str, Situation] = {
    "before the first block": (status(None, None, running=False), NEW, UP),
    "the demo": (status(689 * DAY, None, running=False), DEMO, UP),
    "the live demo": (
        status(1, loader("loading", "the live demo network", transaction_rate=11.2, stream_rate=9e6)),
        DEMO,
        UP,
    ),
    "the live demo, stopped": (
        status(7300, loader("stopped", "the live demo network", reported=7300), running=False),
        DEMO,
        DOWN,
    ),
    "a public network": (
        status(4, loader("waiting", transaction_rate=120.4, stream_rate=1.0)),
        inventory(),
        UP,
    ),
    "a private network": (
        status(3, loader("waiting", "the folder /streams", transaction_rate=2.0)),
        PRIVATE,
        UP,
    ),
    "starting": (status(None, loader("starting", files=0, transactions=0)), NEW, DOWN),
    "behind": (
        status(3 * DAY, loader("loading", transaction_rate=3100.4, stream_rate=73.0)),
        inventory(),
        UP,
    ),
    "nothing newer": (status(3600, loader("waiting")), inventory(), UP),
    "loading a folder": (
        status(
            400 * DAY, loader("loading", "/streams", following=False, transaction_rate=5e3, stream_rate=90.0)
        ),
        inventory(),
        UP,
    ),
    "a folder was loaded": (
        status(400 * DAY, loader("stopped", "/streams", following=False, reported=300), running=False),
        inventory(),
        UP,
    ),
    "stuck without a quorum": (status(760, loader("stuck", problem=NO_QUORUM)), PRIVATE, UP),
    "stuck at a bucket": (
        status(
            760,
            loader(
                "stuck",
                problem=problem(
                    "",
                    "s3://mainnet can't be listed: 403 Forbidden",
                    "Check the credentials and importer.downloader.endpointOverride.",
                ),
            ),
        ),
        inventory(),
        UP,
    ),
    "failed": (
        status(
            760,
            loader(
                "failed",
                reported=120,
                problem=problem(
                    "b.rcd.gz",
                    "the chain is broken: it does not follow a.rcd.gz",
                    "Load the files between them first",
                ),
            ),
            running=False,
        ),
        inventory(),
        UP,
    ),
    "stopped by somebody": (status(7300, loader("stopped", reported=7200), running=False), inventory(), DOWN),
    "killed": (
        status(130, loader("waiting", reported=120), running=False),
        inventory(deaths=[Death(START / SECOND - 125, "loader (process 77)", "was killed by SIGKILL")]),
        DOWN,
    ),
    "hanging": (status(700, loader("loading", reported=600)), inventory(), UP),
    "after a crash": (
        status(3, loader("waiting", transaction_rate=120.0)),
        inventory(
            deaths=[Death(START / SECOND - 300, "PostgreSQL (process 9)", "was killed by SIGKILL")],
            disk=Disk(GB, 250 * GB, Path("/data")),
        ),
        UP,
    ),
    "upgrading": (
        status(
            3,
            loader("waiting", transaction_rate=120.0),
            upgrade=Upgrade(
                [
                    Remaining("ethereum_weibars", 1000, 0, 600, 9, 120.0, True, False),
                    Remaining("block_times", None, None, None, 0, 0.0, False, False),
                ],
                True,
            ),
        ),
        inventory(),
        UP,
    ),
    "an upgrade that nobody does": (
        status(
            3,
            loader("waiting", transaction_rate=120.0),
            upgrade=Upgrade([Remaining("block_times", None, None, None, 0, 0.0, False, False)], False),
        ),
        inventory(),
        UP,
    ),
    "a transaction was passed over": (
        status(
            3,
            loader("waiting", transaction_rate=120.0),
            skipped_transaction=[{"type": 14, "consensus_timestamp": START - SECOND, "file": "a.rcd.gz"}],
        ),
        inventory(),
        UP,
    ),
    "files could not be kept": (
        status(
            3,
            loader("waiting", transaction_rate=120.0),
            archive_failure=MissingArchiveFile(
                12, START // SECOND - 600, "a.rcd.gz", "No space left on device"
            ),
        ),
        inventory(),
        UP,
    ),
    "a dump of another node": (status(DAY, loader("waiting", reported=DAY), running=False), PRIVATE, UP),
    "a standby of PostgreSQL": (
        status(20, loader("waiting", reported=5, transaction_rate=120.0), running=False, standby=True),
        PRIVATE,
        UP,
    ),
}
SAID = Path(__file__).with_name("situations.txt").read_text()


def printed(situation: Situation) -> str:
    now, held, answer = situation
    if held.book:
        insert("address_book", start_consensus_timestamp=held.book.start, file_id=102, file_data=b"")
    held = replace(held, reasons=checks.reasons(now))
    answer = replace(answer, ready=answer.answers and not held.reasons)
    output = StringIO()
    Command(stdout=output)._show(now, [*held.lines(now), ("Web server", answer.text)])
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines())


@pytest.mark.django_db
@pytest.mark.parametrize("name", SITUATIONS)
def test_status_prints_each_situation(name: str, settings_of: Callable[..., None]) -> None:
    held = SITUATIONS[name][1]
    settings_of({"network": held.network})

    expected = SAID.partition(f"=== {name}\n\n")[2].partition("\n\n===")[0]

    assert printed(SITUATIONS[name]) == expected.strip("\n").replace("{steps}", str(len(TITLES)))


def test_each_situation_written_down_is_one_of_these() -> None:
    assert [line[4:] for line in SAID.splitlines() if line.startswith("=== ")] == list(SITUATIONS)


def test_guide_names_every_state() -> None:
    guide = Path(settings.BASE_DIR, "mirror", "docs", "operate.md").read_text()
    named = guide.partition("`state` is one of")[2].partition(";")[0]

    assert re.findall(r"`([a-z_]+)`", named) == [*State]
