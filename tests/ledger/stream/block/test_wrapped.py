"""Blocks that wrap record files: the file is rebuilt to the byte, in every format."""

from fractions import Fraction

import pytest

from ledger.stream.block.block_file import read_block_file
from ledger.stream.block.wrapped import verify
from ledger.stream.errors import StreamFileError
from ledger.stream.record_file import RecordFile
from ledger.stream.record_formats import read_record_file
from ledger.stream.signature.address_book import AddressBookNode
from ledger.stream.signature.quorum import ConsensusMode, NoQuorum, Quorum
from mirror.core.values.hapi.messages import Block, ContractBytecode, SidecarFile, TransactionSidecarRecord
from mirror.core.values.hashes import sha384
from tests.ledger.stream.block.blocks import BlockFile, of_items
from tests.ledger.stream.block.wrapped import (
    NAME,
    NUMBER,
    PREVIOUS,
    contents,
    item,
    transactions,
    wrap,
    written,
)
from tests.signing import signing_nodes

ONE_THIRD = Fraction(1, 3)
NODES = signing_nodes(3)


def proof(version, number):
    return {"block": number, "signed_record_file_proof": {"version": version}}


def read(block: BlockFile):
    return read_block_file(block.name, block.data)


@pytest.mark.parametrize("version", [2, 5])
def test_an_older_file_is_rebuilt_to_the_byte(version):
    given = transactions()
    alone = read_record_file(NAME, written(version, given))

    wrapped = read(wrap(version, contents(version, given), previous=b"p" * 48))

    assert (wrapped.name, wrapped.version, wrapped.block_number) == (alone.name, version, NUMBER)
    assert (wrapped.file_hash, wrapped.hash, wrapped.previous_hash) == (
        alone.file_hash,
        alone.hash,
        PREVIOUS.hex(),
    )
    assert wrapped.metadata_hash == alone.metadata_hash
    assert [item.record for item in wrapped.items] == [item.record for item in alone.items]
    assert wrapped.previous_wrapper_hash == (b"p" * 48).hex()


def test_a_file_of_format_6_is_taken_with_its_sidecars():
    sidecar = SidecarFile(
        sidecar_records=[TransactionSidecarRecord(bytecode=ContractBytecode(runtime_bytecode=b"code"))]
    )
    metadata = {
        "id": 1,
        "hash": {"algorithm": 1, "length": 48, "hash": sha384(sidecar.SerializeToString())},
        "types": [3],
    }
    file = contents(5, transactions(), sidecars=[metadata])
    block = wrap(6, file, sidecars=[sidecar])

    wrapped = read(block)

    assert wrapped.file_hash == sha384(b"\0\0\0\6" + file.SerializeToString()).hex()
    assert wrapped.previous_wrapper_hash is None
    assert [found.records[0][1].bytecode.runtime_bytecode for found in wrapped.sidecar_files.values()] == [
        b"code"
    ]
    with pytest.raises(StreamFileError, match="its hash is"):
        read(wrap(6, file, sidecars=[SidecarFile()]))
    with pytest.raises(StreamFileError, match="holds 0 sidecars, but its record file names 1"):
        read(wrap(6, file))


@pytest.mark.parametrize("version", [2, 5])
def test_amendments_replace_and_add_and_count_in_the_hash(version):
    given = transactions(4)
    amended = given[:3]
    replaced, added = given[1], given[2]
    original = contents(version, amended)
    original.record_stream_items[1].record.memo = "wrong"
    del original.record_stream_items[2]

    wrapped = read(wrap(version, original, amendments=[item(added), item(replaced)]))

    alone = read_record_file(NAME, written(version, amended))
    assert (wrapped.file_hash, wrapped.hash) == (alone.file_hash, alone.hash)
    assert [item.record for item in wrapped.items] == [each.record for each in amended]


def test_amendments_do_not_count_in_the_hash_of_format_6():
    given = transactions(2)
    file = contents(5, given)
    amended = item(given[1])
    amended["record"] = type(given[1].record).FromString(given[1].record_bytes)
    amended["record"].memo = "amended"

    wrapped = read(wrap(6, file, amendments=[amended]))

    assert wrapped.file_hash == sha384(b"\0\0\0\6" + file.SerializeToString()).hex()
    assert [item.record.memo for item in wrapped.items] == [given[0].record.memo, "amended"]
    assert wrapped.hash == read(wrap(6, file)).hash


