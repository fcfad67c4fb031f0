"""`manage.py demo`: a stream in a folder, and the output about it."""

import re
import shlex
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from ledger.stream.source.local import find_record_files
from mirror.demo import run as demo
from network import bundled
from tests.node import manage


def made(folder: Path, *options: str) -> dict[str, bytes]:
    """The files of a stream that the command makes, by their path below its folder."""
    call_command("demo", "--out", str(folder), "--blocks", "3", "--tps", "3", *options, verbosity=0)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_same_options_make_the_same_stream(tmp_path, capsys):
    once, again, other = (
        made(tmp_path / "once"),
        made(tmp_path / "again"),
        made(tmp_path / "x", "--seed", "2"),
    )

    assert once == again
    assert once != other
    assert len(find_record_files([tmp_path / "once"])) == 3
    assert {len([name for name in once if f"record0.0.{node}/2" in name]) for node in (3, 4, 5, 6)} == {6}
    assert " CRYPTOTRANSFER" in capsys.readouterr().out


def test_a_slow_network_spread_over_hours_has_all_its_blocks(tmp_path):
    made(tmp_path / "stream", "--tps", "0.1", "--hours", "3", "--seed", "9" * 40)

    assert len(find_record_files([tmp_path / "stream"])) == 3


@pytest.mark.parametrize(
    ("network", "options"),
    [("as printed", ()), ("default", ()), ("default", ("--follow", "--until", "2025-01-01T22:00:00Z"))],
    ids=["as printed", "default network", "followed"],
)
def test_the_stream_is_loaded_by_the_command_that_is_printed(
    network, options, tmp_path, data_folder, tables, capsys
):
    stream = tmp_path / "a stream"
    made(stream)
    *settings, _, _, command, folder = shlex.split(capsys.readouterr().out.splitlines()[-1])
    named = dict(setting.split("=") for setting in settings if "=" in setting)
    assert named == {"SVC_MIRROR_NETWORK": "simulated", "SVC_MIRROR_DATA": "data/simulated"}
    if network == "default":
        del named["SVC_MIRROR_NETWORK"]

    loaded = manage(command, folder, *options, **named | {"SVC_MIRROR_DATA": str(data_folder)})

    assert loaded.returncode == 0, loaded.stderr
    # A follower stops asking for signatures once it has a quorum.
    nodes = "[34]" if options else "4"
    assert re.search(f"All 3 files were verified by signatures of {nodes} nodes", loaded.stdout)
    status = manage("status", SVC_MIRROR_DATA=str(data_folder))
    assert "The last block is number 2 of " in status.stdout
    assert "3 files" in status.stdout


def test_the_bundled_book_of_the_simulated_network_is_that_of_its_nodes():
    assert (bundled.FOLDER / f"{bundled.SIMULATED}.bin").read_bytes() == demo.first_book()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--blocks", "0"), "--blocks: '0' is not a whole number of at least 1"),
        (("--tps", "0"), "--tps: '0' is not a number above 0, of at most 10,000"),
        (("--tps", "nan"), "--tps: 'nan' is not a number above 0, of at most 10,000"),
        (("--hours", "-1"), "--hours: '-1' is not a number above 0, of at most 100,000"),
        (("--seed", "-5"), "--seed: '-5' is not a whole number of at least 0"),
        (("--seed", "9" * 5_000), "is not a whole number of at least 0"),
    ],
    ids=lambda given: "=".join(given)[:20] if isinstance(given, tuple) else "",
)
def test_invalid_numbers_are_explained(options, problem, tmp_path):
    with pytest.raises(CommandError, match=problem.replace("(", r"\(")):
        call_command("demo", "--out", str(tmp_path / "stream"), *options)
    assert not (tmp_path / "stream").exists()


def test_a_folder_that_is_not_empty_stays_as_it_is(tmp_path):
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(CommandError, match="is not an empty folder: name a new one by --out"):
        call_command("demo", "--out", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_folder_that_can_not_be_written_is_explained(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(CommandError, match=r"file/stream.* can't be written \(Not a directory\)"):
        call_command("demo", "--out", str(tmp_path / "file" / "stream"), "--blocks", "1")
