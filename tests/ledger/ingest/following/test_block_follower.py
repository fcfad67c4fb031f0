"""Blocks as they are handed on for storing: none waits for the one after it."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, DataError, transaction

from ledger.ingest.following.configured_blocks import open_block_source
from ledger.ingest.following.follower import BlockFollower
from ledger.ingest.pipeline import LoadOptions, Pipeline, Progress
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream import block_names
from ledger.stream.source.stream_blocks import BlockSource
from mirror.core.db import statements
from mirror.demo.publish.block_node import BlockNodeServer
from mirror.demo.streams.threshold_signer import ThresholdSigner
from tests.composing import Composer
from tests.ledger.stream.block.blocks import BlockFile, BlockStream
from tests.ledger.stream.block.ledgers import publication
from tests.ledger.stream.block.wrapped import contents, transactions, wrap
from tests.signing import signing_nodes
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.usefixtures("ledger_tables")

NODES = ThresholdSigner({0: 10}, "the network")
BOOK = Composer(nodes=signing_nodes(1)).address_book()


class Noting:
    """A source that notes how long it is allowed to wait for each block."""

    def __init__(self, source: BlockSource) -> None:
        self._source = source
        self.location = source.location
        self.waits: list[float] = []
        self.is_closed = False

    def next(self, number: int, seconds: float) -> Any:
        self.waits.append(seconds)
        return self._source.next(number, seconds)

    def reject(self, reason: str = "") -> None:
        self._source.reject(reason)

    def status(self) -> dict[str, Any]:
        return self._source.status()

    def close(self) -> None:
        self.is_closed = True
        self._source.close()


def publish(stream: BlockStream, folder: Path) -> None:
    block = stream.block()
    path = folder / "demo" / block_names.in_bucket(block.number)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(block.data)


def test_a_block_can_be_stored_before_the_next_one_is_waited_for(tmp_path, settings_of):
    settings_of({"network": "demo", "importer.block.frequency": 0.001})
    stream = BlockStream(signer=NODES)
    stream.happen("ledger_id_publication", publication(NODES.identity))
    publish(stream, tmp_path)
    source = Noting(open_block_source(str(tmp_path)))
    files = BlockFollower(source, Quorums(BOOK)).files()

    first, nothing, waited = next(files), next(files), next(files)

    assert first is not None and first.number == 0
    assert nothing is None and waited is None
    assert source.waits[:2] == [0, 0]
    assert source.waits[2] > 0


def test_source_is_closed_when_the_database_fails_at_the_start(tmp_path):
    source = Noting(open_block_source(str(tmp_path)))
    files = BlockFollower(source, Quorums(BOOK)).files()

    with transaction.atomic():
        with pytest.raises(DataError):
            statements.value("select 1 / 0")
        # PostgreSQL refuses further statements of the transaction.
        with pytest.raises(DatabaseError):
            next(files)
        transaction.set_rollback(True)

    assert source.is_closed


@pytest.fixture
def block_node(settings_of: Any) -> Iterator[BlockNodeServer]:
    """The block node of a private network, whose address book nobody has named."""
    with BlockNodeServer() as server:
        settings_of(
            {
                "network": "other",
                "importer.block.sourceType": "BLOCK_NODE",
                "importer.block.autoDiscoveryEnabled": False,
                "importer.block.frequency": 0.01,
                "importer.block.nodes": (f"127.0.0.1:{server.port}",),
            }
        )
        yield server


def test_blocks_of_a_private_network_are_followed_without_an_address_book(block_node):
    stream = BlockStream(signer=NODES)
    stream.happen("ledger_id_publication", publication(NODES.identity))
    for number in range(3):
        stream.happen("cryptoTransfer")
        block_node.publish(number, stream.block().content)
    quorums, stopping = Quorums(), threading.Event()
    guard = threading.Timer(PATIENCE_SECONDS, stopping.set)
    guard.start()

    def seen(done: Progress) -> None:
        if done.files >= 3:
            stopping.set()

    try:
        follower = BlockFollower(open_block_source(), quorums, stopping=stopping)
        done = Pipeline(LoadOptions(quorums=quorums), report=seen).run(follower.files())
    finally:
        guard.cancel()

    assert (done.files, done.verified) == (3, 3)


def _native_without_ledger() -> BlockFile:
    stream = BlockStream(signer=NODES)
    stream.happen("cryptoTransfer")
    return stream.block()


def _wrapped_record_file() -> BlockFile:
    return wrap(2, contents(2, transactions()))


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (_native_without_ledger, "no ledger id of the network is known"),
        (_wrapped_record_file, "no address book of the network other is known"),
    ],
    ids=["native", "wrapped"],
)
def test_a_block_node_is_not_blamed_for_what_the_operator_has_not_named(
    block_node, settings_of, make, problem
):
    block = make()
    block_node.publish(block.number, block.content)
    settings_of({"importer.startBlockNumber": block.number})
    source = open_block_source()
    follower = BlockFollower(source, Quorums())
    files = follower.files()

    for _ in range(5):
        assert next(files) is None

    assert follower.problem is not None
    assert problem in follower.problem.cause
    (node,) = source.status()["nodes"]
    assert (node["failures"], node["set_aside_until"]) == (0, None)
    source.close()
