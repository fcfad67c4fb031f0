"""Verified stream files are archived in the layout of a bucket, before their rows are visible."""

import gzip
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest
import zstandard
from django.db import connection

from ledger.archive import store
from ledger.archive.archiver import Archiver, ArchivingFailed
from ledger.archive.originals import ArchiveSelection
from ledger.archive.store import MARKER, FolderArchive, WrongArchive, open_archive
from ledger.ingest.following.configured_blocks import open_block_source
from ledger.ingest.following.configured_bucket import open_download
from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.ingest.stages.reader_processes import Readers
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.block.block_file import read_block_file
from ledger.stream.block_names import in_bucket
from ledger.stream.record_file import RecordFile
from ledger.stream.record_names import signature_name
from ledger.stream.source.block_node.api_pb2 import SubscribeStreamResponse
from ledger.stream.source.block_node.assembly import Assembler, Limits
from ledger.stream.source.local import find_record_files
from ledger.stream.source.stream_blocks import FetchedBlock
from mirror.demo.publish.block_node import BlockNodeServer
from tests.ledger.archive.settings import in_bucket_of
from tests.ledger.ingest.following.network import Network, follow
from tests.ledger.ingest.load import stored
from tests.ledger.ingest.tables import contents, empty_tables
from tests.ledger.stream.block.blocks import BlockFile, BlockStream
from tests.ledger.stream.block.ledgers import LEDGER, publication
from tests.ledger.stream.block.test_wrapped_signed import proved_by, quorum
from tests.ledger.stream.block.wrapped import contents as wrapped_contents
from tests.ledger.stream.block.wrapped import transactions, wrap
from tests.ledger.stream.source.servers import Fault, S3Server
from tests.signing import signing_nodes
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.usefixtures("ledger_tables")


def files_of(folder: Path) -> dict[str, bytes]:
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in sorted(files.items()) if name != MARKER}


@contextmanager
def open_archiver() -> Iterator[Archiver]:
    with closing(Archiver(ArchiveSelection.from_settings(), open_archive(), required=False)) as archiver:
        yield archiver


def load(network: Network, *, readers: Readers | None = None, require_archive: bool = False) -> Any:
    options = LoadOptions(quorums=Quorums(network.book), readers=readers, require_archive=require_archive)
    pipeline = Pipeline(options)
    return pipeline.run(find_record_files([network.folder]))


def blocks(count: int) -> list[BlockFile]:
    stream = BlockStream(signer=LEDGER)
    stream.happen("ledger_id_publication", publication(LEDGER.identity))
    made = [stream.block()]
    for _ in range(count - 1):
        stream.happen("cryptoTransfer")
        made.append(stream.block())
    return made


@pytest.mark.parametrize("how", [load, follow], ids=["given files", "followed"])
def test_record_files_are_archived_with_sidecars_and_signatures(archive, network, how):
    assert how(network).verified == 3

    published, held = files_of(network.folder), files_of(archive)
    assert held
    assert held.items() <= published.items()
    for block in network.blocks:
        names = [path.rpartition("/")[2] for path in held]
        assert names.count(block.name) == 1
        assert names.count(signature_name(block.name)) >= 2
    assert sum("/sidecar/" in path for path in held) == 3


def test_archive_can_be_loaded_and_followed(archive, network, settings_of):
    load(network)
    before = contents()
    settings_of({"importer.downloader.record.writeFiles": False, "importer.block.writeFiles": False})
    network.folder = archive
    for again in (load, follow):
        empty_tables()
        assert again(network).verified == 3
        assert contents() == before


def test_a_third_of_the_signatures_is_archived_even_with_a_smaller_quorum(archive, tmp_path, settings_of):
    network = Network(tmp_path / "source", signing_nodes(7))
    network.happen()
    settings_of(
        {
            "importer.downloader.consensusRatio": Fraction(0),
            "importer.downloader.allowAnonymousAccess": True,
            "importer.downloader.timeout": PATIENCE_SECONDS,
        }
    )

    follow(network, open_download(str(network.folder)))

    assert sum(path.endswith("_sig") for path in files_of(archive)) >= 3


def test_settings_select_what_is_archived(archive, network, settings_of):
    settings_of({"importer.downloader.record.writeSignatures": False})
    load(network)
    assert not [path for path in files_of(archive) if path.endswith("_sig")]
    assert len(files_of(archive)) == 6


