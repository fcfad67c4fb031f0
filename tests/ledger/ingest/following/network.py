"""A network that publishes into a folder, and a node that follows it."""

import random
import threading
from pathlib import Path
from typing import Any

from ledger.ingest.following.follower import Follower, Span
from ledger.ingest.pipeline import LoadOptions, Pipeline, Progress
from ledger.ingest.reporting import Reporting
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.record_names import signature_name
from ledger.stream.source.bucket import Access, open_bucket
from ledger.stream.source.download import Download, PathType
from ledger.stream.source.download import Layout as Folders
from ledger.stream.source.local import find_record_files
from mirror.core.values.hapi.messages import (
    ContractBytecode,
    CryptoUpdateTransactionBody,
    TransactionSidecarRecord,
)
from mirror.demo.streams.record_files import Block
from mirror.demo.streams.signing import SigningNode
from tests.composing import Composer, Layout
from tests.ledger.ingest.load import stored
from tests.ledger.ingest.tables import contents, empty_tables
from tests.signing import signing_nodes
from tests.waiting import PATIENCE_SECONDS

NODES = signing_nodes(4)


class Network:
    """A network whose nodes publish into a folder, block by block."""

    def __init__(self, folder: Path, nodes: tuple[SigningNode, ...] = NODES) -> None:
        self.folder = folder
        self.composer = Composer(nodes=nodes)
        self.book = self.composer.address_book()
        self.blocks: list[Block] = []
        self._random = random.Random(3)

    def happen(self, blocks: int = 1, *, transfers: int = 3, layout: Layout = Layout.ACCOUNT_ID) -> None:
        for _ in range(blocks):
            for _ in range(transfers):
                payer, receiver = self._random.sample(range(1001, 1011), 2)
                self.composer.crypto_transfer({payer: -7, receiver: 7}, payer=payer)
            update = CryptoUpdateTransactionBody()
            update.memo.value = f"block {self.composer.block_number}"
            sidecar = TransactionSidecarRecord(bytecode=ContractBytecode(runtime_bytecode=b"\x60"))
            self.composer.crypto_update(1001, update, sidecars=[sidecar])
            self.publish(self.composer.block(), layout)

    def publish(self, block: Block, layout: Layout = Layout.ACCOUNT_ID) -> None:
        self.blocks.append(block)
        block.write(self.folder, layout.folder)

    def of_node(self, node: int) -> Path:
        return self.folder / "recordstreams" / f"record0.0.{node + 3}"

    def signature(self, node: int, block: int) -> Path:
        return self.of_node(node) / signature_name(self.blocks[block].name)

    @property
    def files(self) -> list[str]:
        return [block.name for block in self.blocks]


def download(location: str, path_type: PathType = PathType.AUTO, **access: Any) -> Download:
    options = {"anonymous": True, "timeout": PATIENCE_SECONDS, "retries": 0} | access
    layout = Folders(network="demo", path_type=path_type, refresh=0.05)
    return Download(open_bucket(location, Access(**options)), layout, sidecars=True, concurrency=16)


def follow(
    network: Network,
    source: Download | None = None,
    *,
    files: int | None = None,
    report: Reporting | None = None,
    start: int | None = None,
    until: int | None = None,
) -> Progress:
    """Follow until everything the network has published is loaded, or `files` files of this run."""
    quorums = Quorums(network.book)
    span, stopping = Span(start=start, until=until), threading.Event()
    source = source or download(str(network.folder))
    followed = Follower(source, quorums, report, stopping=stopping, span=span)
    enough = len(network.blocks) if files is None else files

    def seen(done: Progress) -> None:
        if done.files >= enough:
            stopping.set()

    guard = threading.Timer(PATIENCE_SECONDS, stopping.set)
    guard.start()
    try:
        return Pipeline(LoadOptions(start=start, quorums=quorums), report=seen).run(followed.files())
    finally:
        guard.cancel()


def loaded() -> list[Any]:
    return [name for (name,) in stored("record_file", "name")]


def undisturbed(network: Network) -> Any:
    """Return the contents of the tables after everything was loaded from the folder at once."""
    empty_tables()
    Pipeline(LoadOptions(quorums=Quorums(network.book))).run(find_record_files([network.folder]))
    held = contents()
    empty_tables()
    return held
