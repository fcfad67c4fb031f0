"""Names of block files in both layouts."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.stream.block_names import is_block, parse
from ledger.stream.errors import StreamFileError
from ledger.stream.source.local import find_record_files
from ledger.stream.source.stream_blocks import blocks_below, local_block
from tests.ledger.stream.block.blocks import OLDER, BlockStream

SEVEN = "0000/0000/0000/0000/007.blk.zstd"


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        (SEVEN, ("0000000000000000007.blk.zstd", 7, "zstd")),
        (f"bucket/hedera-mainnet/block/{SEVEN}", ("0000000000000000007.blk.zstd", 7, "zstd")),
        ("0000/0000/0008/2297/471.blk.zstd", ("0000000000082297471.blk.zstd", 82297471, "zstd")),
        ("0000000000000000007.blk", ("0000000000000000007.blk", 7, "")),
        (f"0/3/{25:036}.blk.gz", (f"{25:036}.blk.gz", 25, "gz")),
        ("9223372036854775807.blk", ("9223372036854775807.blk", (1 << 63) - 1, "")),
    ],
)
def test_a_name_tells_number_and_compressor(name, parsed):
    found = parse(name)

    assert (found.name, found.number, found.compressor) == parsed


@pytest.mark.parametrize(
    "name",
    [
        "007.blk.zstd", "000/0000/0000/0000/007.blk.zstd", "0000/0000/0000/0000/0007.blk.zstd", "7.blk.gz",
        f"{7:020}.blk.gz", f"{7:036}.rcd.gz", f"{7:036}.blk.gz.gz", f"{7:036}blk", "9223372036854775808.blk",
        "x" * 19 + ".blk", "", "٠" * 19 + ".blk",
    ],
)  # fmt: skip
def test_other_names_are_refused(name):
    with pytest.raises(StreamFileError, match="not the name of a block file"):
        parse(name)


@given(number=st.integers(0, (1 << 63) - 1))
def test_the_number_is_read_from_every_layout(number):
    digits = f"{number:019}"
    grouped = "/".join([*(digits[start : start + 4] for start in range(0, 16, 4)), digits[16:]])

    names = (f"{digits}.blk", f"{number:036}.blk.gz", f"{grouped}.blk.zstd")

    assert {parse(name).number for name in names} == {number}
    assert all(map(is_block, names))


def test_blocks_are_found_in_every_layout_after_the_record_files(tmp_path: Path):
    stream = BlockStream(OLDER)
    first, second, third = stream.block(), stream.block(), stream.block()
    first.write(tmp_path / "0" / "3")
    second.write(tmp_path)
    grouped = tmp_path / "0000/0000/0000/0000/002.blk.gz"
    grouped.parent.mkdir(parents=True)
    grouped.write_bytes(third.data)
    (tmp_path / "readme.blk.txt").write_text("no block")
    record = tmp_path / "2024-01-01T00_00_00Z.rcd"
    record.write_bytes(b"")

    files = find_record_files([tmp_path])

    assert [(file.name, file.node_id) for file in files] == [
        (record.name, -1),
        (first.name, 3),
        (second.name, -1),
        ("0000000000000000002.blk.gz", -1),
    ]
    assert len(blocks_below(tmp_path)) == 3
    assert find_record_files([grouped])[0].record_file().hash == third.hash.hex()
    assert local_block(grouped).instant == local_block(grouped).record_file().consensus_start


def test_a_file_that_is_gone_is_an_error_of_ours(tmp_path: Path):
    path = BlockStream().block().write(tmp_path)
    file = local_block(path)
    path.unlink()

    with pytest.raises(StreamFileError, match="cannot be read"):
        file.record_file()
