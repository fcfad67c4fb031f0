"""Kept stream files are looked after: what is missing is fetched from the source, what is too old goes."""

import shutil
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard

from ledger.archive import archiver, repair
from ledger.archive.location import block_path
from ledger.archive.store import ArchiveUnavailable, open_archive
from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream import record_names
from ledger.stream.source.local import find_record_files
from mirror.core.values.hapi.messages import Block
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.publish import live_blocks
from mirror.demo.publish.history import History, next_block
from mirror.demo.publish.publisher import Publisher
from mirror.demo.streams.keys import first_book, nodes
from mirror.models import ArchiveFailure
from mirror.node.health import facts, inventory, status
from mirror.node.loading.archive_maintenance import ArchiveMaintainer
from tests.composing import Composer
from tests.counts import counted
from tests.ledger.archive.settings import in_bucket_of
from tests.ledger.archive.test_archiver import blocks, files_of
from tests.ledger.ingest.following.network import Network, follow
from tests.ledger.ingest.load import stored
from tests.ledger.stream.block.blocks import BlockFile
from tests.ledger.stream.source.servers import S3Server
from tests.signing import signing_nodes

pytestmark = pytest.mark.usefixtures("ledger_tables")

Settings = Callable[..., None]
BOOK = Composer(nodes=signing_nodes(4)).address_book()


