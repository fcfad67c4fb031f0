"""The demo network of a node: its history is loaded once, and continued after an interruption."""

from pathlib import Path

import pytest

from ledger.ingest.pipeline import Pipeline
from ledger.stream.source.local import find_record_files
from mirror.core.config.setting import OperatorError
from mirror.demo.publish import run as demo
from tests.api import Api
from tests.composing import Composer
from tests.conftest import empty_tables

BLOCKS = 8


@pytest.fixture
def folder(tmp_path: Path, settings, settings_of, ledger_tables: None) -> Path:
    settings.DATA_DIR = tmp_path
    settings_of({"demo.blocks": BLOCKS})
    return tmp_path / "demo-stream"


def load() -> list[str]:
    said: list[str] = []
    demo.load(said.append)
    return said


def blocks() -> list[dict]:
    answer: dict[str, list[dict]] = Api().get("/api/v1/blocks?limit=100&order=asc").json()
    return answer["blocks"]


def test_the_history_is_made_verified_and_loaded_once(folder):
    *_, last = load()
    assert f"in {BLOCKS} blocks, signed by 4 nodes" in last
    assert [block["number"] for block in blocks()] == list(range(BLOCKS))
    assert load() == []


def test_all_hbars_of_the_demo_are_accounted_for(folder):
    load()
    balances = Api().get("/api/v1/balances?limit=100").json()["balances"]
    assert len(balances) < 100
    assert sum(one["balance"] for one in balances) == 50_000_000_000 * 100_000_000


@pytest.mark.parametrize("made", ["in part", "as a whole"])
def test_an_interrupted_history_is_continued(folder, made):
    load()
    whole = blocks()
    empty_tables()
    first, *later = find_record_files([folder])
    Pipeline().run([first])
    if made == "in part":
        (folder / "network.state").unlink()
        for file in later[3:]:
            for copy in folder.rglob(file.name):
                copy.unlink()

    load()

    assert blocks() == whole


def test_a_database_with_another_stream_gets_no_demo(folder, tmp_path):
    composer = Composer()
    composer.crypto_create(1001)
    composer.block().write(tmp_path / "other")
    Pipeline().run(find_record_files([tmp_path / "other"]))
    assert load() == []
    assert not folder.exists()


@pytest.mark.parametrize(
    ("left", "problem"),
    [(None, "There is no demo network in .* to go on with"), (b"old", "was left by another version of this")],
)
def test_a_network_without_a_state_cannot_go_on(folder, left, problem):
    if left is not None:
        folder.mkdir()
        (folder / "network.state").write_bytes(left)
    with pytest.raises(OperatorError, match=problem):
        demo.check_goes_on()
