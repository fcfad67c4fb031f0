"""manage.py verify: what it prints, and the exit code."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from ledger.ingest.named_ranges import InvalidRange
from ledger.ingest.pipeline import Pipeline
from ledger.stream.source.local import find_record_files
from tests.ledger.compose import Stream

pytestmark = pytest.mark.usefixtures("ledger_tables")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three blocks of one transfer each, loaded."""
    stream = Stream()
    for _ in range(3):
        stream.send({1001: -5, 1002: 5})
        stream.block().write(tmp_path)
    Pipeline().run(find_record_files([tmp_path]))
    return tmp_path


def test_it_says_in_one_sentence_that_all_is_well(folder: Path) -> None:
    said = StringIO()

    call_command("verify", folder, stdout=said)

    assert said.getvalue() == (
        "Nothing wrong with 3 files with 3 transactions, 0 of them published with signatures: intact, in "
        "order, and stored as they are.\n"
    )


def test_files_before_the_first_loaded_one_are_listed(tmp_path: Path) -> None:
    stream = Stream()
    for _ in range(3):
        stream.send({1001: -5, 1002: 5})
        stream.block().write(tmp_path)
    files = find_record_files([tmp_path])
    Pipeline().run(files[2:])
    said = StringIO()

    call_command("verify", tmp_path, stdout=said)

    assert said.getvalue() == (
        f"Not loaded, so not compared: 2 files from {files[0].name} to {files[1].name} "
        "(2025-01-01T00:00:00Z to 2025-01-01T00:00:02Z).\n"
        "Nothing wrong with 3 files with 3 transactions, of which 2 are not loaded, 0 of them published with "
        "signatures: intact, in order, and the others stored as they are.\n"
    )


def test_files_after_the_last_loaded_one_are_a_failure(tmp_path: Path) -> None:
    stream = Stream()
    for _ in range(3):
        stream.send({1001: -5, 1002: 5})
        stream.block().write(tmp_path)
    files = find_record_files([tmp_path])
    Pipeline().run(files[:2])
    said = StringIO()

    with pytest.raises(CommandError) as raised:
        call_command("verify", tmp_path, stdout=said)

    assert raised.value.returncode == 1
    assert said.getvalue().startswith(f"Not loaded, so not compared: {files[2].name} (")
    assert str(raised.value) == (
        "1 file lies in a gap or after the last loaded file. Nothing else is wrong with 3 files with 3 "
        "transactions, of which 1 is not loaded, 0 of them published with signatures."
    )


def test_it_prints_every_difference_and_fails(folder: Path) -> None:
    with connection.cursor() as cursor:
        cursor.execute("update crypto_transfer set amount = 6 where amount = 5")
    said = StringIO()

    with pytest.raises(CommandError, match="^3 differences in 3 files with 3 transactions") as raised:
        call_command("verify", folder, stdout=said)

    assert raised.value.returncode == 1
    assert said.getvalue().count("crypto_transfer.amount: stored 6, expected 5") == 3


def test_range_narrows_what_is_verified(folder: Path) -> None:
    said = StringIO()

    call_command("verify", folder, "--from", "1", "--to", "1", stdout=said)

    assert "Nothing wrong with 1 files" in said.getvalue()


@pytest.mark.parametrize("bounds", [("--from", "9"), ("--to", "soon")])
def test_range_that_makes_no_sense_is_wrong_use(bounds: tuple[str, str], folder: Path) -> None:
    with pytest.raises(InvalidRange) as raised:
        call_command("verify", folder, *bounds)

    assert raised.value.exit_code == 2


def test_folders_without_files_of_the_range_are_wrong_use(folder: Path) -> None:
    with pytest.raises(
        CommandError, match="no record file or block in the given folders of that range"
    ) as raised:
        call_command("verify", folder, "--to", "2001-01-01")

    assert raised.value.returncode == 2
