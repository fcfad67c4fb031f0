"""Verified stream files are kept as a bucket holds them, before the rows of them are there to be seen."""

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
from ledger.archive.store import MARKER, FolderArchive, WrongPlace, open_place
from ledger.ingest.following.configured_blocks import open_block_source
from ledger.ingest.following.configured_bucket import open_download
from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.ingest.prefetch.processes import Readers
from ledger.ingest.trust import Trust
from ledger.stream.block.block_file import read_block_file
from ledger.stream.block.names import in_bucket
from ledger.stream.record.names import signature_name
from ledger.stream.record.record_file import RecordFile
from ledger.stream.signature.node_key import signing_nodes
from ledger.stream.source.block_node.api_pb2 import SubscribeStreamResponse
from ledger.stream.source.block_node.assembly import Assembler, Limits
from ledger.stream.source.blocks import FetchedBlock
from ledger.stream.source.local import find_record_files
from mirror.demo.publish.block_node import BlockNodeServer
from tests.ledger.ingest.following.network import Network, follow
from tests.ledger.ingest.keeping.places import in_bucket_of
from tests.ledger.ingest.load import stored
from tests.ledger.ingest.tables import contents, empty_tables
from tests.ledger.stream.block.blocks import BlockFile, BlockStream
from tests.ledger.stream.block.ledgers import LEDGER, publication
from tests.ledger.stream.block.test_wrapped_signed import proved_by, quorum
from tests.ledger.stream.block.wrapped import contents as wrapped_contents
from tests.ledger.stream.block.wrapped import transactions, wrap
from tests.ledger.stream.source.servers import Fault, S3Server
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.usefixtures("ledger_tables")


def files_of(folder: Path) -> dict[str, bytes]:
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in sorted(files.items()) if name != MARKER}


@contextmanager
def open_keeper() -> Iterator[Archiver]:
    archiver = Archiver(ArchiveSelection.by_settings(), open_place(), stops=False)
    try:
        yield archiver
    finally:
        archiver.close()


def load(network: Network, *, readers: Readers | None = None, require_archive: bool = False) -> Any:
    options = LoadOptions(require_archive=require_archive)
    pipeline = Pipeline(options=options, trust=Trust(network.book), readers=readers)
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
def test_record_files_are_kept_with_sidecars_and_the_signatures_of_their_signers(kept, network, how):
    assert how(network).verified == 3

    published, held = files_of(network.folder), files_of(kept)
    assert held
    assert held.items() <= published.items()
    for block in network.blocks:
        names = [path.rpartition("/")[2] for path in held]
        assert names.count(block.name) == 1
        assert names.count(signature_name(block.name)) >= 2
    assert sum("/sidecar/" in path for path in held) == 3


def test_what_is_kept_can_be_loaded_and_followed_again(kept, network, settings_of):
    load(network)
    before = contents()
    settings_of({"importer.downloader.record.writeFiles": False, "importer.block.writeFiles": False})
    network.folder = kept
    for again in (load, follow):
        empty_tables()
        assert again(network).verified == 3
        assert contents() == before


def test_signatures_of_a_third_of_the_nodes_are_kept_even_if_one_of_them_is_a_quorum(
    kept, tmp_path, settings_of
):
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

    assert sum(path.endswith("_sig") for path in files_of(kept)) >= 3


def test_only_what_the_settings_name_is_kept(kept, network, settings_of):
    settings_of({"importer.downloader.record.writeSignatures": False})
    load(network)
    assert not [path for path in files_of(kept) if path.endswith("_sig")]
    assert len(files_of(kept)) == 6


def test_files_that_nobody_has_signed_are_not_kept(kept, network):
    Pipeline().run(find_record_files([network.folder]))
    assert not files_of(kept)


def test_blocks_are_kept_in_the_layout_of_a_bucket(kept, tmp_path, network):
    made = blocks(3)
    for block in made:
        block.write(tmp_path / "blocks")

    Pipeline(trust=Trust(network.book)).run(find_record_files([tmp_path / "blocks"]))

    assert files_of(kept) == {f"demo/{in_bucket(block.number)}": block.data for block in made}


def test_a_block_around_a_record_file_is_kept_as_a_block():
    wrapped = proved_by(wrap(2, wrapped_contents(2, transactions())), "nodes")
    source = FetchedBlock(wrapped.name, wrapped.number, read_block_file(wrapped.name, wrapped.data), "a node")
    verified = source.verify(lambda at: quorum(), sidecars=True)

    (original,) = ArchiveSelection(True, True, True, "demo").originals(verified, verified.record_file())

    assert original.path == f"demo/{in_bucket(wrapped.number)}"
    assert zstandard.decompress(original.stored) == wrapped.content


def test_a_streamed_block_is_kept_as_the_message_of_its_items(kept, network):
    made = blocks(2)
    received = [FetchedBlock(file.name, number, file, "a node") for number, file in streamed(made)]

    Pipeline(trust=Trust(network.book)).run(received)

    held = [zstandard.ZstdDecompressor().decompressobj().decompress(data) for data in files_of(kept).values()]
    assert held == [zstandard.decompress(block.data) for block in made]


def streamed(made: list[BlockFile]) -> Iterator[tuple[int, Any]]:
    assembler = Assembler("a node", Limits(originals=True))
    for block in made:
        response = SubscribeStreamResponse()
        response.block_items.ParseFromString(zstandard.decompress(block.data))
        assert assembler.take(response) is None
        end = SubscribeStreamResponse(end_of_block={"block_number": block.number})
        yield block.number, assembler.take(end)


