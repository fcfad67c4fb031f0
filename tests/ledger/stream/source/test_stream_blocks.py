"""Blocks of a bucket: one after another, from the network's latest folder."""

from contextlib import closing
from pathlib import Path

import pytest

from ledger.stream import block_names
from ledger.stream.errors import StreamFileError
from ledger.stream.source import stream_blocks
from ledger.stream.source.bucket import Access, BucketError, open_bucket
from ledger.stream.source.stream_blocks import BlockBucket
from tests.ledger.stream.block.blocks import BlockFile, BlockStream
from tests.ledger.stream.source.servers import web_server

NETWORK = "testnet"


def block_files(count: int, first: int = 7) -> list[BlockFile]:
    stream = BlockStream(first_block=first)
    made = []
    for _ in range(count):
        stream.happen("cryptoTransfer")
        made.append(stream.block())
    return made


def publish(folder: Path, block: BlockFile, network: str = NETWORK) -> Path:
    path = folder / network / block_names.in_bucket(block.number)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(block.data)
    return path


def bucket(location: str) -> BlockBucket:
    return BlockBucket(open_bucket(location, Access(retries=0)), NETWORK, max_prefetch=4)


def numbers(source: BlockBucket, first: int) -> list[int]:
    found: list[int] = []
    while block := source.next(first + len(found)):
        found.append(block.number)
    return found


def test_the_path_of_a_block_has_a_folder_for_four_digits():
    assert block_names.in_bucket(7) == "block/0000/0000/0000/0000/007.blk.zstd"
    assert block_names.in_bucket(26_591_040) == "block/0000/0000/0002/6591/040.blk.zstd"


def test_all_blocks_come_in_order_and_the_next_one_once_it_is_there(tmp_path):
    made = block_files(7)
    for block in made[:-1]:
        publish(tmp_path, block)
    with closing(bucket(str(tmp_path))) as source:
        assert numbers(source, 7) == [7, 8, 9, 10, 11, 12]
        assert source.next(13) is None
        publish(tmp_path, made[-1])
        found = source.next(13)
        assert found is not None
        assert found.file.hash == made[-1].hash.hex()


@pytest.mark.parametrize(("most", "ahead"), [(1_000, 3), (2, 2), (0, 0)])
def test_blocks_are_read_ahead_and_fewer_where_they_are_large(tmp_path, monkeypatch, most, ahead):
    monkeypatch.setattr(stream_blocks, "_MAX_TRANSACTIONS", most)
    source = bucket(str(tmp_path))
    for block in block_files(7):
        publish(tmp_path, block)
    try:
        for number in range(7, 11):
            source.next(number)
        assert len(source._requests) == ahead
    finally:
        source.close()


def test_the_latest_folder_of_the_network_counts_and_those_of_others_do_not(tmp_path):
    old, new = block_files(1), block_files(2)
    publish(tmp_path, old[0], "testnet-202501010000")
    for block in new:
        publish(tmp_path, block, "testnet-202601010000")
    publish(tmp_path, old[0], "testnetwork")
    with closing(bucket(str(tmp_path))) as source:
        assert numbers(source, 7) == [7, 8]


def test_without_a_folder_of_the_network_it_says_so(tmp_path):
    missing = pytest.raises(BucketError, match="no folder of the network testnet")
    with closing(bucket(str(tmp_path))) as source, missing:
        source.next(7)


def test_a_damaged_block_is_an_error_and_is_read_again(tmp_path):
    made = block_files(2)
    path = publish(tmp_path, made[0])
    publish(tmp_path, made[1])
    path.write_bytes(made[0].data[:-9])
    with closing(bucket(str(tmp_path))) as source:
        with pytest.raises(StreamFileError):
            source.next(7)
        path.write_bytes(made[0].data)
        assert numbers(source, 7) == [7, 8]


def test_a_web_server_with_index_pages_will_do(tmp_path):
    for block in block_files(3):
        publish(tmp_path, block)
    with web_server(tmp_path) as address, closing(bucket(address)) as source:
        assert numbers(source, 7) == [7, 8, 9]
