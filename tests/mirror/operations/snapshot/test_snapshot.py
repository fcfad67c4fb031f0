"""Snapshots: from one node to another, whole or of some entities, and what is refused."""

import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import pytest_django
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command

from mirror.core.config.setting import OperatorError
from mirror.demo.publish.history import History
from mirror.demo.streams.keys import nodes
from mirror.demo.streams.record_files import Block
from mirror.models import LoadedRange
from mirror.operations.backup import load as loading
from mirror.operations.backup.manifest import SNAPSHOT, Manifest
from mirror.operations.snapshot import dump
from mirror.upgrade import tables
from tests.api import Api
from tests.ledger.ingest.load import load, settings
from tests.ledger.ingest.tables import contents, empty_tables
from tests.partitions import own_database, query

BLOCKS = 8
GOES_ON = threading.Event()


@cache
def blocks() -> list[Block]:
    return [block for _, block in History(blocks=BLOCKS + 1, tps=8, seed=3).play(nodes())]


def silent(_: str) -> None:
    pass


def save(folder: Path, *entities: int) -> Manifest:
    return dump.save(folder, silent, GOES_ON, jobs=2, entities=frozenset(entities))


def bring(folder: Path) -> Manifest:
    return loading.restore(folder, silent, GOES_ON, jobs=1, kind=SNAPSHOT)


def ranges() -> list[Any]:
    return list(LoadedRange.objects.order_by("consensus_start").values())


@pytest.fixture
def loaded(ledger_tables: None, django_db_blocker: pytest_django.DjangoDbBlocker) -> Iterator[None]:
    """The database of the tests with some blocks; its tables are not partitioned."""
    with django_db_blocker.unblock(), settings(network="simulated"):
        load(*blocks()[:BLOCKS])
        yield


def test_another_node_with_partitioned_tables_goes_on_where_a_snapshot_ends(
    loaded: None, tmp_path: Path
) -> None:
    before, loaded_before = contents(), ranges()
    done = save(tmp_path / "snapshot")
    load(blocks()[BLOCKS])
    after = contents()
    with own_database(partitioned=False), settings(db__partitions=True):
        empty_tables()
        bring(tmp_path / "snapshot")

        assert contents() == before
        assert ranges() == loaded_before
        tables.check_current()
        ((partitioned,),) = query(
            "select count(*) from mirror_node_time_partitions where parent = 'transaction'"
        )
        assert partitioned
        load(blocks()[BLOCKS])
        assert contents() == after
    assert done.block and (done.block.number, done.block.hash) == (
        BLOCKS - 1,
        blocks()[BLOCKS - 1].hash.hex(),
    )
    assert done.times and done.times[1] == done.block.consensus_end
    assert [each["last_block"] for each in done.ranges] == [BLOCKS - 1]


def test_snapshot_of_an_account_answers_like_its_node_and_is_partial(loaded: None, tmp_path: Path) -> None:
    api = Api()
    ((account,),) = query(
        "select account_id from token_transfer where account_id > 1000 group by 1 "
        "order by count(*) desc limit 1"
    )
    paths = [
        f"/api/v1/accounts/{account}",
        f"/api/v1/transactions?account.id={account}&limit=100",
        f"/api/v1/accounts/{account}/tokens?limit=100",
        f"/api/v1/accounts/{account}/nfts?limit=100",
        f"/api/v1/balances?account.id={account}",
        "/api/v1/blocks?limit=3",
        "/api/v1/network/nodes",
        "/api/v1/network/exchangerate",
    ]
    answers = [api.get(path).json() for path in paths]
    whole = query("select count(*) from transaction")
    ((before,),) = query("select pg_database_size(current_database())")
    done = save(tmp_path / "snapshot", account)
    with own_database(partitioned=False):
        empty_tables()
        bring(tmp_path / "snapshot")

        assert [api.get(path).json() for path in paths] == answers
        assert query("select count(*) from transaction") < whole
        assert [each["filters"] for each in ranges()] == [{"snapshot.entities": f"0.0.{account}"}]
        ((others,),) = query("select count(*) from token_account where account_id <> %s", account)
        assert not others
        # What is loaded from here on is not limited.
        load(blocks()[BLOCKS])
        assert [each["filters"] for each in ranges()] == [{"snapshot.entities": f"0.0.{account}"}, {}]
    assert done.entities == [f"0.0.{account}"]
    # The room that it needs is not that of the whole database.
    assert done.bytes < done.database_bytes < before
    assert [each["filters"] for each in done.ranges] == [{"snapshot.entities": f"0.0.{account}"}]


def test_rows_loaded_during_a_save_are_not_in_the_manifest(loaded: None, tmp_path: Path) -> None:
    def load_meanwhile(sentence: str) -> None:
        if "of tables are read" in sentence:
            load(blocks()[BLOCKS])

    done = dump.save(tmp_path / "snapshot", load_meanwhile, GOES_ON, jobs=2)

    assert [each["last_block"] for each in done.ranges] == [BLOCKS - 1]
    assert done.block and done.times and done.times[1] == done.block.consensus_end


def test_snapshot_has_nothing_of_the_node_and_its_people(loaded: None, tmp_path: Path) -> None:
    ada = get_user_model().objects.create_superuser("ada", password=None)
    try:
        done = save(tmp_path / "snapshot")
    finally:
        ada.delete()

    assert not done.settings
    assert {"transaction", "loaded_range", "stored_network"} <= done.tables.keys()
    left_out = {"auth_user", "django_session", "archive_location", "loader_state", "archive_failure"}
    left_out |= {"contract_call_filter"}
    assert not left_out & done.tables.keys()


def test_snapshot_is_no_backup_and_belongs_to_a_network(loaded: None, tmp_path: Path) -> None:
    save(tmp_path / "snapshot")

    with pytest.raises(OperatorError, match=r"has a snapshot: `manage\.py snapshot load"):
        loading.restore(tmp_path / "snapshot", silent, GOES_ON, jobs=1)
    with pytest.raises(OperatorError, match="The database is not empty"):
        bring(tmp_path / "snapshot")
    with settings(network="testnet"):
        with pytest.raises(OperatorError, match="The snapshot in .* is of the network simulated"):
            bring(tmp_path / "snapshot")
        with pytest.raises(OperatorError, match="The database holds the network simulated"):
            save(tmp_path / "other")
    with pytest.raises(OperatorError, match="There is a complete snapshot in"):
        save(tmp_path / "snapshot")


def test_damaged_file_of_a_snapshot_is_named(
    loaded: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "snapshot"
    call_command("snapshot", "save", str(folder))
    call_command("snapshot", "check", str(folder))
    assert "The snapshot is intact" in capsys.readouterr().out
    (name,) = [each.name for each in Manifest.read(folder, SNAPSHOT).files if each.table == "entity"]
    file = folder / name
    file.write_bytes(file.read_bytes()[:-9] + bytes(9))

    with pytest.raises(OperatorError, match=rf"{file.name} of the snapshot is damaged"):
        call_command("snapshot", "check", str(folder))
    with pytest.raises(CommandError, match="--entities goes with"):
        call_command("snapshot", "check", str(folder), entities=frozenset({1001}))
