"""A composed record file that is wrapped in a block is that record file again, signed by the same nodes."""

from fractions import Fraction

from ledger.stream.block.block_file import read_block_file
from ledger.stream.block.wrapped import verify
from ledger.stream.block_names import streamed
from ledger.stream.record_formats import read_record_file
from ledger.stream.signature.quorum import ConsensusMode, Quorum
from mirror.demo.publish.history import History
from mirror.demo.streams.block_stream import WrappingComposer
from mirror.demo.streams.keys import nodes

QUORUM = Quorum.from_address_book(
    [node.address_book_node for node in nodes()], {}, ConsensusMode.EQUAL, Fraction(1)
)


def test_a_wrapped_record_file_is_rebuilt_and_each_follows_the_block_around_the_one_before() -> None:
    composer, passing, previous = WrappingComposer(), WrappingComposer(), None
    for _, block in History(3, 10, 1).play(nodes()):
        wrapped = composer.block(block)
        passing.pass_by(block)
        read = read_block_file(streamed(wrapped.number), wrapped.content)
        alone = read_record_file(block.name, block.data)

        assert (read.version, read.block_number, read.hash) == (6, block.number, alone.hash)
        assert read.file_hash == alone.file_hash
        assert [item.record for item in read.items] == [item.record for item in alone.items]
        assert sum(len(file.records) for file in read.sidecar_files.values()) == sum(
            len(each.sidecars) for each in block.transactions
        )
        assert read.wrapper
        assert verify(read, read.wrapper, QUORUM) == (0, 1, 2, 3)
        assert (read.wrapper.hash, read.previous_wrapper_hash) == (composer.hash.hex(), previous)
        assert passing.hash == composer.hash
        previous = composer.hash.hex()
