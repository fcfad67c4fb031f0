"""Recorded blocks of real networks: every known fact about them holds."""

import gzip
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings, strategies

from ledger.stream.block.block_file import read_block_file
from ledger.stream.block.wrapped import verify
from ledger.stream.block_names import parse
from ledger.stream.errors import StreamFileError
from ledger.stream.record_file import read_sidecar_file
from ledger.stream.record_formats import read_record_file
from ledger.stream.signature.address_book import read_address_book
from ledger.stream.signature.quorum import ConsensusMode, NoQuorum, Quorum
from ledger.stream.source.stream_blocks import blocks_below
from mirror.core.values import log_bloom
from mirror.core.values.entity_id import from_contract, long_zero
from mirror.core.values.hapi.messages import Block
from tests.ledger.stream.fixtures import ROOT, facts, needs_fixtures

pytestmark = needs_fixtures

native = pytest.mark.parametrize("fact", facts("blocks"))
wrapped = pytest.mark.parametrize("fact", facts("wrapped_blocks"))
every_block = pytest.mark.parametrize("fact", [*facts("blocks"), *facts("wrapped_blocks")])


def read(fact: dict[str, Any]):
    return read_block_file(fact["name"], (ROOT / fact["name"]).read_bytes())


def version_text(version):
    return ".".join(map(str, version))


def extracted(fact):
    """The stand-alone copy of a wrapped record file, its fact and its sidecars' path; None if not kept."""
    found = read(fact)
    for parameter in facts("records"):
        (record,) = parameter.values
        if record["file_hash"] == found.file_hash:
            (path, *_) = (ROOT / record["group"]).rglob(record["name"])
            return record, path
    return None


@native
def test_the_block_is_what_the_network_published(fact):
    block = read(fact)

    assert {
        "size": block.size,
        "number": block.block_number,
        "hapi": version_text(block.hapi_version),
        "count": block.count,
        "round_start": block.round_start,
        "round_end": block.round_end,
        "transaction_types": Counter(item.body.WhichOneof("data") for item in block.items),
        "hash": block.hash,
        "prev_hash": block.previous_hash,
    } == {
        key: fact[key]
        for key in (
            *("size", "number", "hapi", "count", "round_start", "round_end", "transaction_types", "hash"),
            "prev_hash",
        )
    }
    # A block without transactions has the time of the block itself.
    assert block.consensus_start == fact["consensus_start"] or (not block.count and block.consensus_start)
    assert block.consensus_end == (fact["consensus_end"] or fact["block_timestamp"])
    assert (block.version, block.file_hash, block.metadata_hash) == (7, "", None)


@native
def test_its_items_are_transactions_in_their_order(fact):
    block = read(fact)

    assert [item.index for item in block.items] == list(range(fact["count"]))
    times = [item.consensus_timestamp for item in block.items]
    assert times == sorted(set(times))
    assert all(len(item.record.transactionHash) == 48 for item in block.items)


@every_block
def test_the_block_is_found_by_its_name_wherever_it_lies(fact):
    path = ROOT / fact["name"]

    assert parse(fact["name"]).number == fact["number"]
    assert path in [block.path for block in blocks_below(ROOT)]


@native
def test_created_entities_come_from_output_or_state(fact):
    receipts = [item.record.receipt for item in read(fact).items]
    created = {
        "cryptoCreateAccount": [receipt for receipt in receipts if receipt.HasField("accountID")],
        "fileCreate": [receipt for receipt in receipts if receipt.HasField("fileID")],
    }
    for kind, found in created.items():
        expected = fact["transaction_types"].get(kind, 0)
        assert len(found) == expected
        numbers = {str(receipt) for receipt in found}
        assert len(numbers) == expected


@every_block
def test_the_number_in_the_name_counts(fact):
    data = (ROOT / fact["name"]).read_bytes()
    extension = fact["name"].partition(".blk")[2]

    with pytest.raises(StreamFileError, match=f"says that it is block {fact['number']}"):
        read_block_file(f"{fact['number'] + 1:019}.blk{extension}", data)


