"""`manage.py demo`: a stream in a folder, and the output about it."""

import re
import shlex
import threading
from pathlib import Path
from queue import Queue

import pytest
from django.core.management import CommandError, call_command

from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.block_names import in_bucket
from ledger.stream.source.block_node.assembly import Limits
from ledger.stream.source.block_node.client import BlockNode, BlockNodeClient, Endpoint
from ledger.stream.source.local import find_record_files
from mirror.core.config.setting import OperatorError
from mirror.demo.publish.block_node import serve
from mirror.demo.publish.history import History
from mirror.demo.streams.block_stream import WrappingComposer
from mirror.demo.streams.keys import first_book, nodes
from network import bundled
from tests.node import manage
from tests.waiting import PATIENCE_SECONDS


def made(folder: Path, *options: str) -> dict[str, bytes]:
    """The files of a stream that the command makes, by their path below its folder."""
    call_command("demo", "--out", str(folder), "--blocks", "3", "--tps", "3", *options, verbosity=0)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_same_options_make_the_same_stream(tmp_path, capsys):
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


def test_slow_network_spread_over_hours_has_all_its_blocks(tmp_path):
    made(tmp_path / "stream", "--tps", "0.1", "--hours", "3", "--seed", "9" * 40)

    assert len(find_record_files([tmp_path / "stream"])) == 3


@pytest.mark.parametrize(
    ("network", "options"),
    [("as printed", ()), ("default", ()), ("default", ("--follow", "--until", "2025-01-01T22:00:00Z"))],
    ids=["as printed", "default network", "followed"],
)
def test_stream_is_loaded_by_the_command_that_is_printed(
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
    nodes = "[234]" if options else "4"
    assert re.search(f"All 3 files were verified by signatures of {nodes} nodes", loaded.stdout)
    status = manage("status", SVC_MIRROR_DATA=str(data_folder))
    assert "The last block is number 2 of " in status.stdout
    assert "3 files" in status.stdout


def test_blocks_are_followed_by_the_command_that_is_printed(tmp_path, data_folder, tables, capsys):
    made(tmp_path / "a stream", "--blocks-stream")
    *settings, _, _, command, option, folder = shlex.split(capsys.readouterr().out.splitlines()[-1])

    named = dict(setting.split("=") for setting in settings) | {"SVC_MIRROR_DATA": str(data_folder)}
    loaded = manage(command, option, folder, "--until", "2025-01-01T21:00:03Z", **named)

    assert loaded.returncode == 0, loaded.stderr
    assert "Loaded 2 files" in loaded.stdout
    assert "All 2 blocks were verified by threshold signatures." in loaded.stdout


@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_network_changes_to_blocks_with_the_same_transactions(first, tmp_path, ledger_tables, capsys):
    made(tmp_path / "stream", "--blocks-from", str(first))
    made(tmp_path / "blocks", "--blocks-stream")
    files, blocks = find_record_files([tmp_path / "stream"]), find_record_files([tmp_path / "blocks"])

    done = Pipeline(LoadOptions(quorums=Quorums(first_book()))).run(files)

    assert [file.number for file in files] == [None if number < first else number for number in range(3)]
    assert (done.files, done.verified) == (3, 3)
    bodies = [[item.transaction_bytes for item in file.record_file().items] for file in files]
    assert bodies == [[item.transaction_bytes for item in file.record_file().items] for file in blocks]
    cutover = "CUTOVER_ENABLED" if first else "ENABLED"
    printed = [line for line in capsys.readouterr().out.splitlines() if "--follow" in line]
    assert f" SVC_MIRROR_IMPORTER_BLOCK_{cutover}=true " in printed[0]


def test_first_block_follows_the_block_around_the_last_record_file(tmp_path):
    made(tmp_path / "stream", "--blocks-from", "2")
    wrapping = WrappingComposer()
    for _, block in History(2, 3, 1, blocks_from=2).play(nodes()):
        wrapping.pass_by(block)

    *record_files, first = (file.record_file() for file in find_record_files([tmp_path / "stream"]))

    assert first.previous_hash == wrapping.hash.hex()
    assert [file.hapi_version for file in (*record_files, first)] == [(0, 75, 0), (0, 76, 0), (0, 76, 0)]


def test_bundled_address_book_is_that_of_the_simulated_nodes():
    assert (bundled.FOLDER / f"{bundled.SIMULATED}.bin").read_bytes() == first_book()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--blocks", "0"), "--blocks: '0' is not a whole number of at least 1"),
        (("--tps", "0"), "--tps: '0' is not a number above 0, of at most 10,000"),
        (("--tps", "nan"), "--tps: 'nan' is not a number above 0, of at most 10,000"),
        (("--hours", "-1"), "--hours: '-1' is not a number above 0, of at most 100,000"),
        (("--seed", "-5"), "--seed: '-5' is not a whole number of at least 0"),
        (("--blocks-from", "401"), "--blocks-from: there are only 400 blocks; --blocks makes more"),
        (("--blocks-from", "5", "--blocks-stream"), "Name either --blocks-stream or --blocks-from"),
        (("--blocks-stream", "--balances", "5"), "--balances: networks that go over to blocks write no bal"),
        (("--port", "65536"), "--port: '65536' is not a port, a whole number up to 65535"),
        (("--seed", "9" * 5_000), "is not a whole number of at least 0"),
    ],
    ids=lambda given: "=".join(given)[:20] if isinstance(given, tuple) else "",
)
def test_invalid_numbers_are_explained(options, problem, tmp_path):
    with pytest.raises(CommandError, match=problem.replace("(", r"\(")):
        call_command("demo", "--out", str(tmp_path / "stream"), *options)
    assert not (tmp_path / "stream").exists()


