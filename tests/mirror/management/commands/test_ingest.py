"""`manage.py ingest` with --estimate and --filter; then status and verify of the result."""

from pathlib import Path

import pytest

from tests.composing import Composer
from tests.ledger.compose import Stream
from tests.node import manage
from tests.signing import signing_nodes


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    """Three blocks: one transfer of 1001 and two of 1003 each."""
    made, folder = Stream(), tmp_path / "stream"
    for _ in range(3):
        made.send({1001: -5, 1002: 5}, payer=1001)
        made.send({1003: -5, 1004: 5}, payer=1003)
        made.send({1003: -5, 1004: 5}, payer=1003)
        made.block().write(folder)
    return folder


def test_estimate_tells_files_bytes_and_rows_and_makes_nothing(stream: Path, tmp_path: Path) -> None:
    node = tmp_path / "node"
    node.mkdir()

    done = manage("ingest", "--estimate", stream, SVC_MIRROR_DATA=str(node))

    size = sum(path.stat().st_size for path in stream.rglob("*.rcd.gz"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        f"3 files of {size / 1024:,.1f} kB (without sidecars and signatures), with about 9 "
    )
    lines = done.stdout.splitlines()
    # Rows of 115 bytes and so on, by table.
    assert lines[1].startswith("Disk: about 9.9 kB in the database, beside ")
    assert lines[2].startswith("Time: about ")
    assert lines[2].endswith(" process on this machine, 2 times as long as reading takes by the sample.")
    assert [line.split() for line in lines[4:] if line] == [
        ["crypto_transfer", "18"],
        ["transaction", "9"],
        ["transaction_hash", "9"],
        ["record_file", "3"],
    ]
    assert not list(node.iterdir())


def test_stream_to_follow_is_estimated_between_two_times(tmp_path: Path) -> None:
    made, node = Composer(nodes=signing_nodes(4)), tmp_path / "node"
    for _ in range(5):
        made.crypto_transfer({2: -5, 1002: 5})
        made.block().write(tmp_path / "bucket")
    node.mkdir()

    times = ("--from", "2025-01-01T00:00:02Z", "--until", "2025-01-01T00:00:08Z")
    done = manage("ingest", "--follow", "--estimate", tmp_path / "bucket", *times, SVC_MIRROR_DATA=str(node))

    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("3 files of ")
    assert lines[1].startswith("To fetch: 3 record files (")
    assert "0 sidecars (0 bytes) and up to 12 signatures (" in lines[1]
    assert lines[1].endswith(" by 15 downloads and 4 listings.")
    assert lines[2].startswith("Disk: about ")
    assert "ing takes longest, " in lines[3]
    assert not list(node.iterdir())


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--estimate", "/nowhere"), "/nowhere does not exist"),
        (("--filter", "0.0.1001", "x"), "--filter: '0.0.1001' is not accounts=, tokens="),
    ],
)
def test_wrong_use_is_explained(options: tuple[str, ...], problem: str, data_folder: Path) -> None:
    done = manage("ingest", *options, SVC_MIRROR_DATA=str(data_folder))

    assert done.returncode == 2
    assert problem in done.stderr


def test_filter_decides_what_is_loaded_and_verified(stream: Path, data_folder: Path, tables: None) -> None:
    kept = ("--filter", "accounts=0.0.1001")
    loaded = manage("ingest", stream, *kept, SVC_MIRROR_DATA=str(data_folder))
    status = manage("status", SVC_MIRROR_DATA=str(data_folder))
    verified = manage("verify", stream, *kept, SVC_MIRROR_DATA=str(data_folder))
    without_filter = manage("verify", stream, SVC_MIRROR_DATA=str(data_folder))

    assert loaded.returncode == 0, loaded.stderr
    assert "Only transactions that account 0.0.1001 takes part in are kept" in loaded.stdout
    assert status.returncode == 0, status.stderr
    assert f"the loader of {stream} ended " in status.stdout
    assert "The last block is number 2 of " in status.stdout
    assert "3 files with 9 transactions" in status.stdout
    assert verified.returncode == 0, verified.stdout
    assert "Nothing wrong with 3 files" in verified.stdout
    assert without_filter.returncode == 1
    assert without_filter.stdout.count(" transaction: a row is missing") == 6


def test_clock_that_is_behind_the_files_is_named_once(stream: Path, data_folder: Path, tables: None) -> None:
    """Files of 2025, in 2024."""
    options = {"SVC_MIRROR_DATA": str(data_folder), "SVC_MIRROR_CLOCK_NOW": "1717200000"}
    options["SVC_MIRROR_IMPORTER_PARSER_RECORD_BATCH_MAXITEMS"] = "1"

    done = manage("ingest", stream, **options)

    assert (done.returncode, done.stderr) == (0, "")
    first, *others = done.stdout.splitlines()
    assert first.startswith("The clock of this machine is at least 214 days behind that of the network, ")
    assert first.endswith("whose last block is later than now: set it, for example by NTP.")
    assert [line for line in others if "clock" in line] == []
