"""Following block nodes of which one misbehaves in every way there is."""

import os
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import zstandard

from ledger.ingest.following.configured_blocks import open_block_source
from ledger.ingest.following.follower import BlockFollower
from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream import block_names
from ledger.stream.ledger_identity import FIRST_LEDGER
from ledger.stream.source.block_node.api_pb2 import SubscribeStreamResponse
from ledger.stream.source.block_node.assembly import Limits
from mirror.core.values.hapi.messages import LedgerIdPublicationTransactionBody
from mirror.demo.publish.block_node import BlockNodeServer
from mirror.demo.streams.threshold_signer import ThresholdSigner
from tests.composing import Composer
from tests.ledger.ingest.load import stored
from tests.ledger.ingest.tables import contents, empty_tables
from tests.ledger.stream.block.blocks import BlockStream
from tests.ledger.stream.block.ledgers import publication
from tests.ledger.stream.source.block_node.faulty import Fault, FaultyNode
from tests.signing import signing_nodes
from tests.waiting import PATIENCE_SECONDS

NODES = ThresholdSigner({0: 10}, "the network")
OTHERS = ThresholdSigner({0: 10}, "another network")
BOOK = Composer(nodes=signing_nodes(1)).address_book()
FAULTS = list(Fault) * int(os.environ.get("MIRROR_TEST_ROUNDS", "1"))
LIMITS = Limits(items=3_000, block_bytes=1 << 20, message_bytes=400_000)


class Brief(BlockNodeServer):
    """A right block node that ends each stream after one block, so that the other node is asked again."""

    def subscribe(self, request: Any, context: Any) -> Iterator[SubscribeStreamResponse]:
        request.end_block_number = request.start_block_number
        return super().subscribe(request, context)


@pytest.fixture(scope="module")
def blocks() -> dict[int, bytes]:
    stream = BlockStream(signer=NODES)
    made = {}
    for _ in range(len(FAULTS) + 3):
        for _ in range(2):
            stream.happen("cryptoTransfer")
        block = stream.block()
        made[block.number] = block.content
    return made


@pytest.fixture
def right_node(blocks: dict[int, bytes], settings_of: Any, tmp_path: Path) -> Iterator[BlockNodeServer]:
    ledger = tmp_path / "ledger"
    ledger.write_bytes(LedgerIdPublicationTransactionBody(**publication(NODES.identity)).SerializeToString())
    with Brief() as server:
        settings_of(
            {
                FIRST_LEDGER: str(ledger),
                "importer.block.sourceType": "BLOCK_NODE",
                "importer.block.autoDiscoveryEnabled": False,
                "importer.block.frequency": 0.01,
                "importer.block.nodes": (f"127.0.0.1:{server.port} priority=1",),
                "importer.block.stream.responseTimeout": 0.2,
                "importer.block.stream.readmitDelay": 0.0,
                "importer.block.stream.maxBlockItems": LIMITS.items,
                "importer.block.stream.maxBlockSize": LIMITS.block_bytes,
                "importer.block.stream.maxStreamResponseSize": LIMITS.message_bytes,
                "importer.downloader.timeout": 0.2,
            }
        )
        yield server


def follow(count: int) -> list[Any]:
    """Follow the block nodes until so many blocks are loaded."""
    quorums, stopping = Quorums(BOOK), threading.Event()
    follower = BlockFollower(open_block_source(), quorums, stopping=stopping)
    guard = threading.Timer(PATIENCE_SECONDS, stopping.set)
    guard.start()

    def seen(done: Any) -> None:
        if done.files >= count:
            stopping.set()

    try:
        Pipeline(LoadOptions(quorums=quorums), report=seen).run(follower.files())
    finally:
        guard.cancel()
    return [number for (number,) in stored("record_file", "index")]


@pytest.mark.usefixtures("ledger_tables")
def test_whatever_a_block_node_does_wrong_nothing_is_lost_or_doubled(blocks, right_node, settings_of):
    unpublished = iter(blocks.items())

    def steps() -> Iterator[Fault | None]:
        """Yield each fault, and after it a block as it should be; the right node has a block more then."""
        for fault in FAULTS:
            right_node.publish(*next(unpublished))
            yield fault
            yield None
        for number, block in unpublished:
            right_node.publish(number, block)

    plan = steps()
    with FaultyNode(blocks, lambda: next(plan, None), OTHERS, LIMITS, away_seconds=0.1) as faulty:
        settings_of(
            {"importer.block.nodes": (f"127.0.0.1:{faulty.port}", f"127.0.0.1:{right_node.port} priority=1")}
        )
        loaded, found = follow(len(blocks)), contents()
        empty_tables()

        assert loaded == list(blocks) == follow(len(blocks))
        assert found == contents()
        assert set(faulty.done) == set(Fault)


@pytest.mark.usefixtures("ledger_tables")
def test_a_block_node_that_ends_every_stream_without_a_block_is_left_for_the_other(
    blocks, right_node, settings_of
):
    few = dict(islice(blocks.items(), 4))
    for number, block in few.items():
        right_node.publish(number, block)
    with FaultyNode(few, lambda: Fault.SENDS_NONE, OTHERS, LIMITS) as faulty:
        settings_of(
            {
                "importer.block.nodes": (
                    f"127.0.0.1:{faulty.port}",
                    f"127.0.0.1:{right_node.port} priority=1",
                ),
                "importer.block.stream.readmitDelay": PATIENCE_SECONDS,
                "importer.block.stream.responseTimeout": PATIENCE_SECONDS,
                "importer.downloader.timeout": PATIENCE_SECONDS,
            }
        )

        assert follow(len(few)) == list(few)
        assert faulty.done[Fault.SENDS_NONE] == 3


@pytest.mark.usefixtures("ledger_tables")
def test_without_a_right_block_node_blocks_come_from_the_bucket(blocks, right_node, settings_of, tmp_path):
    few = dict(islice(blocks.items(), 4))
    for number, block in few.items():
        path = tmp_path / "streams" / "demo" / block_names.in_bucket(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(zstandard.ZstdCompressor().compress(block))
    with FaultyNode(blocks, lambda: Fault.OTHER_LEDGER, OTHERS, LIMITS, away_seconds=0.1) as faulty:
        settings_of(
            {
                "network": "demo",
                "importer.block.nodes": (f"127.0.0.1:{faulty.port}",),
                "importer.block.sourceType": "AUTO",
                "importer.block.stream.responseTimeout": PATIENCE_SECONDS,
                "importer.dataPath": str(tmp_path),
                "importer.downloader.cloudProvider": "LOCAL",
                "importer.downloader.timeout": PATIENCE_SECONDS,
            }
        )

        assert follow(len(few)) == list(few)
        assert faulty.done[Fault.OTHER_LEDGER] >= 3
