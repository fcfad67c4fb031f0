"""Threshold signatures of blocks that wrap record files, beside or instead of those of the record file."""

from fractions import Fraction
from typing import Any

import pytest

from ledger.stream.block.block_file import read_block_file
from ledger.stream.block.block_items import read_items
from ledger.stream.errors import StreamFileError
from ledger.stream.record_file import RecordFile
from ledger.stream.signature.quorum import ConsensusMode, NoQuorum, Quorum
from ledger.stream.source.stream_blocks import FetchedBlock
from mirror.core.values.hapi.messages import Block, BlockItem, SidecarFile
from mirror.core.values.hashes import sha384
from mirror.demo.streams.threshold_signer import ThresholdSigner
from tests.ledger.stream.block.blocks import BlockFile, BlockStream, of_items
from tests.ledger.stream.block.ledgers import LEDGER, OTHERS
from tests.ledger.stream.block.state_proofs import proved_by_later
from tests.ledger.stream.block.wrapped import NUMBER, contents, item, transactions, wrap
from tests.signing import signing_nodes

NODE = signing_nodes(1)[0]
ONE_THIRD = Fraction(1, 3)


def quorum(ledger: ThresholdSigner | None = LEDGER) -> Quorum:
    nodes, mode = [NODE.address_book_node], ConsensusMode.STAKE_IN_ADDRESS_BOOK
    return Quorum.from_address_book(nodes, {}, mode, ONE_THIRD, ledger.identity if ledger else None)


def read(block: BlockFile) -> RecordFile:
    return read_block_file(block.name, block.data)


def proved_by(block: BlockFile, *kinds: str, signer: ThresholdSigner = LEDGER) -> BlockFile:
    """The block with proofs of these kinds: `ledger`, `nodes`, `wrong`."""
    unproved = [each for each in Block.FromString(block.content).items if not each.HasField("block_proof")]
    root = read_items("composed", block.content).root_hash()
    file_hash = bytes.fromhex(read(block).file_hash)
    proofs: dict[str, dict[str, Any]] = {
        "ledger": {"signed_block_proof": {"block_signature": signer.sign(root)}},
        "nodes": {"signed_record_file_proof": {"version": 2, "record_file_signatures": [rsa(file_hash)]}},
        "wrong": {"signed_record_file_proof": {"version": 2, "record_file_signatures": [rsa(root)]}},
    }
    first, *others = ({"block": block.number, **proofs[kind]} for kind in kinds)
    composed = of_items(block.number, unproved, proof=first)
    content = (
        composed.content + Block(items=[BlockItem(block_proof=each) for each in others]).SerializeToString()
    )
    return BlockFile(f"{block.number:019}.blk", block.number, content, content, root)


def rsa(digest: bytes) -> dict[str, object]:
    return {"node_id": 0, "signatures_bytes": NODE.sign(digest)}


def verified(block: BlockFile, ledger: ThresholdSigner | None = LEDGER) -> tuple[tuple[int, ...], bool]:
    """The nodes that signed the record file, and whether the ledger signed the block."""
    fetched = FetchedBlock(block.name, block.number, read(block), "test")
    signed = fetched.verify(lambda at: quorum(ledger), sidecars=True)
    return signed.signed_by, signed.proved


@pytest.fixture(scope="module")
def unsigned() -> BlockFile:
    return wrap(2, contents(2, transactions()))


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (("ledger",), ((), True)),
        (("nodes",), ((0,), False)),
        (("ledger", "nodes"), ((0,), True)),
        (("nodes", "ledger"), ((0,), True)),
    ],
)
def test_a_wrapped_block_is_signed_by_the_ledger_or_its_file_by_nodes_or_both(unsigned, kinds, expected):
    assert verified(proved_by(unsigned, *kinds)) == expected


def test_of_two_kinds_of_signatures_both_have_to_hold(unsigned):
    with pytest.raises(NoQuorum, match="signed by 0 of 1 nodes"):
        verified(proved_by(unsigned, "ledger", "wrong"))
    with pytest.raises(StreamFileError, match="its threshold signature is refused"):
        verified(proved_by(unsigned, "nodes", "ledger", signer=OTHERS))


