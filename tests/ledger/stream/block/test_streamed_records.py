"""Records that are made while their block is being read are those of the whole block."""

import tracemalloc
from typing import Any

import pytest

from ledger.stream.block.block_items import BlockReader, read_items
from ledger.stream.block.records import RecordMaker, record_items
from ledger.stream.errors import StreamFileError
from mirror.core.values.hapi import wire
from mirror.core.values.hapi.messages import BlockItem, StateChanges
from mirror.demo.publish.block_node import items_of
from mirror.demo.streams.record_files import timestamp
from tests.ledger.stream.block.blocks import (
    ACCOUNTS,
    NEWER,
    OLDER,
    OTHER,
    TOKEN,
    BlockFile,
    BlockStream,
    supply,
    topic,
    update,
)


def block(version: tuple[int, int, int], first: int = 3) -> BlockFile:
    """A block with a parent whose children share its state, between transactions of their own."""
    stream = BlockStream(version, first_block=first)
    stream.happen("cryptoCreateAccount", outputs=[{"account_create": {"created_account_id": OTHER}}])
    mint = {"token": TOKEN, "amount": 3}
    at = stream.happen(
        "atomic_batch",
        {"transactions": [stream.signed("tokenMint", mint), stream.signed("tokenMint", mint)]},
    )
    stream.happen("", inner=True, parent=at)
    stream.happen("", inner=True, parent=at, changes=[supply(11), topic(6001, 2, b"hash")])
    stream.happen("consensusCreateTopic", changes=[topic(6002)])
    stream.change(update(ACCOUNTS, {"account_id_key": OTHER}))
    stream.happen("cryptoTransfer")
    return stream.block()


def told(items: list[Any]) -> list[tuple[Any, ...]]:
    return [(item.index, item.transaction_bytes, item.record_bytes, item.successful) for item in items]


@pytest.mark.parametrize("version", [OLDER, NEWER])
@pytest.mark.parametrize("number", [0, 3])
def test_records_made_after_every_item_are_those_of_the_whole_block(version, number):
    made = block(version, number)
    reader = BlockReader("streamed")
    maker = RecordMaker(reader.block)
    for item in items_of(made.content):
        reader.add(0, item)
        maker.advance()
    read = reader.finish(len(made.content))

    items = maker.finish()

    assert [item.record.receipt.newTotalSupply for item in items] == [0, 0, 8, 11, 0, 0]
    assert told(items) == told(record_items(read_items("whole", made.content)))
    assert read.root_hash() == made.hash


def test_only_the_last_transaction_waits_for_more_of_its_block():
    reader = BlockReader("streamed")
    maker = RecordMaker(reader.block)
    for item in items_of(block(NEWER).content)[:-2]:
        reader.add(0, item)
    assert len(reader.block.transactions) == 6

    maker.advance()

    assert len(reader.block.transactions) == 1


def test_transactions_that_are_no_batches_are_not_kept():
    stream = BlockStream(first_block=3)
    for _ in range(20):
        stream.happen("cryptoTransfer", whole={"memo": "m" * 100_000})
    items = iter(items_of(stream.block().content))
    reader = BlockReader("streamed")
    tracemalloc.start()
    try:
        for item in items:
            reader.add(0, item)
            del reader.block.transactions[:-1]
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()

    assert kept < 500_000


def test_state_changes_that_cannot_be_read_are_told_of_the_transaction_that_needs_them():
    stream = BlockStream(first_block=3)
    stream.happen("cryptoTransfer")
    at = stream.happen("tokenMint", {"token": TOKEN, "amount": 3})
    broken = StateChanges(consensus_timestamp=timestamp(at)).SerializeToString() + b"\x12\x01\xff"
    stream.item(trace_data={})
    content = stream.block().content
    trace = BlockItem(trace_data={}).SerializeToString()
    reader = BlockReader("streamed")
    for item in items_of(content):
        changes = wire.length_delimited(BlockItem.STATE_CHANGES_FIELD_NUMBER, broken)
        reader.add(0, changes if item == trace else item)

    with pytest.raises(StreamFileError, match="transaction 1 of the file is unusable"):
        RecordMaker(reader.block).finish()
