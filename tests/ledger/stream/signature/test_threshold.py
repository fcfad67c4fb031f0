"""Threshold signatures: those that a network has published, and those of simulated nodes."""

import json
import random
from pathlib import Path

import pytest

from ledger.stream.ledger_identity import Contributor, LedgerIdentity, WrongSignature
from ledger.stream.signature import threshold, verify_proof, wraps
from ledger.stream.signature.verify_proof import SIGNATURE_FORM, challenge, key_parts, poseidon, read
from mirror.demo.streams.threshold_signer import ThresholdSigner

# A signature that a network's software has published, by both kinds of proofs of its key.
VECTOR = json.loads((Path(__file__).parent / "vectors" / "threshold-signatures.json").read_text())
ROOT_HASH = bytes(range(48))
PROOF_AT = verify_proof.KEY + verify_proof.SIGNATURE


@pytest.fixture(scope="module")
def signer() -> ThresholdSigner:
    return ThresholdSigner({0: 10, 1: 10, 4: 10}, "a network of tests")


def published() -> tuple[LedgerIdentity, bytes, dict[str, bytes]]:
    contributors = tuple(
        Contributor(each["node_id"], each["weight"], bytes.fromhex(each["history_proof_key"]))
        for each in VECTOR["node_contributions"]
    )
    ledger_id, proof_key = (
        bytes.fromhex(VECTOR[name]) for name in ("ledger_id", "history_proof_verification_key")
    )
    signatures = {
        form: bytes.fromhex(parts["key"] + parts["signature"] + parts["proof_of_key"])
        for form, parts in VECTOR["signatures"].items()
    }
    return LedgerIdentity(ledger_id, proof_key, contributors), bytes.fromhex(VECTOR["message"]), signatures


@pytest.mark.parametrize("form", ["schnorr", "wraps"])
def test_the_values_between_are_those_of_the_vector(form):
    parts = VECTOR["signatures"][form]
    key, signature = bytes.fromhex(parts["key"]), bytes.fromhex(parts["signature"])

    assert hex(poseidon(key)) == parts["poseidon_of_key"]
    assert hex(challenge(key_parts(key), read(signature, SIGNATURE_FORM))) == parts["challenge"]


@pytest.mark.parametrize("form", ["schnorr", "wraps"])
def test_a_published_signature_is_of_its_message_alone(form):
    ledger, message, signatures = published()

    threshold.verify(ledger, message, signatures[form])

    with pytest.raises(WrongSignature, match="not a signature of this block"):
        threshold.verify(ledger, message + b"\0", signatures[form])


@pytest.mark.parametrize("form", ["schnorr", "wraps"])
def test_a_published_signature_is_of_its_ledger_alone(form):
    ledger, message, signatures = published()
    other = LedgerIdentity(bytes(32), ledger.proof_key, ledger.contributors)

    with pytest.raises(WrongSignature, match="another ledger|not signed by the nodes"):
        threshold.verify(other, message, signatures[form])