def test_the_bytes_of_files_are_stored_in_the_database_if_asked_for(network, settings_of, tmp_path):
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
    Pipeline(trust=Trust(network.book)).run(files)
    messages = [(block.number, zstandard.decompress(block.data)) for block in made]
    assert stored("record_file", "index, bytes") == messages


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst", ".zstd"], ids=["plain", "gz", "zst", "zstd"])
def test_a_block_on_the_disk_is_stored_as_it_is_there_and_kept_as_zstd(
    kept, network, settings_of, tmp_path, suffix
):
    settings_of({"importer.block.persistBytes": True})
    compressors: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress}
    compress = compressors.get(suffix, zstandard.compress)
    made = blocks(2)
    # Only once: gzip writes the time into what it makes.
    written = [(block.number, compress(block.content)) for block in made]
    (tmp_path / "blocks").mkdir()
    for number, data in written:
        (tmp_path / "blocks" / f"{number:019}.blk{suffix}").write_bytes(data)

    Pipeline(trust=Trust(network.book)).run(find_record_files([tmp_path / "blocks"]))

    assert stored("record_file", "index, bytes") == written
    held = {path: zstandard.decompress(data) for path, data in files_of(kept).items()}
    assert held == {f"demo/{in_bucket(block.number)}": block.content for block in made}


def test_files_that_other_processes_read_ahead_are_kept_as_well(kept, network, settings_of):
    with Readers(1) as readers:
        done = load(network, readers=readers)
    assert done.prefetched == 3
    ahead = files_of(kept)
    another = kept.with_name("another")
    settings_of({"importer.archive.location": str(another)})
    empty_tables()
    load(network)
    assert files_of(another) == ahead


def test_a_file_is_on_the_disk_before_anybody_can_see_its_rows(kept, network, monkeypatch):
    held: list[set[str]] = []
    settle = FolderArchive.settle

    def look(place: FolderArchive) -> None:
        settle(place)
        with psycopg.connect(**connection.get_connection_params()) as another:
            assert not another.execute("select name from record_file").fetchall()
        held.append({path.rpartition("/")[2] for path in files_of(kept)})

    monkeypatch.setattr(FolderArchive, "settle", look)
    load(network)

    # Once for the mark on the place, and once for the batch.
    assert held[0] == set()
    assert held[1] >= set(network.files)
    assert len(held) == 2


def test_blocks_come_from_a_block_node_with_their_bytes_only_if_they_are_kept(kept, settings_of):
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
    source = open_block_source()
    try:
        block = source.next(0, PATIENCE_SECONDS)
        assert block is not None
        return block.file
    finally:
        source.close()


# TROUBLES


def test_a_place_with_other_files_is_refused_before_anything_is_loaded(kept, network):
    kept.mkdir()
    (kept / "letter.txt").write_text("Dear Ada")
    with pytest.raises(WrongPlace, match="holds something else than kept stream files"):
        load(network)
    assert not stored("record_file", "name")
    assert [path.name for path in kept.iterdir()] == ["letter.txt"]


def test_the_place_of_another_network_is_refused(kept, network):
    kept.mkdir()
    (kept / MARKER).write_text('{"network": "testnet"}')
    with pytest.raises(WrongPlace, match="of the network testnet, not of demo"):
        load(network)


def test_while_the_place_is_away_a_follower_goes_on_and_notes_what_is_missing(kept, network, away):
    kept.write_text("no folder")

    assert follow(network).files == 3
    noted = stored("archive_failure", "name, reason")
    assert [name for name, _ in noted] == network.files
    assert {reason for _, reason in noted} == {"Not a directory"}

    kept.unlink()
    network.happen()
    follow(network, files=1)
    assert len(stored("archive_failure", "name")) == 3
    assert [path for path in files_of(kept) if path.endswith(network.blocks[3].name)]


def test_a_file_that_a_killed_process_has_left_is_settled_as_well(kept, monkeypatch):
    FolderArchive(kept).prepare("demo", used=False)
    FolderArchive(kept).put("one/two/three", b"file")
    synced = set[Path]()
    monkeypatch.setattr(store, "_sync", synced.add)

    place = FolderArchive(kept)
    place.put("one/two/three", b"file")
    place.settle()

    assert synced == {kept, kept / "one", kept / "one" / "two"}


def test_the_last_room_on_the_disk_is_left_to_the_database(kept, network, monkeypatch):
    with open_keeper():
        pass
    monkeypatch.setattr(store, "_LEAST_FREE_BYTES", 1 << 62)

    assert load(network).files == 3

    assert not files_of(kept)
    assert "are free, which the database may need" in stored("archive_failure", "reason")[0][0]


def test_given_files_are_not_loaded_unless_they_are_kept(kept, network):
    Pipeline().run([])
    (kept / "recordstreams").write_text("no folder")

    with pytest.raises(ArchivingFailed, match="It is not loaded either"):
        load(network, require_archive=True)
    assert not stored("record_file", "name")

    (kept / "recordstreams").unlink()
    assert load(network, require_archive=True).files == 3


def test_a_bucket_keeps_the_same_files_and_a_fault_of_it_is_noted(kept, network, settings_of, away, tmp_path):
    load(network)
    in_folder = files_of(kept)
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
