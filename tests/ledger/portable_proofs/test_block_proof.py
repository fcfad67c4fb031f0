"""Proofs of transactions in blocks: what they show, and that nothing else passes for one."""

import copy
import random
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

import pytest

from ledger.portable_proofs.block_proof import ledger_of, verify
from ledger.portable_proofs.compose import Unprovable
from ledger.portable_proofs.documents import ProvingLedgerJson
from ledger.portable_proofs.proved_items import kind_of
from ledger.portable_proofs.strict_json import NotProved, read
from ledger.portable_proofs.verdict import Trusted, Verdict
from ledger.stream.block.block_items import read_items
from ledger.stream.block.tree import paths
from ledger.stream.errors import StreamFileError
from ledger.stream.signature import threshold, verify_proof
from mirror.core.values.hapi import wire
from mirror.core.values.hapi.messages import Block, BlockItem, SignedTransaction, TransactionBody
from mirror.core.values.hashes import sha384
from mirror.demo.streams.threshold_signer import ThresholdSigner
from tests.ledger.portable_proofs.block_proofs import KNOWN, NODES, batch_block, block_of, proof_of
from tests.ledger.portable_proofs.changes import flipped, values_of
from tests.ledger.stream.block.blocks import OLDER, PAYER, BlockStream
from tests.ledger.stream.block.state_proofs import proved_by_later, way_through
from tests.ledger.stream.fixtures import ROOT, needs_fixtures


def verdict(document: dict[str, Any], trusted: Trusted = KNOWN) -> Verdict:
    return verify(copy.deepcopy(document), trusted)


@pytest.fixture(scope="module")
def proof() -> dict[str, Any]:
    block, times = block_of()
    return proof_of(block, times[3])


def test_a_proof_says_what_happened_in_which_block_and_who_has_signed():
    block, times = block_of()

    proved = verdict(proof_of(block, times[2]))

    assert (proved.number, proved.hash) == (7, block.hash.hex())
    assert proved.transaction.consensus_timestamp == times[2]
    assert (proved.transaction.type, proved.transaction.result) == ("CONSENSUSSUBMITMESSAGE", "BUSY")
    assert (proved.signed, proved.total, proved.rests_on) == (60, 60, [])


def test_every_transaction_of_a_block_can_be_proved():
    block, times = block_of()

    assert [verdict(proof_of(block, at)).transaction.consensus_timestamp for at in times] == times


def test_a_proof_has_the_outputs_and_the_changes_of_its_transaction(proof):
    assert len(proof["items"]["transaction_output"]) == len(proof["items"]["state_changes"]) == 1


def test_a_transaction_in_a_batch_is_proved_by_the_batch_and_its_place():
    block, times = batch_block()

    proved = verdict(proof_of(block, times[2]))

    assert (proved.transaction.type, proved.transaction.position) == ("CONSENSUSSUBMITMESSAGE", 1)
    assert proved.unproved == "results of transactions in a batch do not tell which of them they belong to"
    assert proved.lines()[0].startswith(
        f"Not proved: that transaction 0.0.{PAYER}-1769999999-000000000 (CONSENS"
    )
    assert proved.json()["proved"] is False


def test_only_of_what_is_in_a_batch_the_result_is_not_proved():
    block, times = batch_block()

    assert [bool(verdict(proof_of(block, at)).unproved) for at in times] == [False, True, True, False]


def test_the_result_of_a_batch_is_not_taken_for_that_of_a_transaction_in_it():
    block, times = batch_block()
    lie, inner = proof_of(block, times[0]), proof_of(block, times[1])
    for stated in ("transaction_id", "nonce", "scheduled", "batch_position"):
        lie[stated] = inner[stated]

    for before in (lie["before"], None):
        with pytest.raises(
            NotProved, match="the result is none of a transaction in a batch: it names no batch"
        ):
            verdict({**lie, "before": before})
    inner["before"] = lie["before"]
    with pytest.raises(NotProved, match="do not tell results of transactions in a batch"):
        verdict(inner)


def test_the_result_in_a_batch_is_not_taken_for_that_of_the_transaction_after_it():
    block, times = batch_block()
    lie, inner = proof_of(block, times[3]), proof_of(block, times[2])
    lie["items"]["transaction_result"] = inner["items"]["transaction_result"]
    lie["consensus_timestamp"] = inner["consensus_timestamp"]
    lie["before"]["outputs"].pop()

    with pytest.raises(NotProved, match="do not tell which result is this transaction's"):
        verdict(lie)