def test_folder_that_is_not_empty_stays_as_it_is(tmp_path):
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(CommandError, match="is not an empty folder: name a new one by --out"):
        call_command("demo", "--out", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_folder_that_can_not_be_written_is_explained(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(CommandError, match=r"file/stream.* can't be written \(Not a directory\)"):
        call_command("demo", "--out", str(tmp_path / "file" / "stream"), "--blocks", "1")


def test_blocks_of_a_folder_are_served_also_new_ones(tmp_path, capsys):
    made(tmp_path / "bucket", "--blocks-stream")
    older = tmp_path / "bucket" / "simulated"
    network = older.rename(f"{older}-202601010000")
    (older / "block").mkdir(parents=True)
    third = network / in_bucket(2)
    third.with_name("a copy.blk.zstd").touch()
    third.rename(tmp_path / "kept")
    stopping, said = threading.Event(), Queue[str]()
    serving = threading.Thread(target=serve, args=(said.put, tmp_path / "bucket", 0, stopping))
    serving.start()
    try:
        told = said.get(timeout=PATIENCE_SECONDS)
        assert "serves the blocks 0 to 1 of " in told
        (tmp_path / "kept").rename(third)
        endpoint = Endpoint("127.0.0.1", int(re.findall(r"127.0.0.1:(\d+)", told)[0]))
        client = BlockNodeClient(BlockNode(endpoint, endpoint), Limits())
        blocks = client.subscribe(0, seconds_per_block=PATIENCE_SECONDS)
        received = [blocks.next(PATIENCE_SECONDS) for _ in range(3)]
        blocks.close()
        client.close()
    finally:
        stopping.set()
        serving.join()

    assert [block.number for block in received if block] == [0, 1, 2]


def test_folder_without_blocks_is_not_served(tmp_path):
    with pytest.raises(OperatorError, match="There is no block below .*: name a folder with blocks in"):
        call_command("demo", "--serve-blocks", str(tmp_path))
    with pytest.raises(CommandError, match="Name a folder for the stream by --out, or one with blocks by"):
        call_command("demo")


def test_summary_counts_files_and_blocks_by_kind_of_signature(tmp_path, data_folder, tables):
    made(tmp_path / "stream", "--blocks-from", "2")
    streams = str(tmp_path / "stream")
    loaded = manage("ingest", streams, SVC_MIRROR_DATA=str(data_folder))

    assert loaded.returncode == 0, loaded.stderr
    assert "2 files were verified by signatures of 4 nodes and 1 by threshold signatures." in loaded.stdout
