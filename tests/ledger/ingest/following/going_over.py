"""Networks that go over from record files to blocks, both in one folder, and following them."""

import gzip
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ledger.ingest.following.configured_blocks import open_block_source
from ledger.ingest.following.cutover import Choice, CutoverFollower, LastFile, Stream
from ledger.ingest.following.follower import BlockFollower, Follower
from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream import block_names
from ledger.stream.block.tree import EMPTY_PREFIXED as EMPTY
from mirror.core.values.hapi.messages import Block as BlockMessage
from mirror.core.values.hapi.messages import RecordStreamFile, TransactionBody
from mirror.core.values.hashes import sha384
from mirror.demo.streams.record_files import Block
from tests.composing import Composer
from tests.ledger.ingest.following.network import download
from tests.ledger.ingest.load import stored
from tests.ledger.stream.block.blocks import BlockFile, BlockStream, of_items
from tests.ledger.stream.block.ledgers import LEDGER, publication
from tests.ledger.stream.block.wrapped import wrap
from tests.signing import signing_nodes
from tests.waiting import PATIENCE_SECONDS

NODES = signing_nodes(3)
RECORDS = 3


def follow(
    folder: Path, book: bytes, files: int, *, blocks: str = "", choice: Choice | None = None
) -> list[Any]:
    """Follow both streams from what is stored until so many files are loaded.

    Record files come from the folder; `blocks` is the place of blocks, by default the one of the settings.
    """
    quorums, stopping = Quorums(book), threading.Event()
    followed = CutoverFollower(
        choice or Choice(LastFile.stored()),
        {
            Stream.RECORD: lambda: Follower(download(str(folder)), quorums, stopping=stopping),
            Stream.BLOCK: lambda: BlockFollower(open_block_source(blocks), quorums, stopping=stopping),
        },
    )
    guard = threading.Timer(PATIENCE_SECONDS, stopping.set)
    guard.start()
    try:

        def seen(done: Any) -> None:
            if done.files >= files:
                stopping.set()

        Pipeline(LoadOptions(quorums=quorums), report=seen).run(followed.files())
    finally:
        guard.cancel()
    return stored("record_file", "index, version")


class Clock:
    """A clock on which each look takes some seconds, so that nothing has to be waited for."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._now = seconds, 0.0

    def __call__(self) -> float:
        self._now += self._seconds
        return self._now


@dataclass
class Network:
    """Writes record files, the blocks that wrap them, and blocks, into one folder."""

    folder: Path
    hapi_version: tuple[int, int, int] = (0, 76, 0)
    composer: Composer = field(init=False)
    wrapped_hash: bytes = EMPTY

    def __post_init__(self) -> None:
        self.composer = Composer(nodes=NODES, hapi_version=self.hapi_version)
        body = TransactionBody()
        body.ledger_id_publication.CopyFrom(type(body.ledger_id_publication)(**publication(LEDGER.identity)))
        self.composer.transaction(body)

    def record(self, *, written: bool = True, wrapped: bool = False) -> Block:
        self.composer.crypto_transfer({2: -5, 1002: 5})
        record = self.composer.block()
        if written:
            record.write(self.folder)
        if wrapped:
            self.publish(self.wrap(record))
        return record

    def wrap(self, record: Block) -> BlockFile:
        """The block around a record file, signed by the nodes that have signed the file."""
        content = gzip.decompress(record.data)
        file = RecordStreamFile.FromString(content[4:])
        signatures = [
            {"node_id": node.node_id, "signatures_bytes": node.sign(sha384(content))} for node in NODES
        ]
        block = wrap(6, file, number=file.block_number, previous=self.wrapped_hash, signatures=signatures)
        items = BlockMessage.FromString(block.content).items
        first = file.record_stream_items[0].record.consensusTimestamp
        items[1].record_file.creation_time.CopyFrom(first)
        block = of_items(block.number, items[:-1], proof=items[-1].block_proof)
        self.wrapped_hash = block.hash
        return block

    def blocks(self, count: int = 3, *, first: int = RECORDS) -> None:
        """Write blocks that go on after the record files."""
        stream = BlockStream((0, 76, 0), first_block=first, signer=LEDGER)
        stream.hash = self.wrapped_hash
        for _ in range(count):
            stream.happen("cryptoTransfer")
            self.publish(stream.block())

    def publish(self, block: BlockFile) -> None:
        path = self.folder / "demo" / block_names.in_bucket(block.number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(block.data)

    def follow(self, files: int, *, seconds: float = 5) -> list[Any]:
        """Follow from what is stored until so many more files are loaded; `seconds` are those of a look."""
        book, choice = self.composer.address_book(), Choice(LastFile.stored(), Clock(seconds))
        return follow(self.folder, book, files, blocks=str(self.folder), choice=choice)
