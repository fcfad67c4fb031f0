"""Proofs of blocks by the signature of a later one."""

import json
from base64 import b64decode
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from ledger.stream.block.block_signature import signed_root
from ledger.stream.ledger_identity import WrongSignature
from mirror.core.values.hapi.messages import StateProof
from mirror.core.values.hashes import sha384
from tests.ledger.stream.fixtures import ROOT, needs_fixtures

ROOT_HASH, TIME = b"\7" * 48, b"\x08\1"


def proof(**changes: Any) -> StateProof:
    made = StateProof()
    made.paths.add(timestamp_leaf=TIME, next_path_index=2)
    way = made.paths.add(hash=ROOT_HASH, next_path_index=2)
    way.siblings.add(hash=b"\1" * 48, is_left=True)
    way.siblings.add(hash=b"\2" * 48)
    way.siblings.add()
    way.siblings.add(hash=b"\3" * 48)
    made.paths.add(next_path_index=(1 << 32) - 1)
    return made


@needs_fixtures
def test_the_published_proofs_lead_from_each_block_to_the_signed_one():
    for each in json.loads((ROOT / "tss" / "stateProofTestArtifact.json").read_text()):
        message = ParseDict({"paths": each["merklePaths"]}, StateProof())
        assert signed_root(message, b64decode(each["blockHash"])) == b64decode(each["expectedRootHash"])


def test_the_way_goes_left_right_and_straight_up():
    node = sha384(b"\2" + b"\1" * 48 + ROOT_HASH)
    node = sha384(b"\1" + sha384(b"\2" + node + b"\2" * 48))
    node = sha384(b"\2" + node + b"\3" * 48)

    assert signed_root(proof(), ROOT_HASH) == sha384(b"\2" + sha384(b"\0" + TIME) + node)


def test_a_proof_of_another_block_is_refused():
    with pytest.raises(WrongSignature, match="one of another block"):
        signed_root(proof(), b"\x08" * 48)


def drop_path(made: StateProof) -> None:
    del made.paths[2]


def drop_sibling(made: StateProof) -> None:
    del made.paths[1].siblings[0]


def shorten(made: StateProof) -> None:
    made.paths[1].siblings[0].hash = b"\1" * 47


def lead_astray(made: StateProof) -> None:
    made.paths[0].next_path_index = 1


def swap(made: StateProof) -> None:
    made.paths[0].hash = TIME


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (drop_path, "has 2 paths, not 3"),
        (drop_sibling, "has 3 hashes, which is no way"),
        (shorten, "has 47 bytes"),
        (lead_astray, "do not meet"),
        (swap, "not of a time"),
    ],
)
def test_a_proof_of_another_form_is_refused(change, reason):
    made = proof()
    change(made)

    with pytest.raises(WrongSignature, match=reason):
        signed_root(made, ROOT_HASH)
