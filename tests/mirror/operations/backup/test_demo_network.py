"""The demo network in a backup goes on in another node, also where it has published more meanwhile."""

import io
import tarfile
import threading
from pathlib import Path

import pytest
import pytest_django
import zstandard

from mirror.core.config.setting import OperatorError
from mirror.demo.publish import live_blocks, run
from mirror.demo.publish.history import History, next_block
from mirror.demo.publish.publisher import Publisher
from mirror.demo.streams.keys import nodes
from mirror.operations.backup import demo, dump, load
from mirror.operations.backup.manifest import DEMO, DamagedBackup, Manifest
from tests.ledger.ingest.load import load as load_block
from tests.ledger.ingest.load import settings as changed
from tests.ledger.ingest.tables import contents
from tests.partitions import own_database

DESCRIPTION = Manifest("demo", "1", "", "", None, 0, [], {}, [], {})


@pytest.mark.parametrize("writes_blocks", [False, True], ids=["record files", "blocks"])
def test_demo_network_goes_on_where_a_backup_has_left_it(
    settings, tmp_path: Path, writes_blocks: bool
) -> None:
    backup = tmp_path / "backup"
    backup.mkdir()
    settings.DATA_DIR = tmp_path / "here"
    publisher = Publisher(run.folder(), nodes())
    for network, block in History(blocks=4, tps=3, seed=5).play(nodes()):
        publisher.publish(network, block)
    if writes_blocks:
        live_blocks.switch_to_blocks(publisher, network)
    last = publisher.publish(network, next_block(network, 3))
    state = (run.folder() / "network.state").read_bytes()
    # A block that is published after the state was read, here: whose state was not.
    publisher.publish(network, next_block(network, 3))
    (run.folder() / "network.state").write_bytes(state)

    with changed(network="demo"):
        description = demo.add(backup, DESCRIPTION)
    assert description.demo and description.demo.name == DEMO
    settings.DATA_DIR = tmp_path / "there"
    settings.DATA_DIR.mkdir()
    demo.check_absent()
    demo.unpack(backup)

    restored = Publisher(run.folder(), nodes())
    assert restored.newest() == last.name
    again, file = restored.resume()
    assert file.name == last.name
    published = restored.publish(again, next_block(again, 3)).record_file()
    assert published.previous_hash == file.record_file().hash
    assert published.block_number == (file.record_file().block_number or 0) + 1
    with pytest.raises(OperatorError, match="There is a demo network in"):
        demo.check_absent()


def test_node_without_a_demo_network_has_none_in_its_backup(settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path

    with changed(network="demo"):
        assert demo.add(tmp_path, DESCRIPTION) == DESCRIPTION
    assert list(tmp_path.iterdir()) == []


def test_backup_whose_demo_leaves_its_folder_is_damaged(settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path / "there"
    settings.DATA_DIR.mkdir()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("../outside"), io.BytesIO())
    (tmp_path / DEMO).write_bytes(zstandard.ZstdCompressor().compress(packed.getvalue()))

    with changed(network="demo"), pytest.raises(DamagedBackup, match="an entry '../outside'"):
        demo.unpack(tmp_path)

    assert not run.folder().exists()


@pytest.mark.usefixtures("_test_database")
def test_backup_with_a_demo_network_is_restored_with_it(
    settings, django_db_blocker: pytest_django.DjangoDbBlocker, tmp_path: Path
) -> None:
    backup, goes_on = tmp_path / "backup", threading.Event()
    settings.DATA_DIR = tmp_path / "here"
    publisher = Publisher(run.folder(), nodes())
    with django_db_blocker.unblock(), changed(network="demo"):
        with own_database(partitioned=False):
            for network, block in History(blocks=3, tps=3, seed=5).play(nodes()):
                publisher.publish(network, block)
                load_block(block)
            original, newest = contents(), publisher.newest()
            dump.backup(backup, print, goes_on, jobs=1)
        settings.DATA_DIR = tmp_path / "there"
        settings.DATA_DIR.mkdir()
        with own_database(partitioned=False):
            (settings.DATA_DIR / f"{run.folder().name}.unfinished").mkdir()

            load.restore(backup, print, goes_on, jobs=1)

            assert contents() == original
            assert Publisher(run.folder(), nodes()).newest() == newest
            assert list(settings.DATA_DIR.iterdir()) == [run.folder()]