@native
def test_it_goes_on_where_the_block_before_ended(fact):
    generation = fact["hash_algorithm_generation"]
    for (other,) in (each.values for each in facts("blocks")):
        if (other["number"] + 1, other["hash_algorithm_generation"]) == (fact["number"], generation):
            assert read(fact).previous_hash == read(other).hash


@wrapped
def test_a_wrapped_block_has_its_place_in_the_chain_of_blocks(fact):
    file = read(fact)

    assert (file.wrapper.number, file.wrapper.hash) == (fact["number"], fact["hash"])
    assert file.previous_wrapper_hash in (None, fact["prev_hash"])


@wrapped
def test_the_record_file_in_a_block_is_the_stand_alone_one(fact):
    found = extracted(fact)
    if found is None:
        pytest.skip("the record file of this block is not kept apart")
    record, path = found
    block = read(fact)
    alone = read_record_file(path.name, path.read_bytes())

    assert block.block_number == fact["number"]
    for name in (
        *("version", "hapi_version", "hash", "previous_hash", "file_hash", "metadata_hash", "count"),
        *("consensus_start", "consensus_end"),
    ):
        assert getattr(block, name) == getattr(alone, name), name
    assert block.name == alone.name.removesuffix(".gz")
    assert [(item.transaction_bytes, item.record_bytes) for item in block.items] == [
        (item.transaction_bytes, item.record_bytes) for item in alone.items
    ]
    for metadata in block.sidecars:
        beside = path.parent / "sidecar" / f"{metadata.name}.gz"
        expected = read_sidecar_file(beside.name, beside.read_bytes(), metadata.hash)
        assert block.sidecar_files[metadata.id].records == expected.records


def signers(file, book):
    nodes = read_address_book(book, (ROOT / book).read_bytes())
    one_node = Quorum.from_address_book(nodes, {}, ConsensusMode.EQUAL, Fraction(0))
    try:
        return verify(file, file.wrapper, one_node)
    except NoQuorum:
        return ()


@wrapped
def test_nodes_signed_the_file_in_the_block(fact):
    found = extracted(fact)
    if found is None:
        pytest.skip("the record file of this block is not kept apart")
    for book, nodes in found[0].get("verified_by", {}).items():
        assert list(signers(read(fact), book)) == nodes


@wrapped
def test_every_block_that_wraps_a_file_is_signed_by_known_nodes(fact):
    names = [each["name"] for (each,) in (parameter.values for parameter in facts("address_books"))]
    books = [name for name in names if "mainnet" in name]
    if not books:
        pytest.skip("no address book of mainnet is among the recorded files")

    assert any(signers(read(fact), book) for book in books)


def test_blooms_of_logs_are_those_the_network_computed():
    compared = 0
    for (fact,) in (each.values for each in facts("wrapped_blocks")):
        for item in read(fact).items:
            result = item.function_result
            for log in result.logInfo if result is not None else ():
                address = long_zero(from_contract(log.contractID))
                assert log_bloom.create_bloom(address, log.topic) == log.bloom
                compared += 1
            if result is not None and result.logInfo:
                assert log_bloom.union(log.bloom for log in result.logInfo) == result.bloom
    assert compared or not facts("wrapped_blocks")


@every_block
@settings(max_examples=100)
@given(data=strategies.data())
def test_one_flipped_bit_of_the_file_is_always_refused(fact, data):
    stored = bytearray((ROOT / fact["name"]).read_bytes())
    bit = data.draw(strategies.integers(0, 8 * len(stored) - 1))
    stored[bit // 8] ^= 1 << bit % 8

    try:
        changed = read_block_file(fact["name"], bytes(stored))
    except StreamFileError:
        return
    # Some bits mean nothing to the content: a gzip header's time and system, the unused one of a zstd frame.
    assert (changed.wrapper or changed).hash == fact["hash"]


@native
def test_one_changed_item_changes_the_hash(fact):
    data = (ROOT / fact["name"]).read_bytes()
    if not fact["name"].endswith(".gz"):
        return
    block = Block.FromString(gzip.decompress(data))
    block.items[1].round_header.round_number += 1

    changed = read_block_file(fact["name"], gzip.compress(block.SerializeToString()))

    assert changed.hash != fact["hash"]
