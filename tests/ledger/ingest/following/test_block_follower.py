"""Blocks as they are handed on for storing: none waits for the one after it."""

from pathlib import Path
from typing import Any

import pytest

from ledger.ingest.following.block_follower import BlockFollower
from ledger.ingest.following.block_sources import BlockSource
from ledger.ingest.following.configured_blocks import open_block_source
from ledger.ingest.trust import Trust
from ledger.stream.block import names
from ledger.stream.block.proof.signer import ThresholdSigner
from ledger.stream.record.compose import Composer
from ledger.stream.signature.node_key import signing_nodes
from tests.ledger.stream.block.blocks import BlockStream
from tests.ledger.stream.block.ledgers import publication

pytestmark = pytest.mark.usefixtures("ledger_tables")

NODES = ThresholdSigner({0: 10}, "the network")
BOOK = Composer(nodes=signing_nodes(1)).address_book()


class Noting:
    """A source that notes how long it is allowed to wait for each block."""

    def __init__(self, source: BlockSource) -> None:
        self._source = source
        self.location = source.location
        self.waits: list[float] = []

    def next(self, number: int, seconds: float) -> Any:
        self.waits.append(seconds)
        return self._source.next(number, seconds)

    def refuse(self, reason: str = "") -> None:
        self._source.refuse(reason)

    def told(self) -> dict[str, Any]:
        return self._source.told()

    def close(self) -> None:
        self._source.close()


def publish(stream: BlockStream, folder: Path) -> None:
    block = stream.block()
    path = folder / "demo" / names.in_bucket(block.number)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(block.data)


def test_a_block_can_be_stored_before_the_next_one_is_waited_for(tmp_path, settings_of):
    settings_of({"network": "demo", "importer.block.frequency": 0.001})
    stream = BlockStream(signer=NODES)
    stream.happen("ledger_id_publication", publication(NODES.identity))
    publish(stream, tmp_path)
    source = Noting(open_block_source(str(tmp_path)))
    files = BlockFollower(source, Trust(BOOK)).files()

    first, nothing, waited = next(files), next(files), next(files)

    assert first is not None and first.number == 0
    assert nothing is None and waited is None
    assert source.waits[:2] == [0, 0]
    assert source.waits[2] > 0