@pytest.mark.parametrize("caused", [{"nonce": 1}, {"scheduled": True}], ids=["a child", "a scheduled one"])
def test_after_what_an_inner_transaction_has_caused_the_result_is_not_proved(caused):
    stream = BlockStream(first_block=7, signer=NODES)
    batch = stream.happen("atomic_batch", {"transactions": [stream.signed("cryptoTransfer")]})
    stream.happen("", inner=True, parent=batch)
    child = TransactionBody(transactionID=caused, cryptoTransfer={})
    signed = SignedTransaction(bodyBytes=child.SerializeToString()).SerializeToString()
    stream.happen("", signed=signed, parent=batch)
    at = stream.happen("cryptoTransfer")
    block = stream.block()

    assert "does not have the items before them" in verdict(proof_of(block, at)).unproved


def test_after_what_nodes_send_for_themselves_the_result_is_not_proved():
    stream = BlockStream(first_block=7, signer=NODES)
    stream.item(signed_transaction=stream.signed("hints_partial_signature"))
    at = stream.happen("cryptoTransfer")
    block = stream.block()
    document = proof_of(block, at)

    assert verdict(document).unproved
    before = [b64encode(Block.FromString(block.content).items[3].SerializeToString()).decode()]
    document["before"] = {"signed_transaction": before, "outputs": []}
    with pytest.raises(NotProved, match="a transaction before may be without a result"):
        verdict(document)


def test_a_signature_of_the_state_has_no_result():
    block, times = block_of()
    lie, next_one = proof_of(block, times[1]), proof_of(block, times[2])
    items = [each.SerializeToString() for each in Block.FromString(block.content).items]
    kinds = list(map(kind_of, items))
    second = [index for index, kind in enumerate(kinds) if kind == "signed_transaction"][2]
    content = read_items(block.name, block.content)
    places = paths(zip(kinds, items, strict=True), [second], *content.time_and_footer)
    signed = SignedTransaction.FromString(
        BlockItem.FromString(b64decode(next_one["before"]["signed_transaction"][2])).signed_transaction
    )
    stated = TransactionBody.FromString(signed.bodyBytes).transactionID.transactionValidStart
    lie["transaction_id"] = f"0.0.{PAYER}-{stated.seconds}-{stated.nanos:09}"
    lie["items"]["signed_transaction"] = {
        "item": next_one["before"]["signed_transaction"][2],
        "path": [{"hash": b64encode(step.hash).decode(), "is_left": step.is_left} for step in places[0]],
    }
    lie["before"]["signed_transaction"] = next_one["before"]["signed_transaction"][:2]

    with pytest.raises(NotProved, match="it is a signature of the state, which has no result"):
        verdict(lie)


def test_a_block_without_a_signature_of_its_own_is_proved_by_a_later_one():
    stream = BlockStream(signer=NODES)
    at = stream.happen("cryptoTransfer")
    first, *later = stream.block(), stream.block(), stream.block()
    document = proof_of(proved_by_later(first, later, NODES), at)

    proved = verdict(document)

    assert (proved.number, proved.hash) == (0, first.hash.hex())
    assert "by their signature of a later block" in proved.signers
    choose = random.Random("a later block")
    for _ in range(30):
        with pytest.raises(NotProved):
            verdict(flipped(document, ("block", "proof"), choose))


def test_the_way_to_a_later_block_has_its_steps_where_blocks_have_them():
    stream = BlockStream(signer=NODES)
    at = stream.happen("cryptoTransfer")
    first, *later = stream.block(), stream.block()
    way = way_through([read_items("later", each.content) for each in later])
    below = sha384(b"\2" + first.hash + way[0]["hash"])
    astray = [{"hash": below, "is_left": True}, *way[1:]]
    document = proof_of(proved_by_later(first, later, NODES, way=astray), at)

    with pytest.raises(NotProved, match="the way to the later block is written otherwise than by a network"):
        verdict(document)


def test_of_several_proofs_of_a_block_the_one_with_a_threshold_signature_counts():
    block, times = block_of()
    *items, signed = Block.FromString(block.content).items
    unsigned = BlockItem(block_proof={"block": 7, "signed_block_proof": {"block_signature": b"?" * 48}})
    content = Block(items=[*items, unsigned, signed]).SerializeToString()

    assert verdict(proof_of(replace(block, content=content), times[0])).number == 7


def test_the_result_of_another_transaction_is_not_taken_for_this_ones():
    block, times = block_of()
    failed, other = (proof_of(block, times[index]) for index in (2, 1))
    failed["items"]["transaction_result"] = other["items"]["transaction_result"]
    failed["consensus_timestamp"] = other["consensus_timestamp"]

    with pytest.raises(NotProved, match="The order of the block: the items given are not those before"):
        verdict(failed)
    failed["before"]["outputs"].pop()
    with pytest.raises(NotProved, match="do not tell which result is this transaction's"):
        verdict(failed)
    failed["before"] = None
    shown = verdict(failed)
    assert "does not have the items before them" in shown.unproved
    assert shown.lines()[0].startswith("Not proved: that transaction 0.0.1001-")
    assert shown.json()["proved"] is False


