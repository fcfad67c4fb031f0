"""Proofs of transactions in record files: what they show, and that nothing else passes for one."""

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from ledger.portable_proofs.strict_json import NotProved
from ledger.portable_proofs.verdict import Expected, Transaction, Trusted, Verdict
from ledger.portable_proofs.verification import verify
from ledger.stream import record_names
from ledger.stream.content import content_of
from ledger.stream.record_formats import read_record_file
from mirror.core.values import timestamp
from mirror.core.values.hapi.messages import SignedTransaction
from mirror.core.values.hapi.messages import Transaction as TransactionMessage
from mirror.demo.streams.keys import nodes
from mirror.demo.streams.signing import address_book
from tests.ledger.portable_proofs.block_proofs import NODES, block_of
from tests.ledger.portable_proofs.block_proofs import proof_of as proof_of_block
from tests.ledger.portable_proofs.changes import flipped, values_of
from tests.ledger.portable_proofs.record_proofs import document_of, proof_of
from tests.ledger.state_proofs.files import BOOK, PAYER, VERSIONS, Published, published, signatures
from tests.ledger.stream import record_formats
from tests.ledger.stream.fixtures import ROOT, needs_fixtures, node_id

KNOWN = Trusted(book=BOOK)
COMPACT = (5, 6)


@pytest.fixture(scope="module", params=VERSIONS, ids=lambda version: f"format {version}")
def file(request: pytest.FixtureRequest) -> Published:
    return published(request.param)


def verdict(document: dict[str, Any], trusted: Trusted = KNOWN, expected: Expected | None = None) -> Verdict:
    return verify(json.dumps(document).encode(), trusted, expected)


def test_a_proof_of_every_format_says_what_happened_and_who_has_signed(file: Published):
    proved = verdict(proof_of(file))

    assert proved.transaction.consensus_timestamp == file.proved.consensus_timestamp
    assert proved.transaction.transaction_id.startswith(f"0.0.{PAYER}-")
    assert (proved.transaction.type, proved.transaction.result) == ("CRYPTOTRANSFER", "SUCCESS")
    assert (proved.hash, proved.number) == (file.record.hash, file.record.block_number)
    assert (proved.signed, proved.total, proved.rests_on) == (len(nodes()), len(nodes()), [])


@pytest.mark.parametrize("version", COMPACT)
def test_a_whole_file_is_as_good_as_a_compact_one(version: int):
    file = published(version)

    assert verdict(proof_of(file, whole=True)) == verdict(proof_of(file))


def test_more_than_a_third_of_the_nodes_has_to_sign(file: Published):
    needed = len(nodes()) // 3 + 1

    assert verdict(proof_of(file, signers=needed)).signed == needed
    with pytest.raises(NotProved, match="The signatures: no consensus: signed by"):
        verdict(proof_of(file, signers=needed - 1))


def test_no_bit_of_a_document_can_be_changed(file: Published):
    choose = random.Random("bits")
    document = proof_of(file)
    del document["address_books"]
    document["address_books"] = []
    values = list(values_of(document))

    for _ in range(100):
        with pytest.raises(NotProved):
            verdict(flipped(document, choose.choice(values), choose))


def test_the_address_book_in_the_document_is_told_to_be_nothing_known(file: Published):
    assert (
        "the address book in the document itself, SHA-256 " in verdict(proof_of(file), Trusted()).rests_on[0]
    )


def test_the_keys_of_other_nodes_prove_nothing(file: Published):
    of_nodes = [node.address_book_node for node in nodes()]
    strangers = address_book(
        node._replace(public_key=other.public_key)
        for node, other in zip(of_nodes, of_nodes[1:] + of_nodes[:1], strict=True)
    )

    with pytest.raises(NotProved, match="no consensus"):
        verdict(proof_of(file), Trusted(book=strangers))


def test_of_a_whole_file_the_transaction_has_to_be_named():
    file = published(2)
    document = proof_of(file)
    at = document.pop("consensus_timestamp")
    del document["transaction_id"]

    with pytest.raises(NotProved, match="the record file has 3; name one of them by --id"):
        verdict(document)
    assert timestamp.text(verdict(document, expected=Expected(at)).transaction.consensus_timestamp) == at
    with pytest.raises(NotProved, match="the record file has none of 5"):
        verdict(document, expected=Expected("5"))


