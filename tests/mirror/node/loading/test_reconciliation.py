"""Comparing balances beside a loader that follows a network: one look at a time."""

import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from ledger.ingest.balances.reconciliation import Outcome
from ledger.ingest.following.configured_bucket import open_balance_download
from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.source.balance_files import LocalBalances, find_balance_files
from ledger.stream.source.local import FileOnDisk, find_record_files
from mirror.demo.publish.history import BalanceWriter, History
from mirror.demo.streams.keys import first_book, nodes
from mirror.node.health import gauges
from mirror.node.loading.reconciliation import BalanceComparer, in_thread
from tests.ledger.ingest.load import stored

pytestmark = pytest.mark.usefixtures("ledger_tables")

EQUAL = (Outcome.EQUAL, "")


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some hours of a network, with its balances every twenty minutes."""
    folder = tmp_path_factory.mktemp("network") / "streams"
    balances = BalanceWriter(folder, nodes(), 20)
    for network, block in History(14, 5, 3, 2).play(nodes()):
        block.write(folder)
        balances.after(network.world, block)
    return folder


def load(files: Sequence[FileOnDisk]) -> None:
    Pipeline(LoadOptions(quorums=Quorums(first_book()))).run(files)


def comparing(folder: Path, said: list[str]) -> BalanceComparer:
    return BalanceComparer(open_balance_download(str(folder)), said.append, threading.Event())


def reached(folder: Path, files: Sequence[FileOnDisk]) -> list[LocalBalances]:
    end = files[-1].record_file().consensus_end
    return [each for each in find_balance_files([folder]) if each.instant <= end]


def test_each_look_compares_the_newest_file_that_is_reached_once(stream):
    files, said = find_record_files([stream]), list[str]()
    half = files[: len(files) // 2]
    looks = comparing(stream, said)
    assert looks.compare() is None

    names = []
    for loaded in (half, files):
        load(loaded)
        found = looks.compare()
        assert found is not None
        names.append(found.file)
        assert looks.compare() is None

    assert names == [reached(stream, loaded)[-1].name for loaded in (half, files)]
    assert len(set(names)) == 2
    assert stored("reconciliation_job", "status, error") == [EQUAL, EQUAL]
    assert said == []


def bucket(folder: Path) -> dict[str, str]:
    """Return the settings that name `folder`, which is called streams."""
    return {"importer.downloader.cloudProvider": "LOCAL", "importer.dataPath": str(folder.parent)}


def test_what_differs_and_what_cannot_be_read_is_said(stream, tmp_path, settings_of, capsys):
    settings_of(bucket(stream))
    files, said = find_record_files([stream]), list[str]()
    load(files)
    newest = reached(stream, files)[-1]
    shutil.copytree(stream / "accountBalances", tmp_path / "accountBalances")
    for copy in tmp_path.rglob(newest.name):
        copy.write_bytes(b"damaged")
    looks = comparing(tmp_path, said)

    assert (looks.compare(), looks.compare()) == (None, None)
    assert len(said) == 1
    assert said[0].startswith("Balances were not compared with those of the network: " + newest.name)
    assert stored("reconciliation_job", "status") == []

    with connection.cursor() as cursor:
        cursor.execute("update account_balance set balance = balance + 1 where account_id = 800")
    found = comparing(stream, said).compare()

    assert found is not None
    assert found.outcome is Outcome.HBAR_DIFFERS
    assert said[1:] == [f"Balances are not those of the network: {found.sentence}"]
    said_by_metrics = {gauge.name: value for gauge, _, value in gauges._sizes()}
    assert said_by_metrics["mirror_balances_differing"] == found.hbar == 1
    assert said_by_metrics["mirror_balances_timestamp_seconds"] == newest.instant / 10**9
    assert said_by_metrics["mirror_balances_files"] == 1
    with pytest.raises(CommandError, match="The balances differ from this node"):
        call_command("reconcile")
    assert found.sentence in capsys.readouterr().out


@pytest.mark.parametrize(
    "change",
    [
        "update loaded_range set rests_on = 'nothing'",
        """update loaded_range set filters = '{"importer.parser.include": []}'""",
    ],
    ids=["nothing known", "filters"],
)
def test_node_without_balance_files_compares_nothing(stream, change):
    load(find_record_files([stream])[:-1])
    with connection.cursor() as cursor:
        cursor.execute(change)

    assert comparing(stream, []).compare() is None
    assert stored("reconciliation_job", "status") == []


def test_network_without_balance_files_has_nothing_to_compare(stream, tmp_path, settings_of):
    folder = tmp_path / "streams"
    folder.mkdir()
    settings_of(bucket(folder))
    load(find_record_files([stream])[:2])
    said: list[str] = []

    assert comparing(folder, said).compare() is None
    assert said == []
    with pytest.raises(CommandError, match="There is no balance file of the last day"):
        call_command("reconcile")


def test_setting_turns_it_off(tmp_path, settings_of: Callable[..., None]):
    settings_of({"importer.balances.reconcile": "off"})

    with in_thread(print, str(tmp_path)):
        assert "reconciliation" not in {thread.name for thread in threading.enumerate()}


def test_loader_that_ends_ends_the_looks(tmp_path):
    with in_thread(print, str(tmp_path)):
        assert "reconciliation" in {thread.name for thread in threading.enumerate()}

    assert "reconciliation" not in {thread.name for thread in threading.enumerate()}