def test_items_before_are_hashed_once_however_many_outputs_follow(monkeypatch):
    stream = BlockStream(first_block=7, signer=NODES)
    for _ in range(20):
        stream.happen("cryptoTransfer")
    at = stream.happen("util_prng", outputs=[{"util_prng": {"prng_number": number}} for number in range(20)])
    document = proof_of(stream.block(), at)
    hashed = []

    def extend(roots, count, leaves, extend=verify_proof.extend):
        hashed.extend(leaves := list(leaves))
        return extend(roots, count, leaves)

    monkeypatch.setattr(verify_proof, "extend", extend)

    assert not verdict(document).unproved
    # Transactions; then the header, results and outputs.
    assert len(hashed) == 21 + 1 + 20 + 21


def test_blocks_whose_tree_does_not_tell_hashes_from_items_prove_nothing():
    stream = BlockStream(first_block=7, signer=NODES)
    at = stream.happen("cryptoTransfer")
    block = stream.block(hapi_proto_version={"minor": 70})

    with pytest.raises(Unprovable, match="block 7 is of the kind before HAPI 0.71, which proves nothing"):
        proof_of(block, at)


def test_a_document_of_a_block_whose_tree_does_not_tell_hashes_from_items_is_refused(proof):
    lie = copy.deepcopy(proof)
    header = BlockItem.FromString(b64decode(lie["items"]["block_header"]["item"]))
    header.block_header.hapi_proto_version.minor = 70
    lie["items"]["block_header"]["item"] = b64encode(header.SerializeToString()).decode()

    with pytest.raises(NotProved, match="The block: its tree is of the kind before HAPI 0.71"):
        verdict(lie)


def test_items_before_that_are_too_many_are_told():
    block, times = block_of()

    assert proof_of(block, times[0], max_before=0)["before"]
    with pytest.raises(
        Unprovable, match=r"the \d+ bytes before it in block 7, .*: take it by `manage.py prove`"
    ):
        proof_of(block, times[1], max_before=20)


def test_blocks_without_a_threshold_signature_have_no_proofs():
    for hapi_version in ((0, 73, 0), OLDER):
        stream = BlockStream(hapi_version)
        at = stream.happen("cryptoTransfer")
        block = stream.block()

        with pytest.raises(Unprovable, match="block 0 has no threshold signature"):
            proof_of(block, at)


def test_a_time_of_no_transaction_has_no_proof():
    block, times = block_of()

    with pytest.raises(Unprovable, match="block 7 has no transaction of 1770000000.000000001"):
        proof_of(block, times[0] + 1)


@pytest.mark.parametrize("kind", ["atomic_batch", "cryptoTransfer"], ids=["after an empty one", "alone"])
def test_a_result_in_a_batch_that_has_none_itself_has_no_proof(kind: str):
    stream = BlockStream(first_block=7, signer=NODES)
    inner = {"transactions": [stream.signed("cryptoTransfer")]}
    stream.item(signed_transaction=stream.signed("atomic_batch", inner))
    stream.happen(kind)
    at = stream.happen("", inner=True)

    with pytest.raises(Unprovable, match="block 7 does not tell whose result that of 1770000000"):
        proof_of(stream.block(), at)


def test_a_block_with_items_of_several_fields_has_no_proofs():
    block, times = block_of()
    *items, proof = Block.FromString(block.content).items
    twice = items[3].SerializeToString() * 2
    content = b"".join(
        wire.length_delimited(Block.ITEMS_FIELD_NUMBER, each)
        for each in (*[item.SerializeToString() for item in items[:3]], twice,
                     *[item.SerializeToString() for item in (*items[4:], proof)])
    )  # fmt: skip

    with pytest.raises(StreamFileError, match="an item of it has several fields"):
        proof_of(replace(block, content=content), times[0])


# LIES