def signers(file: RecordFile, quorum: Quorum) -> tuple[int, ...]:
    assert file.wrapper
    return verify(file, file.wrapper, quorum)


def test_amendments_that_no_signature_covers_are_refused():
    given = transactions(2)
    nodes = Quorum.from_address_book(
        [NODES[0].address_book_node], {}, ConsensusMode.STAKE_IN_ADDRESS_BOOK, ONE_THIRD
    )
    file_hash = bytes.fromhex(read(wrap(6, contents(5, given))).file_hash)
    signatures = [{"node_id": 0, "signatures_bytes": NODES[0].sign(file_hash)}]

    assert signers(read(wrap(6, contents(5, given), signatures=signatures)), nodes) == (0,)
    amended = read(wrap(6, contents(5, given), signatures=signatures, amendments=[item(given[0])]))
    with pytest.raises(StreamFileError, match="1 of its transactions were amended in block 5"):
        signers(amended, nodes)


def test_a_quorum_of_nodes_has_to_have_signed_the_file():
    given = transactions()
    file_hash = bytes.fromhex(read(wrap(2, contents(2, given))).file_hash)
    signatures = [{"node_id": node.node_id, "signatures_bytes": node.sign(file_hash)} for node in NODES[:2]]
    signatures.append({"node_id": 2, "signatures_bytes": NODES[0].sign(file_hash)})
    signatures.append({"node_id": 9, "signatures_bytes": NODES[0].sign(file_hash)})
    wrapped = read(wrap(2, contents(2, given), signatures=signatures))
    nodes: list[AddressBookNode] = [node.address_book_node for node in NODES]

    def quorum(stakes):
        return Quorum.from_address_book(nodes, stakes, ConsensusMode.STAKE_IN_ADDRESS_BOOK, ONE_THIRD)

    assert signers(wrapped, quorum({})) == (0, 1)
    with pytest.raises(NoQuorum, match="node 2: a signature that is not by its key") as caught:
        signers(wrapped, quorum({0: 1, 1: 1, 2: 100}))
    assert (caught.value.signed, caught.value.stake) == ((0, 1), 2)
    assert caught.value.others[9] == "not in the address book"


@pytest.mark.parametrize(
    ("change", "options", "cause"),
    [
        (lambda file: setattr(file, "block_number", 9), {}, "says that it is block 9"),
        (
            lambda file: setattr(file.end_object_running_hash, "hash", b"e" * 48),
            {},
            "end hash of the record file",
        ),
        (
            lambda file: setattr(file.start_object_running_hash, "hash", b"s"),
            {},
            "start hash of the record file",
        ),
        (lambda file: None, {"version": 1}, "format 1 in a block is unknown; known are 2, 5, 6"),
        (lambda file: None, {"proof": 4}, "its proof says that it is block 4"),
    ],
)
def test_a_block_that_contradicts_its_record_file_is_refused(change, options, cause):
    file = contents(2, transactions())
    change(file)
    version = options.get("version", 2)

    with pytest.raises(StreamFileError, match=cause):
        read(wrap(version, file, proof=proof(version, options.get("proof", NUMBER))))


def test_a_wrapping_block_needs_the_signatures_of_its_file():
    block = wrap(2, contents(2, transactions()))
    items = Block.FromString(block.content).items

    with pytest.raises(StreamFileError, match="holds no signatures of the record file"):
        read(of_items(NUMBER, items[:-1], proof={"block": NUMBER}))


def test_a_creation_time_that_cannot_be_is_refused():
    block = wrap(2, contents(2, transactions()))
    items = Block.FromString(block.content).items
    for time in ({"seconds": 1 << 60}, {"nanos": -1}, {"seconds": -5}):
        items[1].record_file.ClearField("creation_time")
        items[1].record_file.creation_time.MergeFrom(type(items[1].record_file.creation_time)(**time))
        with pytest.raises(StreamFileError, match="creation time is impossible"):
            read(of_items(NUMBER, items[:-1], proof=items[-1].block_proof))