@pytest.fixture
def place(tmp_path: Path, settings_of: Settings, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "archive"
    settings_of(
        {
            "importer.archive.location": str(folder),
            "importer.downloader.record.writeFiles": True,
            "importer.downloader.record.writeSignatures": True,
            "importer.block.writeFiles": True,
            "importer.block.sourceType": "FILE",
            "importer.downloader.record.frequency": 0.02,
        }
    )
    monkeypatch.setattr(archiver, "_SECONDS_BEFORE_RETRY", 0)
    return folder


def maintainer(source: Path, said: list[str] | None = None) -> ArchiveMaintainer:
    echo = (said if said is not None else []).append
    return ArchiveMaintainer(open_archive(), echo, str(source), BOOK, threading.Event())


def maintain(source: Path, said: list[str] | None = None) -> bool:
    return maintainer(source, said).maintain()


def load_blocks(folder: Path, count: int) -> list[BlockFile]:
    made = blocks(count)
    for block in made:
        block.write(folder / "loose")
        path = folder / block_path("demo", block.number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(block.data)
    Pipeline(LoadOptions(quorums=Quorums(BOOK))).run(find_record_files([folder / "loose"]))
    return made


def note(files: Iterable[tuple[int, str]]) -> None:
    """Note files as missing."""
    ArchiveFailure.objects.bulk_create(
        ArchiveFailure(
            consensus_end=end, name=name, since=datetime.now(UTC), reason="No space left on device"
        )
        for end, name in files
    )


# MISSING


def test_files_of_the_live_demo_network_are_repaired_from_its_folder(place, tmp_path, settings_of):
    settings_of({"network": "demo", "importer.downloader.record.writeSignatures": False})
    publisher = Publisher(tmp_path / "demo", nodes())
    for network, block in History(blocks=2, tps=3, seed=5).play(nodes()):
        publisher.publish(network, block)
    live_blocks.switch_to_blocks(publisher, network)
    publisher.publish(network, next_block(network, 3))
    place.write_text("no folder")
    Pipeline(LoadOptions(quorums=Quorums(first_book()))).run(publisher.all_published())
    assert len(stored("archive_failure", "name")) == 4
    place.unlink()

    source = str(publisher.folder)
    assert not ArchiveMaintainer(open_archive(), print, source, first_book(), threading.Event()).maintain()

    assert not stored("archive_failure", "name")
    held = files_of(place)
    assert held.items() <= files_of(publisher.folder).items()
    assert sum(path.endswith(".rcd.gz") and "sidecar" not in path for path in held) == 3
    assert sum(".blk" in path for path in held) == 1


def test_missing_files_are_repaired_once_the_archive_is_available(place, tmp_path):
    network = Network(tmp_path / "source")
    network.happen(3)
    place.write_text("no folder")
    follow(network)
    assert status.read().archive_failure.files == 3
    place.unlink()
    before = counted("mirror_ingest_archived_files_total")

    said: list[str] = []
    assert not maintain(network.folder, said)

    assert said == ["3 files that could not be archived before are archived now."]
    assert counted("mirror_ingest_archived_files_total") == before + 3
    assert status.read().archive_failure.files == 0
    held = files_of(place)
    assert held.items() <= files_of(network.folder).items()
    # Without the hurry of loading, all signatures are kept.
    assert len(held) == 3 * (2 + 4)


def test_files_loaded_without_the_disk_are_repaired_after_mounting(place, tmp_path):
    network = Network(tmp_path / "source")
    network.happen(1)
    follow(network)
    disk = place.rename(tmp_path / "disk")
    place.mkdir()
    network.happen(2)
    follow(network, files=2)
    with pytest.raises(ArchiveUnavailable, match="as if the disk were not mounted"):
        maintain(network.folder)
    assert not list(place.iterdir())

    place.rmdir()
    disk.rename(place)
    assert not maintain(network.folder)

    assert not stored("archive_failure", "name")
    kept = [path.rpartition("/")[2] for path in files_of(place)]
    assert set(network.files) <= set(kept)


def test_location_of_repaired_files_is_stored(place, tmp_path):
    network = Network(tmp_path / "source")
    network.happen(2)
    place.write_text("no folder")
    follow(network)
    place.unlink()

    looking = maintainer(network.folder)
    looking.maintain()

    assert stored("archive_location", "location") == [(str(place),)]


def test_claimed_folder_is_not_claimed_again_when_empty(place, tmp_path):
    looking = maintainer(tmp_path)
    looking.maintain()
    shutil.rmtree(place)
    with pytest.raises(ArchiveUnavailable, match="as if the disk were not mounted"):
        looking.maintain()
    assert not place.exists()


def test_blocks_are_repaired(place, tmp_path):
    place.write_text("no folder")
    made = load_blocks(tmp_path / "source", 3)
    assert len(stored("archive_failure", "name")) == 3
    place.unlink()

    assert not maintain(tmp_path / "source")

    assert sorted(files_of(place).values()) == sorted(block.data for block in made)
    assert not stored("archive_failure", "name")


def test_files_without_an_intact_copy_stay_missing_with_a_reason(place, tmp_path):
    network, other = Network(tmp_path / "source"), Network(tmp_path / "other")
    network.happen(3)
    other.happen(transfers=4)
    place.write_text("no folder")
    follow(network)
    place.unlink()
    for node in range(4):
        data = (other.of_node(node) / other.blocks[0].name).read_bytes()
        (network.of_node(node) / network.blocks[0].name).write_bytes(data)
        (network.of_node(node) / network.blocks[1].name).unlink()

    assert maintain(network.folder)

    first, second = stored("archive_failure", "name, reason")
    assert first == (
        network.files[0],
        f"{network.files[0]}: the source has another file than the one that was loaded",
    )
    assert second[0] == network.files[1]
    assert "no node has it in" in second[1]
    assert [path for path in files_of(place) if path.endswith(network.files[2])]


def test_block_with_a_damaged_proof_in_the_source_stays_missing(place, tmp_path):
    place.write_text("no folder")
    made = load_blocks(tmp_path / "source", 2)
    place.unlink()
    content = Block.FromString(made[1].content)
    signed = content.items[-1].block_proof.signed_block_proof
    signed.block_signature = signed.block_signature[:-1] + bytes([signed.block_signature[-1] ^ 1])
    path = tmp_path / "source" / block_path("demo", 1)
    path.write_bytes(zstandard.compress(content.SerializeToString()))

    assert maintain(tmp_path / "source")

    assert list(files_of(place).values()) == [made[0].data]
    ((reason,),) = stored("archive_failure", "reason")
    assert "its threshold signature is refused" in reason


def test_record_file_with_too_few_signatures_stays_missing(place, tmp_path):
    network = Network(tmp_path / "source")
    network.happen(1)
    place.write_text("no folder")
    follow(network)
    place.unlink()
    for node in range(3):
        network.signature(node, 0).unlink()

    assert maintain(network.folder)

    assert not files_of(place)
    ((reason,),) = stored("archive_failure", "reason")
    assert "signed by 1 of 4 nodes" in reason


def test_files_without_a_copy_delay_no_others(place, tmp_path, monkeypatch):
    monkeypatch.setattr(repair, "_MAX_FILES", 2)
    network = Network(tmp_path / "source")
    network.happen(3)
    place.write_text("no folder")
    follow(network)
    place.unlink()
    for block in network.blocks[:2]:
        for node in range(4):
            (network.of_node(node) / block.name).unlink()
    looking = maintainer(network.folder)

    # The first look finds nothing, but says that there are others.
    assert not looking.maintain()
    assert not files_of(place)
    looking.maintain()
    assert stored("archive_failure", "name") == [(name,) for name in network.files[:2]]


def test_files_in_the_archive_need_no_source(place, tmp_path):
    network = Network(tmp_path / "source")
    network.happen(2)
    follow(network)
    note(stored("record_file", "consensus_end, name"))
    before = files_of(place)
    shutil.rmtree(network.folder)

    assert not maintain(network.folder)

    assert not stored("archive_failure", "name")
    assert files_of(place) == before


# RETENTION


@pytest.fixture(params=["folder", "bucket"])
def anywhere(request, place, tmp_path, settings_of):
    if request.param == "folder":
        yield place
        return
    (tmp_path / "s3").mkdir()
    with S3Server(tmp_path / "s3") as server:
        settings_of(in_bucket_of(server))
        yield server.folder


def test_record_files_older_than_the_period_are_deleted(anywhere, tmp_path, settings_of):
    network = Network(tmp_path / "source")
    network.happen(5)
    follow(network)
    last = stored("record_file", "consensus_end")[-1][0]
    instants = [record_names.parse(name).instant for name in network.files]
    settings_of({"importer.archive.period": (last - instants[3]) / NANOS_PER_SECOND})
    strange = anywhere / "recordstreams" / "record0.0.3" / "notes.txt"
    strange.parent.mkdir(exist_ok=True)
    strange.write_text("Dear Ada")

    said: list[str] = []
    maintain(network.folder, said)

    left = files_of(anywhere)
    assert {record_names.parse(path).instant for path in left if "notes" not in path} == set(instants[3:])
    assert strange.exists()
    assert len(said) == 1
    assert "archived files were older than" in said[0]


def test_blocks_older_than_the_period_are_deleted(anywhere, tmp_path, settings_of):
    made = load_blocks(tmp_path / "source", 5)
    times = [end for _, end in stored("record_file", "index, consensus_end")]
    settings_of({"importer.archive.period": (times[4] - times[1] - 1) / NANOS_PER_SECOND})

    maintain(tmp_path / "source")

    assert list(files_of(anywhere).values()) == [block.data for block in made[2:]]


def test_unreadable_block_is_as_old_as_the_next_one(place, tmp_path, settings_of, caplog):
    made = load_blocks(tmp_path / "source", 5)
    times = [end for _, end in stored("record_file", "index, consensus_end")]
    settings_of({"importer.archive.period": (times[4] - times[1] - 1) / NANOS_PER_SECOND})
    (place / block_path("demo", 2)).write_bytes(b"damaged")

    maintain(tmp_path / "source")

    assert list(files_of(place).values()) == [b"damaged", made[3].data, made[4].data]
    assert f"'path': '{block_path('demo', 2)}'" in caplog.text


def test_nothing_is_deleted_without_a_period(place, tmp_path):
    network = Network(tmp_path / "source")
    network.happen(3)
    follow(network)
    before = files_of(place)
    maintain(network.folder)
    assert files_of(place) == before


# WORDS


def test_status_shows_what_is_archived_where_and_for_how_long(place, settings_of):
    assert (
        inventory.archive_sentence(follows_blocks=False)
        == f"record files, signatures, blocks in {place}, for ever"
    )
    settings_of({"importer.downloader.record.writeSignatures": False, "importer.archive.period": 86_400.0})
    assert inventory.archive_sentence(follows_blocks=False) == f"record files, blocks in {place}, for 1 day"
    settings_of({"importer.downloader.record.writeFiles": False, "importer.block.writeFiles": False})
    assert inventory.archive_sentence(follows_blocks=False) == ""


def test_status_shows_that_blocks_are_not_archived(place, settings_of):
    assert "not kept" not in inventory.archive_sentence(follows_blocks=True)
    settings_of({"importer.block.writeFiles": False})
    assert inventory.archive_sentence(follows_blocks=True) == (
        f"record files, signatures in {place}, for ever; the blocks that are loaded now are not kept, as "
        "importer.block.writeFiles is off"
    )
    settings_of(
        {"importer.downloader.record.writeFiles": False, "importer.downloader.record.writeSignatures": False}
    )
    assert inventory.archive_sentence(follows_blocks=True) == ""


def test_status_counts_missing_files_up_to_a_limit(place, settings_of, monkeypatch):
    note([(end, f"file {end}") for end in (3, 1, 2)])
    found = status.read().archive_failure
    assert (found.files, found.first) == (3, "file 1")
    monkeypatch.setattr(facts, "MAX_COUNTED", 2)
    assert status.read().archive_failure.sentence(0).startswith("More than 2 files are missing")

    settings_of(
        {
            "importer.downloader.record.writeFiles": False,
            "importer.downloader.record.writeSignatures": False,
            "importer.block.writeFiles": False,
        }
    )
    assert status.read().archive_failure.files == 0