def test_before_a_ledger_is_published_the_signatures_of_nodes_do(unsigned):
    assert verified(proved_by(unsigned, "nodes", "ledger"), None) == ((0,), False)
    with pytest.raises(StreamFileError, match="no ledger id of the network is known"):
        verified(proved_by(unsigned, "ledger"), None)


def test_a_proof_of_another_block_is_refused(unsigned):
    content = proved_by(unsigned, "ledger").content
    other = BlockItem(block_proof={"block": 9, "signed_record_file_proof": {"version": 2}})

    with pytest.raises(StreamFileError, match="one of its proofs says that it is block 9"):
        name = f"{NUMBER:019}.blk"
        read_block_file(name, content + Block(items=[other]).SerializeToString())


@pytest.mark.parametrize("version", [2, 5, 6])
def test_without_signatures_of_the_file_its_format_shows_by_itself(version):
    file = contents(min(version, 5), transactions())
    file.hapi_proto_version.minor = {2: 3, 5: 12, 6: 27}[version]
    if version == 2:
        file = contents(2, transactions())

    read_again = read(proved_by(wrap(version, file), "ledger"))

    assert read_again.version == version
    assert read_again.file_hash == read(wrap(version, file)).file_hash


def test_the_signature_of_the_block_covers_amendments():
    given = transactions(2)
    block = wrap(6, contents(5, given), amendments=[item(given[0])])

    assert verified(proved_by(block, "ledger")) == ((), True)


def test_sidecars_are_found_by_their_ids():
    sidecars = [SidecarFile(), SidecarFile(sidecar_records=[{"migration": True}])]
    metadata = [
        {"id": number, "hash": {"algorithm": 1, "length": 48, "hash": sha384(each.SerializeToString())}}
        for number, each in enumerate(sidecars, start=1)
    ]
    file = contents(5, transactions(), sidecars=reversed(metadata))

    found = read(wrap(6, file, sidecars=sidecars)).sidecar_files

    assert {number: len(sidecar.records) for number, sidecar in found.items()} == {1: 0, 2: 1}
    file.sidecars[0].id = 3
    with pytest.raises(StreamFileError, match=r"its sidecars have the ids \[3, 1\]"):
        read(wrap(6, file, sidecars=sidecars))


def test_a_file_is_named_after_a_transaction_as_no_signature_covers_the_creation_time(unsigned):
    block = Block.FromString(unsigned.content)
    name = read(unsigned).name
    block.items[1].record_file.creation_time.nanos ^= 1 << 20

    assert read(of_items(NUMBER, block.items[:-1], proof=block.items[-1].block_proof)).name == name


def test_a_transaction_of_an_impossible_time_is_refused(unsigned):
    block = Block.FromString(unsigned.content)
    block.items[1].record_file.creation_time.nanos += 1
    for each in block.items[1].record_file.record_file_contents.record_stream_items:
        each.record.consensusTimestamp.seconds = -1

    with pytest.raises(StreamFileError, match="the time of a transaction in it is impossible") as refused:
        read(of_items(NUMBER, block.items[:-1], proof=block.items[-1].block_proof))
    assert refused.value.file == f"{NUMBER:019}.blk.zstd"


@pytest.mark.parametrize("place", [1, 2])
@pytest.mark.parametrize(
    "item",
    [{"round_header": {"round_number": 1}}, {"signed_transaction": b""}, {"record_file": {}}],
    ids=["a round", "a transaction", "another record file"],
)
def test_a_block_around_a_record_file_holds_nothing_else(unsigned, item, place):
    block = Block.FromString(unsigned.content)
    items = list(block.items)
    items.insert(place, BlockItem(**item))

    with pytest.raises(StreamFileError, match="a block that wraps a record file holds nothing else"):
        read(of_items(NUMBER, items[:-1], proof=items[-1].block_proof))


def test_a_wrapped_block_may_be_proved_by_the_signature_of_a_later_one(unsigned):
    stream = BlockStream(first_block=NUMBER + 1)
    stream.hash = unsigned.hash
    later = [stream.block() for _ in range(2)]

    assert verified(proved_by_later(unsigned, later, LEDGER)) == ((), True)
    with pytest.raises(StreamFileError, match="its threshold signature is refused"):
        verified(proved_by_later(unsigned, later, OTHERS))