def test_unverified_files_are_not_archived(archive, network):
    Pipeline().run(find_record_files([network.folder]))
    assert not files_of(archive)


def test_blocks_are_archived_in_the_layout_of_a_bucket(archive, tmp_path, network):
    made = blocks(3)
    for block in made:
        block.write(tmp_path / "blocks")

    Pipeline(LoadOptions(quorums=Quorums(network.book))).run(find_record_files([tmp_path / "blocks"]))

    assert files_of(archive) == {f"demo/{in_bucket(block.number)}": block.data for block in made}


def test_wrapped_record_file_is_archived_as_a_block():
    wrapped = proved_by(wrap(2, wrapped_contents(2, transactions())), "nodes")
    source = FetchedBlock(wrapped.name, wrapped.number, read_block_file(wrapped.name, wrapped.data), "a node")
    verified = source.verify(lambda at: quorum(), sidecars=True)

    (original,) = ArchiveSelection(True, True, True, "demo").originals(verified, verified.record_file())

    assert original.path == f"demo/{in_bucket(wrapped.number)}"
    assert zstandard.decompress(original.stored) == wrapped.content


def test_streamed_block_is_archived_as_its_message(archive, network):
    made = blocks(2)
    received = [FetchedBlock(file.name, number, file, "a node") for number, file in streamed(made)]

    Pipeline(LoadOptions(quorums=Quorums(network.book))).run(received)

    held = [
        zstandard.ZstdDecompressor().decompressobj().decompress(data) for data in files_of(archive).values()
    ]
    assert held == [zstandard.decompress(block.data) for block in made]


def streamed(made: list[BlockFile]) -> Iterator[tuple[int, Any]]:
    assembler = Assembler("a node", Limits(originals=True))
    for block in made:
        response = SubscribeStreamResponse()
        response.block_items.ParseFromString(zstandard.decompress(block.data))
        assert assembler.take(response) is None
        end = SubscribeStreamResponse(end_of_block={"block_number": block.number})
        yield block.number, assembler.take(end)


def test_bytes_are_stored_in_the_database_by_settings(network, settings_of, tmp_path):
    settings_of(
        {
            "importer.downloader.record.persistBytes": True,
            "importer.parser.record.sidecar.persistBytes": True,
            "importer.block.persistBytes": True,
        }
    )
    load(network)
    published = {path.rpartition("/")[2]: data for path, data in files_of(network.folder).items()}
    assert stored("record_file", "name, bytes") == [(name, published[name]) for name in network.files]
    assert all(published[name] == bytes_ for name, bytes_ in stored("sidecar_file", "name, bytes"))

    empty_tables()
    made = blocks(2)
    files = [FetchedBlock(file.name, number, file, "a node") for number, file in streamed(made)]
    Pipeline(LoadOptions(quorums=Quorums(network.book))).run(files)
    messages = [(block.number, zstandard.decompress(block.data)) for block in made]
    assert stored("record_file", "index, bytes") == messages


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst", ".zstd"], ids=["plain", "gz", "zst", "zstd"])
def test_block_file_is_stored_as_it_is_and_archived_as_zstd(archive, network, settings_of, tmp_path, suffix):
    settings_of({"importer.block.persistBytes": True})
    compressors: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress}
    compress = compressors.get(suffix, zstandard.compress)
    made = blocks(2)
    # Only once: gzip writes the time into what it makes.
    written = [(block.number, compress(block.content)) for block in made]
    (tmp_path / "blocks").mkdir()
    for number, data in written:
        (tmp_path / "blocks" / f"{number:019}.blk{suffix}").write_bytes(data)

    Pipeline(LoadOptions(quorums=Quorums(network.book))).run(find_record_files([tmp_path / "blocks"]))

    assert stored("record_file", "index, bytes") == written
    held = {path: zstandard.decompress(data) for path, data in files_of(archive).items()}
    assert held == {f"demo/{in_bucket(block.number)}": block.content for block in made}


def test_files_read_by_other_processes_are_archived(archive, network, settings_of):
    with Readers(1) as readers:
        done = load(network, readers=readers)
    assert done.prefetched == 3
    ahead = files_of(archive)
    another = archive.with_name("another")
    settings_of({"importer.archive.location": str(another)})
    empty_tables()
    load(network)
    assert files_of(another) == ahead