@pytest.mark.parametrize("version", COMPACT)
def test_the_hashes_of_other_transactions_have_to_be_all_there(version: int):
    document = proof_of(published(version))
    document["record_file"]["hashes_after"].pop()

    with pytest.raises(NotProved, match="The running hashes: .* do not lead from the first to the last"):
        verdict(document)


def test_a_proof_is_refused_where_another_transaction_is_expected(file: Published):
    block, times = block_of()

    with pytest.raises(NotProved, match="none of 0.0.5-1-000000000|is one of 0.0.1001"):
        verdict(proof_of(file), expected=Expected("0.0.5-1-000000000"))
    with pytest.raises(NotProved, match="the proof is one of 0.0.1001-"):
        verdict(
            proof_of_block(block, times[0]), Trusted(ledger=NODES.identity), Expected("0.0.5-1-000000000")
        )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "it is no JSON"),
        (b"[" * 100_000, "it is nested more deeply than a proof"),
        (('{"version": ' + "[" * 100_000).encode("utf-16"), "it is no JSON in UTF-8"),
        (b'"' + b'\\"' * 300_000, "it is no JSON"),
        (b'{"version": 6, "\\u001b[2K\\rProved": 1, "address_books": {}}', "address_books is no list"),
        (b"[]", "it is no JSON object"),
        (b"{}", "its version is no whole number"),
        (b'{"version": 3}', "record files of version 3 are unknown"),
        (b'{"version": 8}', "its version is not 7"),
        (b'{"version": 6, "version": 6}', "a member of an object is there twice"),
        (
            b'{"version": 6, "address_books": [], "signature_files": {}, "record_file": "AAAABg=="}',
            "its record file can't be read",
        ),
    ],
)  # fmt: skip
def test_what_is_no_proof_is_refused_in_words(data: bytes, reason: str):
    with pytest.raises(NotProved, match=f"The form of the document: .*{reason}"):
        verify(data, Trusted())


def test_what_a_reader_knows_of_blocks_does_not_prove_record_files(file: Published):
    for known in (
        Trusted(ledger=NODES.identity),
        Trusted(ledger_id=NODES.identity.ledger_id),
        Trusted(stakes={0: 1}),
    ):
        with pytest.raises(NotProved, match="The address book: .*: name an address book by --address-book"):
            verdict(proof_of(file), known)
    assert verdict(proof_of(file), Trusted(book=BOOK, ledger=NODES.identity)).rests_on == []


def test_what_a_reader_knows_of_record_files_does_not_prove_blocks():
    block, times = block_of()
    document = proof_of_block(block, times[0])

    for known in (KNOWN, Trusted(stakes={0: 1})):
        with pytest.raises(NotProved, match="The ledger: .*: name its ledger by --ledger or --ledger-id"):
            verdict(document, known)
    assert verdict(document, Trusted(book=BOOK, ledger=NODES.identity)).rests_on == []


def test_a_transaction_id_alone_is_of_what_a_client_sent():
    child = Transaction("0.0.5-1-000000000", 1, False, 7, "CRYPTOTRANSFER", "SUCCESS")

    assert not Expected(child.transaction_id).matches(child)
    assert not Expected(child.transaction_id, 1, scheduled=True).matches(child)
    assert Expected(child.transaction_id, 1).matches(child)
    assert Expected("0.000000007").matches(child)


