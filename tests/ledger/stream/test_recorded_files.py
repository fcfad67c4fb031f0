"""Recorded files of real networks: every known fact about them holds."""

import json
from collections import Counter

import pytest

from ledger.stream.binary_format import running_hash
from ledger.stream.record_file import read_sidecar_file
from ledger.stream.record_formats import read_record_file
from ledger.stream.record_names import sidecar_name
from ledger.stream.signature.address_book import read_address_book
from ledger.stream.signature.signature_file import read_signature_file, verify
from mirror.core.values.hapi import result_codes
from mirror.core.values.hashes import sha384
from tests.ledger.stream.fixtures import ROOT, facts, files, needs_fixtures, node_id

pytestmark = needs_fixtures

records = pytest.mark.parametrize("fact", facts("records"))


def transaction_kind(item):
    return item.body.WhichOneof("data")


def public_keys(name):
    return {node.node_id: node.public_key for node in read_address_book(name, (ROOT / name).read_bytes())}


@records
def test_the_block_is_what_the_network_published(fact):
    path = files(fact, fact["name"])[0]

    read = read_record_file(str(path), path.read_bytes())

    assert {
        "name": read.name,
        "version": read.version,
        "size": read.size,
        "count": read.count,
        "consensus_start": read.consensus_start,
        "consensus_end": read.consensus_end,
        "hapi": None if read.hapi_version is None else list(read.hapi_version),
        "prev_hash": read.previous_hash,
        "hash": read.hash,
        "file_hash": read.file_hash,
        "metadata_hash": read.metadata_hash,
        "block_number": read.block_number,
    } == {key: fact.get(key) for key in (
        "name", "version", "size", "count", "consensus_start", "consensus_end", "hapi", "prev_hash", "hash",
        "file_hash", "metadata_hash", "block_number",
    )}  # fmt: skip


@records
def test_the_copies_of_all_nodes_hold_the_same_content(fact):
    read = [read_record_file(path.name, path.read_bytes()) for path in files(fact, fact["name"])]

    assert {file.file_hash for file in read} == {fact["file_hash"]}
    if fact["data_nodes"]:
        assert sorted(node_id(path) for path in files(fact, fact["name"])) == fact["data_nodes"]


@records
def test_its_items_are_those_the_network_counted(fact):
    path = files(fact, fact["name"])[0]

    read = read_record_file(path.name, path.read_bytes())

    assert Counter(transaction_kind(item) for item in read.items) == fact["transaction_types"]
    assert Counter(result_codes.name(item.result) for item in read.items) == fact["statuses"]
    transfers = [item.record.transferList.accountAmounts for item in read.items]
    assert sum(map(len, transfers)) == fact["record_crypto_transfers"]
    totals = read.block_totals()
    assert totals.gas_used == fact["gas_used"]
    assert totals.logs_bloom.hex() == fact["logs_bloom"]
    assert [item.index for item in read.items] == list(range(fact["count"]))
    times = [item.consensus_timestamp for item in read.items]
    assert times == sorted(set(times))


@records
def test_transaction_hashes_and_the_running_hash_follow_from_the_bytes(fact):
    path = files(fact, fact["name"])[0]
    read = read_record_file(path.name, path.read_bytes())
    running = bytes.fromhex(read.previous_hash)

    for item in read.items:
        signed = item.transaction.signedTransactionBytes or item.transaction_bytes
        assert item.record.transactionHash in (sha384(signed), sha384(item.transaction_bytes))
        running = running_hash(running, item.record_bytes, item.transaction_bytes)

    if read.version >= 5:
        assert running.hex() == read.hash


@records
def test_its_sidecars_hold_what_the_record_file_announces(fact):
    path = files(fact, fact["name"])[0]
    read = read_record_file(path.name, path.read_bytes())

    assert len(read.sidecars) == len(fact["sidecars"])
    for metadata, expected in zip(read.sidecars, fact["sidecars"], strict=True):
        assert metadata.id == expected["id"]
        assert metadata.name == expected["name"] == sidecar_name(read.name, metadata.id)
        assert metadata.hash.hex() == expected["hash"]
        assert list(metadata.types) == expected["types"]
        for copy in files(fact, metadata.name):
            sidecar = read_sidecar_file(copy.name, copy.read_bytes(), metadata.hash)
            contents = [record for _, record in sidecar.records]
            assert len(contents) == expected["records"]
            assert Counter(record.WhichOneof("sidecar_records") for record in contents) == expected["kinds"]
            assert (
                sum(len(record.actions.contract_actions) for record in contents)
                == expected["contract_actions"]
            )
            assert {at for at, _ in sidecar.records} <= {item.consensus_timestamp for item in read.items}
        assert expected["size"] in {copy.stat().st_size for copy in files(fact, metadata.name)}


@records
def test_every_signature_of_a_node_verifies_with_its_key(fact):
    signatures = files(fact, fact["name"].removesuffix(".gz") + "_sig")
    keys = [public_keys(book) for book in fact["address_book"]]

    for path in signatures:
        signature = read_signature_file(path.name, path.read_bytes())
        assert signature.data_name == fact["name"]
        assert signature.version in fact["signature_version"]
        assert signature.file_hash.hex() == fact["file_hash"]
        if signature.version >= 5:
            assert signature.metadata_hash is not None
            assert signature.metadata_hash.hex() == fact["metadata_hash"]
        assert any(signature.is_signed_by(book[node_id(path)]) for book in keys)

    if fact["signature_version"]:
        assert sorted(map(node_id, signatures)) == fact["signature_nodes"]


@records
def test_signatures_kept_beside_an_extracted_file_verify(fact):
    beside = ROOT / fact["group"] / (fact["name"].partition(".rcd")[0] + ".signatures.json")
    if not beside.is_file():
        return
    stored = json.loads(beside.read_text())
    file_hash = bytes.fromhex(fact["file_hash"])

    for book, nodes in fact["verified_by"].items():
        keys = public_keys(book)
        verified = [
            signature["nodeId"]
            for signature in stored["signatures"]
            if signature["nodeId"] in keys
            and verify(keys[signature["nodeId"]], file_hash, bytes.fromhex(signature["signature"]))
        ]
        assert sorted(verified) == nodes


@pytest.mark.parametrize("fact", facts("signatures"))
def test_a_signature_file_without_its_data_verifies(fact):
    path = ROOT / fact["name"]

    signature = read_signature_file(path.name, path.read_bytes())

    assert path.stat().st_size == fact["size"]
    assert signature.version == fact["version"]
    assert signature.file_hash.hex() == fact["file_hash"]
    assert (signature.metadata_hash.hex() if signature.metadata_hash else None) == fact["metadata_hash"]
    assert signature.is_signed_by(public_keys(fact["address_book"])[fact["node"]])


@pytest.mark.parametrize("fact", facts("address_books"))
def test_an_address_book_names_its_nodes_and_their_keys(fact):
    keys = public_keys(fact["name"])

    assert sorted(keys) == fact["node_ids"]
    assert all(bytes.fromhex(key) for key in keys.values())
