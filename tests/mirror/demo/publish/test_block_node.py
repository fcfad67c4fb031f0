"""Serving the blocks of a folder."""

import threading
from pathlib import Path

import pytest

from mirror.core.config.setting import OperatorError
from mirror.demo.publish.block_folder import BlockFolder
from mirror.demo.publish.block_node import BlockNodeServer, serve


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ([], ""),
        ([3], " (missing: 1, from block 3 on)"),
        ([3, 4, 6], " (missing: 3, from block 3 on)"),
    ],
    ids=["none", "one", "some here and there"],
)
def test_blocks_that_are_missing_between_others_are_named(tmp_path: Path, missing: list[int], said: str):
    folder, stopping, lines = BlockFolder(tmp_path), threading.Event(), list[str]()
    for number in set(range(1, 8)) - set(missing):
        folder.path(number).parent.mkdir(parents=True, exist_ok=True)
        folder.path(number).touch()
    stopping.set()

    serve(lines.append, tmp_path, 0, stopping)

    (line,) = lines
    assert line.partition(" serves ")[2] == f"the blocks 1 to 7 of {tmp_path}{said}. Ctrl-C stops it."


def test_error_of_taken_port_names_its_option(tmp_path: Path):
    block = BlockFolder(tmp_path).path(1)
    block.parent.mkdir(parents=True)
    block.touch()

    with BlockNodeServer() as other, pytest.raises(OperatorError) as failure:
        serve(print, tmp_path, other.port, threading.Event())

    assert str(failure.value) == (
        f"Port {other.port} of 127.0.0.1 is taken by another program: stop that one, or name another port "
        "for the block node by --port."
    )
