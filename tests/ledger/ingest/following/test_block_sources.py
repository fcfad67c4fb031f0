"""Blocks of whichever source works."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from ledger.ingest.following.block_sources import EARLIEST, FromEither
from ledger.ingest.following.configured_blocks import open_block_source
from ledger.stream.errors import StreamFileError
from mirror.demo.publish.block_node import BlockNodeServer
from tests.ledger.stream.block.blocks import BlockStream
from tests.waiting import PATIENCE_SECONDS


@pytest.fixture
def server(settings_of: Any) -> Iterator[BlockNodeServer]:
    stream = BlockStream(first_block=7)
    with BlockNodeServer() as running:
        for _ in range(3):
            stream.happen("cryptoTransfer")
            block = stream.block()
            running.publish(block.number, block.content)
        settings_of(
            {
                "importer.block.sourceType": "BLOCK_NODE",
                "importer.block.autoDiscoveryEnabled": False,
                "importer.block.nodes": (f"127.0.0.1:{running.port}",),
                "importer.block.stream.responseTimeout": PATIENCE_SECONDS,
                "importer.downloader.timeout": PATIENCE_SECONDS,
            }
        )
        yield running


def first(source: Any, number: int) -> Any:
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        # Not even the first block is there at once.
        if block := source.next(number, 0):
            return block
    return None


def test_the_earliest_block_is_given_once_and_then_the_next_ones(server):
    source = open_block_source()
    try:
        assert first(source, EARLIEST).number == 7
        assert first(source, 8).number == 8
        assert first(source, 9).number == 9
    finally:
        source.close()


class Failing:
    def __init__(self, location: str, *, fails: bool = True) -> None:
        self.location, self.fails = location, fails

    def next(self, number: int, seconds: float) -> None:
        if self.fails:
            raise StreamFileError(self.location, 0, "fails")

    def refuse(self) -> None:
        pass

    def close(self) -> None:
        pass


def test_after_three_errors_in_a_row_the_other_source_takes_its_turn():
    one, other = Failing("one"), Failing("other", fails=False)
    source = FromEither(one, other)
    for _ in range(3):
        assert source.location == "one"
        with pytest.raises(StreamFileError):
            source.next(7, 0)
    assert source.location == "other"

    for _ in range(3):
        source.refuse()

    assert source.location == "one"