def test_file_is_on_disk_before_its_rows_are_visible(archive, network, monkeypatch):
    held: list[set[str]] = []
    sync = FolderArchive.sync

    def look(place: FolderArchive) -> None:
        sync(place)
        with psycopg.connect(**connection.get_connection_params()) as another:
            assert not another.execute("select name from record_file").fetchall()
        held.append({path.rpartition("/")[2] for path in files_of(archive)})

    monkeypatch.setattr(FolderArchive, "sync", look)
    load(network)

    # Once for the mark on the place, and once for the batch.
    assert held[0] == set()
    assert held[1] >= set(network.files)
    assert len(held) == 2


def test_streamed_blocks_have_their_bytes_only_if_archived(archive, settings_of):
    made = blocks(2)
    with BlockNodeServer() as node:
        for block in made:
            node.publish(block.number, zstandard.decompress(block.data))
        settings_of(
            {
                "importer.block.nodes": (f"127.0.0.1:{node.port}",),
                "importer.block.sourceType": "BLOCK_NODE",
                "importer.downloader.timeout": PATIENCE_SECONDS,
                "importer.block.stream.responseTimeout": PATIENCE_SECONDS,
            }
        )
        assert first_of_node().original is not None
        settings_of({"importer.block.writeFiles": False})
        assert first_of_node().original is None


def first_of_node() -> RecordFile:
    with closing(open_block_source()) as source:
        block = source.next(0, PATIENCE_SECONDS)
        assert block is not None
        return block.file


# TROUBLES


def test_folder_with_other_files_is_refused_before_loading(archive, network):
    archive.mkdir()
    (archive / "letter.txt").write_text("Dear Ada")
    with pytest.raises(WrongArchive, match="holds something else than archived stream files"):
        load(network)
    assert not stored("record_file", "name")
    assert [path.name for path in archive.iterdir()] == ["letter.txt"]


def test_archive_of_another_network_is_refused(archive, network):
    archive.mkdir()
    (archive / MARKER).write_text('{"network": "testnet"}')
    with pytest.raises(WrongArchive, match="of the network testnet, not of demo"):
        load(network)


def test_follower_continues_without_the_archive_and_stores_failures(archive, network, no_pause):
    archive.write_text("no folder")

    assert follow(network).files == 3
    noted = stored("archive_failure", "name, reason")
    assert [name for name, _ in noted] == network.files
    assert {reason for _, reason in noted} == {"Not a directory"}

    archive.unlink()
    network.happen()
    follow(network, files=1)
    assert len(stored("archive_failure", "name")) == 3
    assert [path for path in files_of(archive) if path.endswith(network.blocks[3].name)]


def test_file_left_by_a_killed_process_is_settled(archive, monkeypatch):
    FolderArchive(archive).prepare("demo", used=False)
    FolderArchive(archive).put("one/two/three", b"file")
    synced = set[Path]()
    monkeypatch.setattr(store, "fsync", synced.add)

    place = FolderArchive(archive)
    place.put("one/two/three", b"file")
    place.sync()

    assert synced == {archive, archive / "one", archive / "one" / "two"}


def test_last_space_on_disk_is_reserved_for_the_database(archive, network, monkeypatch):
    with open_archiver():
        pass
    monkeypatch.setattr(store, "_MIN_FREE_BYTES", 1 << 62)

    assert load(network).files == 3

    assert not files_of(archive)
    assert "are free, which the database may need" in stored("archive_failure", "reason")[0][0]


def test_given_files_are_loaded_only_if_archived(archive, network):
    Pipeline().run([])
    (archive / "recordstreams").write_text("no folder")

    with pytest.raises(ArchivingFailed, match="It is not loaded either"):
        load(network, require_archive=True)
    assert not stored("record_file", "name")

    (archive / "recordstreams").unlink()
    assert load(network, require_archive=True).files == 3


def test_bucket_gets_the_same_files_and_its_fault_is_stored(
    archive, network, settings_of, no_pause, tmp_path
):
    load(network)
    in_folder = files_of(archive)
    empty_tables()
    (tmp_path / "s3").mkdir()
    with S3Server(tmp_path / "s3") as server:
        settings_of(in_bucket_of(server) | {"importer.downloader.retries": 0})
        load(network)
        assert files_of(tmp_path / "s3") == in_folder
        server.fault = lambda: Fault.BUSY
        network.happen()
        load(network)
    assert stored("archive_failure", "name") == [(network.blocks[3].name,)]
