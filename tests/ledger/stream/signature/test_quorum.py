"""Quorums: enough of a network's stake signed a file, and the message when it did not."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest

from ledger.stream.errors import StreamFileError
from ledger.stream.record_formats import read_record_file
from ledger.stream.record_names import signature_name
from ledger.stream.signature.quorum import (
    ConsensusMode,
    NoQuorum,
    Quorum,
    SignedHashes,
    Votes,
    required_for_proofs,
)
from mirror.demo.streams.record_files import Block
from mirror.demo.streams.signing import SigningNode
from tests.composing import Composer
from tests.ledger.stream.record_formats import signature_v2, signature_v5
from tests.signing import signing_nodes

NODES = signing_nodes(4)
THIRD = Fraction(1, 3)
BOOK = [node.address_book_node for node in NODES]


def composed(first_amount: int = 5) -> Block:
    composer = Composer(nodes=NODES)
    composer.crypto_transfer({1001: -first_amount, 1002: first_amount})
    return composer.block()


BLOCK = composed()
OTHER = composed(6)


def votes_of(
    *signers: SigningNode,
    nodes: int = 4,
    stakes: Mapping[int, int] | None = None,
    mode: ConsensusMode = ConsensusMode.STAKE_IN_ADDRESS_BOOK,
    ratio: Fraction = THIRD,
) -> Votes:
    votes = Votes(
        signature_name(BLOCK.name), Quorum.from_address_book(BOOK[:nodes], stakes or {}, mode, ratio)
    )
    for signer in signers:
        votes.add_file(signer.node_id, BLOCK.signature(signer))
    return votes


@pytest.mark.parametrize(
    ("nodes", "signers", "enough"),
    [(4, 2, True), (4, 1, False), (3, 1, False), (3, 2, True), (2, 1, True), (1, 1, True)],
)  # fmt: skip
def test_more_than_a_third_of_the_nodes_is_enough_where_no_stake_is_known(nodes, signers, enough):
    assert (votes_of(*NODES[:signers], nodes=nodes).outcome is not None) is enough


@pytest.mark.parametrize(
    ("stakes", "signer", "enough"),
    [
        ({0: 34, 1: 33, 2: 33, 3: 0}, 0, True),
        ({0: 33, 1: 33, 2: 33, 3: 0}, 0, False),
        ({0: 34, 1: 33, 2: 33, 3: 0}, 3, False),
        ({0: 34, 1: 66}, 0, True),
        ({0: 34, 1: 66}, 2, False),
        ({0: 34, 9: 1000}, 0, True),
    ],
)
def test_stake_weighs_where_it_is_known(stakes, signer, enough):
    assert (votes_of(NODES[signer], stakes=stakes).outcome is not None) is enough


def test_stake_of_nodes_outside_the_address_book_counts_if_wanted():
    stakes = {0: 34, 9: 1000}

    assert votes_of(NODES[0], stakes=stakes).outcome
    assert votes_of(NODES[0], stakes=stakes, mode=ConsensusMode.STAKE).outcome is None


def test_every_node_with_stake_weighs_the_same_if_wanted():
    stakes = {0: 1_000, 1: 1, 2: 1, 3: 1}

    assert votes_of(NODES[0], stakes=stakes, mode=ConsensusMode.EQUAL).outcome is None
    assert votes_of(*NODES[2:], stakes=stakes, mode=ConsensusMode.EQUAL).outcome


@pytest.mark.parametrize(
    ("ratio", "signers", "enough"),
    [("0", 1, True), ("0", 0, False), ("0.5", 2, False), ("0.5", 3, True), ("1", 3, False), ("1", 4, True),
     ("0.24", 1, True)],
)  # fmt: skip
def test_the_share_is_configurable(ratio, signers, enough):
    assert (votes_of(*NODES[:signers], ratio=Fraction(ratio)).outcome is not None) is enough


def test_signatures_of_different_hashes_make_no_quorum_together():
    votes = votes_of(NODES[0])
    votes.add_file(1, OTHER.signature(NODES[1]))

    with pytest.raises(NoQuorum) as caught:
        votes.require()

    assert (caught.value.signed, caught.value.stake, caught.value.required) == ((0,), 1, 2)
    assert caught.value.others == {1: "signed other hashes", 2: "no signature file", 3: "no signature file"}


def test_a_quorum_counts_whatever_other_nodes_signed():
    votes = votes_of(NODES[2], NODES[3])
    votes.add_file(0, OTHER.signature(NODES[0]))
    votes.add_file(1, b"\6damaged")

    assert votes.require() == SignedHashes(
        BLOCK.name, BLOCK.file_hash.hex(), BLOCK.metadata_hash.hex(), (2, 3)
    )


def test_signatures_that_do_not_count_are_listed_with_their_reason():
    votes = votes_of(nodes=3)
    votes.add_file(0, BLOCK.signature(NODES[1]))
    votes.add_file(1, b"")
    votes.add_file(3, BLOCK.signature(NODES[3]))

    with pytest.raises(NoQuorum, match="signed by 0 of 3 nodes; 2 needed; node 0") as caught:
        votes.require()

    assert caught.value.others == {
        0: "a signature that is not by its key",
        1: "the file is empty",
        2: "no signature file",
        3: "not in the address book",
    }


def test_stakes_are_shown_as_shares_of_the_total():
    stakes = {node: 10**17 * (node + 1) for node in range(4)}

    with pytest.raises(NoQuorum) as caught:
        votes_of(NODES[1], stakes=stakes).require()

    assert "signed by 1 of 4 nodes (node 1) with 20.0 % of the stake; more than 33.3 % needed;" in str(
        caught.value
    )


def test_a_node_counts_once_however_often_it_signs():
    assert votes_of(NODES[0], NODES[0]).outcome is None


@pytest.mark.parametrize("version", [2, 5])
def test_older_signatures_count_too(version):
    votes = votes_of()
    for node in NODES[:2]:
        data = (
            signature_v2(node, BLOCK.file_hash)
            if version == 2
            else signature_v5(node, BLOCK.file_hash, BLOCK.metadata_hash)
        )
        votes.add_file(node.node_id, data)

    signed = votes.require()

    assert signed.data_name == BLOCK.name.removesuffix(".gz")
    assert signed.metadata_hash == (None if version == 2 else BLOCK.metadata_hash.hex())


@pytest.mark.parametrize("part", ["file_hash", "metadata_hash"])
def test_a_file_with_another_hash_is_refused(part):
    signed = votes_of(*NODES).require()
    signed_otherwise = SignedHashes(**{**_fields(signed), part: "00" * 48})
    file = read_record_file(BLOCK.name, BLOCK.data)
    signed.check(file)

    with pytest.raises(StreamFileError, match=f"its {part.replace('_', ' ')} is .*signed 0000000000000000…"):
        signed_otherwise.check(file)


def _fields(signed: SignedHashes) -> dict[str, Any]:
    return {name: getattr(signed, name) for name in ("data_name", "file_hash", "metadata_hash", "signers")}


# RECORDED FILES


def test_for_a_state_proof_a_third_of_the_nodes_has_to_have_signed():
    assert [required_for_proofs(nodes) for nodes in (1, 3, 4, 6, 7, 31)] == [1, 1, 2, 2, 3, 11]
