"""Following and loading from the middle of a stream, after a balance file of the network."""

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.record_names import shortest_time
from ledger.stream.source.local import find_record_files
from mirror.demo.publish.history import BalanceWriter, History
from mirror.demo.streams.keys import first_book, nodes
from mirror.models import LoadedRange
from mirror.node.loading import following, start_point
from tests.ledger.ingest.load import stored
from tests.ledger.ingest.tables import empty_tables

pytestmark = pytest.mark.usefixtures("ledger_tables")


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hours of a network, with its balances every twenty minutes."""
    folder = tmp_path_factory.mktemp("stream")
    balances = BalanceWriter(folder, nodes(), 20)
    for network, block in History(14, 5, 3, 2).play(nodes()):
        block.write(folder)
        balances.after(network.world, block)
    return folder


def balances_now() -> list[Any]:
    return stored("entity", "id, balance", "balance is not null and deleted is not true") + stored(
        "token_account", "account_id, token_id, balance", "associated"
    )


def time_of(instant: int) -> str:
    return shortest_time(instant).replace("_", ":")


def follow(stream: Path, start: int, until: int) -> list[str]:
    said: list[str] = []
    following.follow(said.append, threading.Event(), str(stream), start=time_of(start), until=time_of(until))
    return said


def test_following_from_a_time_begins_with_earlier_balances_and_resumes(stream):
    files = find_record_files([stream])
    Pipeline().run(files)
    expected = balances_now()
    empty_tables()
    wanted = files[8].instant

    said = follow(stream, wanted, files[8].record_file().consensus_end)
    (began,) = LoadedRange.objects.all()
    follow(stream, wanted, files[-1].record_file().consensus_end)

    assert balances_now() == expected
    (loaded,) = LoadedRange.objects.all()
    assert (loaded.rests_on, loaded.last_block) == ("balances", files[-1].record_file().block_number)
    assert began.consensus_start == loaded.consensus_start < wanted
    assert said[1].startswith(f"Loading begins after {loaded.basis}, signed by ")
    assert said[1].endswith(
        " nodes: accounts and tokens begin with the balances in it. What else was before is not known."
    )


def test_following_from_a_time_without_balances_says_so(stream, tmp_path):
    files = find_record_files([stream])
    shutil.copytree(stream / "recordstreams", tmp_path / "recordstreams")

    said = follow(tmp_path, files[8].instant, files[8].instant)

    assert said[1].startswith("Loading begins in the middle of the stream without balances: ")
    assert "There is no balance file of the month before " in said[1]
    assert [each.rests_on for each in LoadedRange.objects.all()] == ["nothing"]


def test_setting_turns_balances_off(stream, settings_of: Callable[..., None]):
    settings_of({"importer.balances.start": "off"})
    files = find_record_files([stream])

    assert len(follow(stream, files[8].instant, files[8].instant)) == 1
    assert [each.rests_on for each in LoadedRange.objects.all()] == ["nothing"]


def test_given_folders_begin_after_their_first_balances_also_the_second_time(stream):
    files, said = find_record_files([stream])[5:], list[str]()

    for _ in range(2):
        chosen, balances = start_point.from_files(
            [stream], files, first_book(), signed=True, echo=said.append
        )
        done = Pipeline(LoadOptions(balances=balances, quorums=Quorums(first_book()))).run(chosen)

    (loaded,) = LoadedRange.objects.all()
    assert (loaded.rests_on, loaded.files, done.skipped) == ("balances", len(chosen), len(chosen))
    left = f"{len(files) - len(chosen)} files from before these balances are left out."
    assert said[1:] == [left, left]
    assert said[0].startswith(f"Loading begins after {loaded.basis}, signed by 4 nodes: ")