@pytest.mark.parametrize("form", ["schnorr", "wraps"])
def test_a_published_signature_with_a_bit_changed_is_refused(form):
    ledger, message, signatures = published()
    choose = random.Random(form)
    signature = signatures[form]

    for _ in range(60):
        place = choose.randrange(len(signature) * 8)
        changed = bytearray(signature)
        changed[place // 8] ^= 1 << place % 8
        with pytest.raises(WrongSignature):
            threshold.verify(ledger, message, bytes(changed))


def test_the_published_key_for_proofs_is_needed_whole():
    ledger, message, signatures = published()

    with pytest.raises(WrongSignature, match="has 1767 bytes, not 1768"):
        threshold.verify(
            LedgerIdentity(ledger.ledger_id, ledger.proof_key[:-1], ledger.contributors),
            message,
            signatures["wraps"],
        )


@pytest.mark.parametrize("weights", [{0: 5}, {0: 1, 1: 1}, {number: number + 1 for number in range(7)}])
def test_simulated_nodes_sign_by_the_same_rules(weights):
    signer = ThresholdSigner(weights, "some seed")

    threshold.verify(signer.identity, ROOT_HASH, signer.sign(ROOT_HASH))


def test_more_than_half_of_the_weight_has_to_sign(signer):
    threshold.verify(signer.identity, ROOT_HASH, signer.sign(ROOT_HASH, {0, 4}))

    with pytest.raises(WrongSignature, match="a weight of 10 of 30 .* not more than half"):
        threshold.verify(signer.identity, ROOT_HASH, signer.sign(ROOT_HASH, {4}))


def test_weight_that_nobody_has_is_not_proved(signer):
    signature = bytearray(signer.sign(ROOT_HASH, {4}))
    weight = verify_proof.KEY + 96
    signature[weight : weight + 32] = (20).to_bytes(32, "little")

    with pytest.raises(WrongSignature, match="its proof does not hold"):
        threshold.verify(signer.identity, ROOT_HASH, bytes(signature))


def test_the_signature_of_another_block_is_refused(signer):
    other = signer.sign(b"\1" * 48)
    mixed = signer.sign(ROOT_HASH)[: verify_proof.KEY] + other[verify_proof.KEY :]

    with pytest.raises(WrongSignature, match="not a signature of this block"):
        threshold.verify(signer.identity, ROOT_HASH, mixed)


def test_what_proves_the_sum_of_keys_is_checked_once_while_the_same_nodes_sign(monkeypatch):
    checked = []

    def equations_of(key, message, data, equations_of=verify_proof.equations_of):
        checked.append(message)
        return equations_of(key, message, data)

    monkeypatch.setattr(verify_proof, "equations_of", equations_of)
    signer = ThresholdSigner(dict.fromkeys(range(3), 10), "a network of its own")
    first, second, third = (bytes([number]) * 48 for number in range(3))
    for message, nodes in ((first, {0, 1}), (second, {0, 1}), (third, {1, 2}), (first, {1, 2})):
        threshold.verify(signer.identity, message, signer.sign(message, nodes))

    assert checked == [first, third]


def test_a_sum_of_keys_that_is_proved_proves_no_other_message_sum_or_weight(signer):
    signature, other = signer.sign(ROOT_HASH), signer.sign(b"\1" * 48)
    threshold.verify(signer.identity, ROOT_HASH, signature)
    aggregate, weight, end = (verify_proof.KEY + place for place in (0, 96, 128))
    fewer = signer.sign(ROOT_HASH, {0, 4})

    with pytest.raises(WrongSignature, match="not a signature of this block"):
        threshold.verify(signer.identity, ROOT_HASH, other)
    # What was refused is no better the second time.
    for start, stop in ((aggregate, weight), (weight, end)) * 2:
        changed = signature[:start] + fewer[start:stop] + signature[stop:]
        with pytest.raises(WrongSignature, match="its proof does not hold"):
            threshold.verify(signer.identity, ROOT_HASH, changed)


def test_nodes_of_another_network_may_not_sign(signer):
    stranger = ThresholdSigner(dict(signer.weights), "another network")

    with pytest.raises(WrongSignature, match="its key is not signed by the nodes of the ledger"):
        threshold.verify(signer.identity, ROOT_HASH, stranger.sign(ROOT_HASH))


@pytest.mark.parametrize("length", [0, 48, 2919, 2921, 3431])
def test_a_signature_of_another_length_is_refused(signer, length):
    with pytest.raises(WrongSignature, match=f"it has {length} bytes"):
        threshold.verify(signer.identity, ROOT_HASH, bytes(length))


def test_a_proof_of_the_kind_wraps_needs_a_key_for_proofs(signer):
    signature = signer.sign(ROOT_HASH)[:PROOF_AT] + bytes(wraps.LENGTH)

    with pytest.raises(WrongSignature, match="key for proofs has 0 bytes"):
        threshold.verify(signer.identity, ROOT_HASH, signature)


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        (5, 1, "signers who are not in the address book"),
        (0, 2, "signers who are not in the address book"),
        (0, 0, "not signed by the nodes"),
        (verify_proof.SIGNERS + 31, 0xFF, "greater than the order"),
    ],
)
def test_a_changed_proof_of_the_key_is_refused(signer, place, value, reason):
    signature = bytearray(signer.sign(ROOT_HASH))
    signature[PROOF_AT + place] = value

    with pytest.raises(WrongSignature, match=reason):
        threshold.verify(signer.identity, ROOT_HASH, bytes(signature))


def test_half_of_the_weight_has_to_sign_a_key(signer):
    signature = bytearray(signer.sign(ROOT_HASH))
    signature[PROOF_AT : PROOF_AT + 2] = bytes(2)

    with pytest.raises(WrongSignature, match="a weight of 10 of 30 .* less than half"):
        threshold.verify(signer.identity, ROOT_HASH, bytes(signature))
