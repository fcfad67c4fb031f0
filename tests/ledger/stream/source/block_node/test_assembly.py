"""Blocks put together from messages: most of the work is done before their end comes."""

import pytest

from ledger.stream.errors import StreamFileError
from ledger.stream.source.block_node.api_pb2 import BlockEnd, BlockItemSet, SubscribeStreamResponse
from ledger.stream.source.block_node.assembly import Assembler, Limits
from mirror.demo.publish.block_node import items_of
from tests.ledger.stream.block.blocks import BlockStream


def sent(items: list[bytes]) -> SubscribeStreamResponse:
    return SubscribeStreamResponse(block_items=BlockItemSet(block_items=items))


def test_records_are_made_while_a_block_streams_in():
    stream = BlockStream(first_block=7)
    for _ in range(5):
        stream.happen("cryptoTransfer")
    block = stream.block()
    items = items_of(block.content)
    assembler = Assembler("node", Limits())

    assert assembler.take(sent(items[:-2])) is None
    assert assembler._records is not None
    assert len(assembler._records._items) == 4
    assert assembler.take(sent(items[-2:])) is None
    file = assembler.take(SubscribeStreamResponse(end_of_block=BlockEnd(block_number=7)))

    assert file is not None
    assert (file.count, file.hash) == (5, block.hash.hex())


def test_a_transaction_that_cannot_be_read_is_told_of_its_block_before_the_end_of_it():
    stream = BlockStream(first_block=7)
    stream.happen("cryptoTransfer", signed=b"\xff")
    stream.happen("cryptoTransfer")
    assembler = Assembler("node", Limits())

    with pytest.raises(StreamFileError, match="transaction 0 of the file is unusable") as refused:
        assembler.take(sent(items_of(stream.block().content)))

    assert refused.value.file == "0000000000000000007.blk"


@pytest.mark.parametrize("odd", [sent([]), SubscribeStreamResponse(end_of_block=BlockEnd(block_number=7))])
def test_messages_that_hold_nothing_are_warned_of_once_and_are_a_failure_at_last(odd, caplog):
    warned: set[str] = set()
    for _ in range(2):
        assembler = Assembler("node", Limits(), warned)
        for _ in range(99):
            assert assembler.take(odd) is None
        with pytest.raises(StreamFileError, match="100 messages one after another that hold nothing"):
            assembler.take(odd)

    assert len(caplog.records) == 1


def test_a_set_without_items_now_and_then_is_no_failure():
    items = items_of(BlockStream(first_block=7).block().content)
    assembler = Assembler("node", Limits())
    assembler.take(sent(items[:1]))
    for _ in range(150):
        assembler.take(sent([]))
        assembler.take(sent(items[1:2]))