def test_of_several_transactions_of_an_id_in_a_whole_file_one_has_to_be_named():
    sound = published(2)
    first, second, third = sound.transactions
    with_one_id = [first]
    for other, nonce in ((second, 1), (third, 0)):
        other.body.transactionID.CopyFrom(first.body.transactionID)
        other.body.transactionID.nonce = nonce
        signed = SignedTransaction(bodyBytes=other.body.SerializeToString()).SerializeToString()
        made = TransactionMessage(signedTransactionBytes=signed).SerializeToString()
        with_one_id.append(replace(other, transaction_bytes=made))
    data = record_formats.record_v1_v2(2, with_one_id)
    document = proof_of(replace(sound, data=data, signatures=signatures(sound.name, data)))
    del document["consensus_timestamp"]
    name = document["transaction_id"] = replace(sound, transactions=[first, first]).transaction_id

    child = verdict(document, expected=Expected(name, 1)).transaction
    assert (child.nonce, child.consensus_timestamp) == (1, second.consensus_timestamp)
    by_time = verdict(document, expected=Expected(timestamp.text(third.consensus_timestamp))).transaction
    assert by_time.consensus_timestamp == third.consensus_timestamp
    for expected, reason in (
        (None, "has 3 of"),
        (Expected(name), "has 2 of .*; name its time by --id"),
        (Expected(name, 0, scheduled=True), "has none of"),
    ):
        with pytest.raises(NotProved, match=f"The transaction: the record file {reason}"):
            verdict(document, expected=expected)


def test_stakes_have_to_be_those_of_all_nodes_of_the_book(file: Published):
    all_of_them = dict.fromkeys(range(len(nodes())), 5)
    some = {node: 5 for node in all_of_them if node < 2}

    assert verdict(proof_of(file), KNOWN._replace(stakes=all_of_them)).total == 5 * len(nodes())
    with pytest.raises(
        NotProved, match=r"The stakes: there is none of node 2, 3, .*nodes\?limit=25 by --stakes"
    ):
        verdict(proof_of(file), KNOWN._replace(stakes=some))
    with pytest.raises(NotProved, match="The stakes: the nodes of the address book have none"):
        verdict(proof_of(file), KNOWN._replace(stakes=dict.fromkeys(all_of_them, 0)))


def test_exactly_a_third_is_told_to_be_too_little(file: Published):
    a_third = KNOWN._replace(stakes={0: 1, 1: 1, 2: 1, 3: 0})

    with pytest.raises(NotProved, match="exactly a third, which is not enough here"):
        verdict(proof_of(file, signers=1), a_third)


def test_no_text_of_a_document_moves_the_cursor_of_a_terminal():
    with pytest.raises(NotProved) as refused:
        verify(
            b'{"version": 2, "address_books": [], "signature_files": {"\\u001b[2K\\rProved": 1}}',
            KNOWN,
        )

    assert "\\x1b[2K\\rProved is no text" in str(refused.value)


def test_a_signature_by_a_key_that_nodes_had_at_that_time_does_no_harm(file: Published):
    first, *others = [node.address_book_node for node in nodes()]
    later = address_book([first._replace(public_key=others[0].public_key), *others])

    assert verdict(proof_of(file), Trusted(book=later)).signed == len(others)


@needs_fixtures
@pytest.mark.parametrize(
    ("name", "book"),
    [
        ("2019-07-01T14_13_00.317763Z.rcd", "test/test-v1"),
        ("2019-08-30T18_10_00.419072Z.rcd", "bootstrap/testnet"),
        ("2021-01-11T22_09_24.063739000Z.rcd", "bootstrap/testnet"),
        ("2022-06-21T09_15_38.325469003Z.rcd.gz", "test/test-v6-4n.bin"),
    ],
    ids=["format 1", "format 2", "format 5", "format 6"],
)
def test_files_that_networks_have_published_prove_their_transactions(name: str, book: str):
    path = next((ROOT / "streams").rglob(name))
    file = read_record_file(name, path.read_bytes())
    content = content_of(record_names.parse(name), path.read_bytes())
    signatures = {
        f"0.0.{node_id(each) + 3}": each.read_bytes()
        for each in (ROOT / "streams").rglob(record_names.signature_name(name))
    }
    first = file.items[0].consensus_timestamp

    proved = verdict(
        document_of(file, content, first, signatures),
        Trusted(book=(ROOT / "addressbook" / book).read_bytes()),
    )

    assert (proved.transaction.consensus_timestamp, proved.hash) == (first, file.hash)
    assert len(signatures) == 4