def set_at(*keys: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        reduce(lambda part, key: part[key], keys[:-1], document)[keys[-1]] = to

    return change


def drop(*keys: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        del reduce(lambda part, key: part[key], keys[:-1], document)[keys[-1]]

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (set_at("transaction_id", to="0.0.1-1-000000001"), "The transaction: its transaction id is 0.0.1"),
        (set_at("nonce", to=1), "its nonce is 0, not 1"),
        (set_at("scheduled", to=True), "its flag of a scheduled transaction is False"),
        (set_at("consensus_timestamp", to="1.000000001"), "its consensus timestamp is 17"),
        (set_at("batch_position", to=0), "it is no batch with an inner transaction 0"),
        (set_at("batch_position", to=1 << 70), "batch_position is no whole number of 63 bits"),
        (set_at("block", "number", to=8), "its header says that it is block 7, not 8"),
        (set_at("block", "hash", to="0x00"), "not to the block's"),
        (set_at("block", "timestamp", to="CAE="), "The block: its time is not the one in its header"),
        (
            set_at("block", "footer", "previous_block_root_hash", to=b64encode(b"\1" * 48).decode()),
            "does not pass the hashes of the block's footer",
        ),
        (set_at("items", "transaction_result", "path", 0, "is_left", to=True), "leads to another block"),
        (set_at("items", "transaction_result", "path", -2, "is_left", to=True), "does not go where"),
        (drop("items", "transaction_result", "path", -1), "does not go where such items are"),
        (drop("items", "transaction_result", "path", 0), "leads to another block"),
        (drop("before", "signed_transaction", 0), "not those before the signed_transaction"),
        (drop("before", "outputs", 0), "not those before the transaction_result"),
        (drop("nonce"), "The form of the document: nonce is missing"),
        (set_at("amount", to="5"), "amount is nothing that a proof has"),
        (set_at("block", "proof", to="!"), "block.proof is no text in base64"),
        (set_at("block", "proof", to="CAd="), "block.proof is no text in base64"),
        (set_at("items", "state_changes", to={}), "items.state_changes is no list"),
        (set_at("ledger", "node_contributions", 0, "weight", to=11), "has other nodes than the ledger"),
        (set_at("ledger", "ledger_id", to="AAA="), "The ledger: the proof is one of ledger 0x0000"),
        (set_at("block", "proof", to="CAc="), "the block's proof has no threshold signature"),
        (set_at("block", "proof", to="CAg="), "the block's proof is one of block 8"),
    ],
)  # fmt: skip
def test_a_document_that_lies_is_refused_with_the_step_that_fails(proof, change, reason):
    lie = copy.deepcopy(proof)
    change(lie)

    with pytest.raises(NotProved, match=reason):
        verdict(lie)


def test_no_bit_of_a_document_can_be_changed(proof):
    choose = random.Random("bits")
    values = list(values_of(proof))

    for _ in range(150):
        place = choose.choice(values)
        with pytest.raises(NotProved):
            verdict(flipped(proof, place, choose))


# THE LEDGER


def test_nodes_of_another_ledger_prove_nothing(proof):
    other = ThresholdSigner({0: 10, 1: 20, 2: 30}, "other nodes").identity

    with pytest.raises(NotProved, match="The ledger: the proof is one of ledger"):
        verdict(proof, Trusted(ledger=other))


def test_two_anchors_have_to_name_the_same_ledger(proof):
    both = Trusted(ledger=NODES.identity, ledger_id=bytes(32))

    with pytest.raises(NotProved, match="The ledger: --ledger and --ledger-id name two of them"):
        verdict(proof, both)
    assert verdict(proof, both._replace(ledger_id=NODES.identity.ledger_id)).number == 7


def test_the_ledger_in_the_document_is_told_to_be_nothing_known(proof):
    assert "the ledger in the document itself, id 0x" in verdict(proof, Trusted()).rests_on[0]


def test_the_id_of_a_ledger_does_not_tell_its_first_nodes(proof):
    with pytest.raises(NotProved, match="name its publication by --ledger"):
        verdict(proof, Trusted(ledger_id=NODES.identity.ledger_id))


def test_a_document_without_the_ledger_needs_one(proof):
    without = {**proof, "ledger": None}

    assert verdict(without).number == 7
    with pytest.raises(NotProved, match="the document does not have it"):
        verdict(without, Trusted())


def test_the_id_of_a_ledger_is_enough_with_the_key_that_networks_have_by_default():
    key = {"history_proof_verification_key": b64encode(b"\1").decode(), "node_contributions": None}
    document = {"ledger_id": b64encode(bytes(32)).decode(), **key}

    with pytest.raises(NotProved, match="is not the one that networks have by default"):
        ledger_of(
            read(document, ProvingLedgerJson), Trusted(ledger_id=bytes(32)), bytes(threshold.WRAPS_LENGTH), []
        )


@needs_fixtures
def test_the_key_for_proofs_that_networks_have_by_default_is_known_by_its_hash():
    key = (ROOT / "tss" / "wraps-verification-key.bin").read_bytes()
    document: dict[str, Any] = {
        "ledger_id": b64encode(bytes(32)).decode(),
        "history_proof_verification_key": b64encode(key).decode(),
        "node_contributions": None,
    }

    ledger = ledger_of(
        read(document, ProvingLedgerJson), Trusted(ledger_id=bytes(32)), bytes(threshold.WRAPS_LENGTH), []
    )

    assert ledger.proof_key == key
    document["node_contributions"] = [{"node_id": 0, "weight": 5, "history_proof_key": ""}]
    with pytest.raises(NotProved, match="has nodes of the ledger, which its id does not prove"):
        ledger_of(
            read(document, ProvingLedgerJson), Trusted(ledger_id=bytes(32)), bytes(threshold.WRAPS_LENGTH), []
        )
