"""Damaged blocks: any bytes are read, or raise a StreamFileError that names the file; never another error."""

import gzip

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from ledger.stream import content
from ledger.stream.block.block_file import read_block_file
from ledger.stream.content import MAX_STORED
from ledger.stream.errors import StreamFileError
from tests.ledger.stream.block.blocks import NEWER, OLDER, BlockFile, BlockStream, happen_of_all_kinds
from tests.ledger.stream.block.wrapped import contents, transactions, wrap


def native(version) -> BlockFile:
    stream = BlockStream(version, first_block=3)
    happen_of_all_kinds(stream)
    return stream.block()


SOUND = {
    "older": native(OLDER),
    "newer": native(NEWER),
    "wrapped 2": wrap(2, contents(2, transactions())),
    "wrapped 5": wrap(5, contents(5, transactions())),
    "wrapped 6": wrap(6, contents(5, transactions())),
}
every_kind = pytest.mark.parametrize("block", SOUND.values(), ids=SOUND)


def packed(block: BlockFile, data: bytes) -> bytes:
    return gzip.compress(data, 1, mtime=0) if block.name.endswith(".gz") else zstandard.compress(data)


def read_or_fail(block: BlockFile, data: bytes):
    """Return the file that is read, None when reading fails as it should."""
    try:
        return read_block_file(block.name, data)
    except StreamFileError as error:
        assert error.file == block.name
        assert error.position >= 0
        assert error.cause
        return None


@every_kind
def test_the_sound_block_reads(block):
    assert read_or_fail(block, block.data) is not None


@every_kind
def test_a_block_cut_off_anywhere_is_refused(block):
    for length in range(len(block.data)):
        assert read_or_fail(block, block.data[:length]) is None


@every_kind
def test_content_cut_off_anywhere_is_refused(block):
    for length in range(len(block.content)):
        assert read_or_fail(block, packed(block, block.content[:length])) is None


@every_kind
@given(extra=st.binary(min_size=1, max_size=70))
def test_bytes_after_the_end_are_refused(block, extra):
    assert read_or_fail(block, block.data + extra) is None


def same_or_told(read, sound):
    """What is read says the same; or it has another hash, which then is not the one nodes signed.

    What no hash is over are the proofs and items of fields that nobody knows.
    """
    if read is None:
        return True
    other = (read.hash, read.file_hash) != (sound.hash, sound.file_hash)
    return other or records(read) == records(sound)


def records(read):
    return [(item.transaction_bytes, item.record_bytes) for item in read.items]


@every_kind
def test_a_flipped_bit_of_any_stored_byte_is_refused_or_told_by_a_hash(block):
    sound = read_or_fail(block, block.data)
    for position in range(len(block.data)):
        data = bytearray(block.data)
        data[position] ^= 1 << position % 8
        assert same_or_told(read_or_fail(block, bytes(data)), sound)


@every_kind
def test_a_flipped_bit_of_any_byte_of_the_content_is_refused_or_told_by_a_hash(block):
    sound = read_or_fail(block, block.data)
    for position in range(len(block.content)):
        data = bytearray(block.content)
        data[position] ^= 1 << position % 8
        assert same_or_told(read_or_fail(block, packed(block, bytes(data))), sound)


@every_kind
@given(data=st.data())
def test_inserted_and_spoiled_bytes_give_another_block_or_an_error(block, data):
    position = data.draw(st.integers(0, len(block.content)))
    inserted = data.draw(st.binary(max_size=20))
    dropped = data.draw(st.integers(0, 20))

    read_or_fail(
        block, packed(block, block.content[:position] + inserted + block.content[position + dropped :])
    )


@every_kind
@given(data=st.binary(max_size=300))
def test_foreign_bytes_are_refused(block, data):
    assert read_or_fail(block, data) is None
    assert read_or_fail(block, packed(block, data)) is None


@pytest.mark.parametrize("pack", [zstandard.compress, gzip.compress], ids=["zstd", "gzip"])
def test_data_that_unfolds_without_bound_is_refused(monkeypatch, settings_of, pack):
    settings_of({"importer.block.stream.maxBlockSize": 1 << 20})
    monkeypatch.setattr(content, "MAX_CONTENT", 1 << 20)
    extension = "gz" if pack is gzip.compress else "zstd"

    with pytest.raises(StreamFileError, match=f"unfolds to more than {MAX_STORED} bytes"):
        read_block_file(f"{0:019}.blk.{extension}", pack(bytes(1 << 27)))


def test_a_frame_that_asks_for_a_huge_window_is_refused():
    parameters = zstandard.ZstdCompressionParameters(window_log=28, write_content_size=False)
    pack = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    data = pack.compress(bytes(1 << 20)) + pack.flush()

    with pytest.raises(StreamFileError, match="broken zstd data"):
        read_block_file(f"{0:019}.blk.zstd", data)


def test_a_file_too_large_to_be_one_is_refused(settings_of):
    settings_of({"importer.block.stream.maxBlockSize": 1 << 20})
    with pytest.raises(StreamFileError, match=f"at most {MAX_STORED}"):
        read_block_file(f"{0:019}.blk", bytes(MAX_STORED + 1))


def test_a_block_as_large_as_block_nodes_may_send_is_read_from_a_file(monkeypatch):
    block = native(NEWER)
    monkeypatch.setattr(content, "MAX_STORED", 10)
    monkeypatch.setattr(content, "MAX_CONTENT", 10)

    assert read_block_file(block.name, block.data).hash == block.hash.hex()


def test_an_unknown_compressor_is_named():
    with pytest.raises(StreamFileError, match="compressed by xz"):
        read_block_file(f"{0:019}.blk.xz", b"data")
