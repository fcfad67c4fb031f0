"""`manage.py up` of a network whose stream is published elsewhere: it follows that stream."""

import signal
from pathlib import Path

import pytest

from tests.composing import Composer
from tests.node import Node, kill
from tests.signing import signing_nodes

NODES = signing_nodes(2)


class Published:
    """A stream that grows in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.composer = Composer(nodes=NODES)
        self.book = folder / "book.bin"
        folder.mkdir()
        (folder / "streams").mkdir()
        self.book.write_bytes(self.composer.address_book())

    def block(self) -> None:
        self.composer.crypto_transfer({1001: -5, 1002: 5})
        self.composer.block().write(self.folder / "streams")

    @property
    def settings(self) -> dict[str, str]:
        return {
            "SVC_MIRROR_IMPORTER_DOWNLOADER_CLOUDPROVIDER": "LOCAL",
            "SVC_MIRROR_IMPORTER_DATAPATH": str(self.folder),
            "SVC_MIRROR_IMPORTER_INITIALADDRESSBOOK": str(self.book),
            "SVC_MIRROR_IMPORTER_DOWNLOADER_RECORD_FREQUENCY": "50ms",
        }


@pytest.fixture
def stream(tmp_path: Path) -> Published:
    return Published(tmp_path / "published")


def numbers(node: Node) -> list[int]:
    blocks = node.blocks()
    assert isinstance(blocks, list)
    return sorted(block["number"] for block in blocks)


def test_up_follows_the_stream_and_stops_in_order(node: Node, tables: None, stream: Published) -> None:
    stream.block()
    node.start(**stream.settings)
    node.wait_for(lambda: numbers(node) == [0])
    stream.block()
    stream.block()
    node.wait_for(lambda: numbers(node) == [0, 1, 2])

    assert "Following the folder" in node.said
    assert "demo stream" not in node.said
    assert node.stop(signal.SIGTERM) == 0
    assert node.processes() == []


def test_loader_that_was_killed_is_started_again_where_it_was(
    node: Node, tables: None, stream: Published
) -> None:
    stream.block()
    node.start(**stream.settings)
    node.wait_for(lambda: numbers(node) == [0])

    loader = node.loader()
    kill(loader)
    stream.block()

    node.wait_for(lambda: numbers(node) == [0, 1])
    assert f"Loader (process {loader}) was killed by SIGKILL" in node.said


def test_node_that_can_not_load_says_why_and_serves(node: Node, tables: None, stream: Published) -> None:
    stream.block()
    node.start(
        **stream.settings | {"SVC_MIRROR_IMPORTER_INITIALADDRESSBOOK": "", "SVC_MIRROR_NETWORK": "mine"}
    )

    node.wait_for(lambda: "no address book of the network mine is known" in node.said)
    assert numbers(node) == []
    assert node.stop(signal.SIGTERM) == 0
