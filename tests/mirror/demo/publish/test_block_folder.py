"""The blocks of a network in its folder, which is looked at again and again."""

from mirror.demo.publish.block_folder import BlockFolder


def test_block_folder_finds_added_and_removed_blocks_only(tmp_path):
    folder = BlockFolder(tmp_path)

    def put(*numbers: int) -> None:
        for number in numbers:
            folder.path(number).parent.mkdir(parents=True, exist_ok=True)
            folder.path(number).touch()

    for stray in ("copy.blk.zstd", "0000/0000000000000000007.blk.zstd"):
        (tmp_path / "block" / stray).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "block" / stray).touch()
    assert list(folder) == []
    put(998, 999)
    folder.refresh()
    assert list(folder) == [998, 999]
    put(997, 1_000, 1_001)
    folder.path(999).with_name("999 (1).blk.zstd").touch()
    folder.refresh()
    assert list(folder) == [997, 998, 999, 1_000, 1_001]
    folder.path(997).unlink()
    folder.refresh()
    assert list(folder) == [998, 999, 1_000, 1_001]
    for number in list(folder):
        folder.path(number).unlink()
    put(0, 1)
    folder.refresh()
    assert list(folder) == [0, 1]
