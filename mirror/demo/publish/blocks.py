"""The files of a network that writes blocks, or switches to them from record files."""

from pathlib import Path

from mirror.demo.keys.nodes import block_signer
from mirror.demo.streams.blocks.block import BlockComposer
from mirror.demo.streams.blocks.frame import NativeBlock, WrappingComposer
from mirror.demo.streams.record_files import Block


class BlockWriter:
    """Writes record files into a bucket folder up to a block, and blocks from it on.

    Blocks lie in the folder of the network. The first one follows the block around the last record file.
    """

    def __init__(self, folder: Path, network: str, *, blocks_from: int) -> None:
        self._folder = folder
        self._network = network
        self._blocks_from = blocks_from
        self._wrapping = WrappingComposer()
        self._composer = BlockComposer(block_signer())

    def write(self, block: Block) -> NativeBlock | None:
        """Write the next block in its form, and return it unless that is a record file."""
        if block.number < self._blocks_from:
            block.write(self._folder)
            self._wrapping.pass_by(block)
            self._composer.learn(block)
            self._composer.hash = self._wrapping.hash
            return None
        native = self._composer.block(block)
        native.write(self._folder / self._network)
        return native
