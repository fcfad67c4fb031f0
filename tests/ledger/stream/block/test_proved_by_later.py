"""Blocks that are proved by the signature of a later one, over none, one or several blocks between."""

import pytest

from ledger.stream.block.block_file import read_block_file, verify
from ledger.stream.block.block_items import read_items
from ledger.stream.errors import StreamFileError
from tests.ledger.stream.block.blocks import BlockFile, BlockStream
from tests.ledger.stream.block.ledgers import LEDGER, OTHERS
from tests.ledger.stream.block.state_proofs import proved_by_later, way_through

MOST = 6


@pytest.fixture(scope="module")
def blocks() -> list[BlockFile]:
    stream = BlockStream()
    made = []
    for number in range(MOST + 1):
        for _ in range(number):
            stream.happen("cryptoTransfer")
        made.append(stream.block())
    return made


@pytest.mark.parametrize("between", [0, 1, 2, 5])
def test_a_block_is_proved_by_the_signature_of_a_later_one(blocks, between):
    later = blocks[1 : between + 2]
    block = proved_by_later(blocks[0], later, LEDGER)

    file = read_block_file(block.name, block.data)

    verify(file, LEDGER.identity)
    assert file.hash == blocks[0].hash.hex()
    assert file.block_signature
    assert file.block_signature.root == later[-1].hash


def refused(block: BlockFile) -> str:
    with pytest.raises(StreamFileError) as error:
        verify(read_block_file(block.name, block.data), LEDGER.identity)
    return error.value.cause


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda way: [way[0], way[3]], "has 2 hashes, which is no way to a block"),
        (lambda way: way[:4], "its threshold signature is refused"),
        (lambda way: way[:-1], "its threshold signature is refused"),
        (lambda way: [*way, way[0]], "its threshold signature is refused"),
        (lambda way: way[5:], "its threshold signature is refused"),
        (lambda way: [way[1], way[0], *way[2:]], "its threshold signature is refused"),
        (lambda way: [*way[:3], *way[4:]], "its threshold signature is refused"),
        (lambda way: [each for each in way if each["hash"]], "is of the form before July 2026"),
        (lambda way: [*way[:4], way[4] | {"is_left": False}, *way[5:]], "its threshold signature is refused"),
        (lambda way: [way[0] | {"hash": b"short"}, *way[1:]], "a hash of its proof has 5 bytes"),
    ],
)
def test_another_way_leads_to_no_signed_block(blocks, change, cause):
    way = way_through([read_items("later", each.content) for each in blocks[1:3]])

    assert cause in refused(proved_by_later(blocks[0], blocks[1:3], LEDGER, way=change(way)))


def test_the_older_form_which_begins_at_the_block_before_is_refused(blocks):
    # It has groups of three hashes and a time, and takes the single step for granted.
    groups = way_through([read_items("later", each.content) for each in blocks[1:3]])
    way = [sibling for sibling in groups if sibling["hash"]]

    block = proved_by_later(blocks[1], blocks[2:3], LEDGER, way=way, start=blocks[0].hash)

    assert "is of the form before July 2026, which is not read" in refused(block)


def test_a_proof_of_another_network_is_refused(blocks):
    other = OTHERS

    assert "its threshold signature is refused" in refused(proved_by_later(blocks[0], blocks[1:3], other))
