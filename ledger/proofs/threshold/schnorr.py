"""The proof of a verification key by a network's first address book: a Schnorr signature of many nodes.

The curve is Baby Jubjub in its twisted Edwards form x^2 + y^2 = 1 + d x^2 y^2, over the scalar field of
BN254. The signers' keys are added to one key. Numbers are little-endian.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from ledger.proofs.threshold.encoding import WrongSignature
from ledger.proofs.threshold.identity import Contributor
from ledger.proofs.threshold.verify_proof import FIELD, GENERATOR, GROUP, D, Point, add, times

LENGTH: Final = 192
#: The most nodes that an address book of this kind has.
POSITIONS: Final = 128
NEUTRAL: Final[Point] = (0, 1)

_CHALLENGE_LENGTH, _NUMBER = 31, 32


def point_of(node: Contributor) -> Point:
    """Return a node's key. Errors: WrongSignature if it is none."""
    if len(node.key) < 2 * _NUMBER:
        raise WrongSignature(f"the key of node {node.node_id} has {len(node.key)} bytes")
    x, y = _number(node.key[:_NUMBER]), _number(node.key[_NUMBER : 2 * _NUMBER])
    if x >= FIELD or y >= FIELD or (x * x + y * y - 1 - D * x * x * y * y) % FIELD:
        raise WrongSignature(f"the key of node {node.node_id} is no point of the curve")
    if not _is_in_group((x, y)):
        raise WrongSignature(f"the key of node {node.node_id} is not one of the generator's group")
    return x, y


# A multiplication takes 1 ms; nodes' keys recur.
@lru_cache(maxsize=2 * POSITIONS)
def _is_in_group(point: Point) -> bool:
    return times(point, GROUP) == NEUTRAL


def verify(contributors: Sequence[Contributor], message: bytes, proof: bytes) -> None:
    """Require that contributors with at least half of the weight have signed a message.

    Errors: WrongSignature.
    """
    if len(proof) != LENGTH:
        raise WrongSignature(f"the proof of its key has {len(proof)} bytes, not {LENGTH}")
    book = sorted(contributors, key=lambda each: each.node_id)
    if len(book) > POSITIONS:
        raise WrongSignature(f"the address book has {len(book)} nodes; at most {POSITIONS} can sign a key")
    signed, response = proof[:POSITIONS], _number(proof[POSITIONS:-_NUMBER])
    challenge = _number(proof[-_NUMBER:])
    if set(signed) - {0, 1} or any(signed[len(book) :]):
        raise WrongSignature("the proof of its key names signers who are not in the address book")
    signers = [each for each, has_signed in zip(book, signed, strict=False) if has_signed]
    total, weight = sum(each.weight for each in book), sum(each.weight for each in signers)
    if not total or 2 * weight < total:
        raise WrongSignature(
            f"nodes with a weight of {weight} of {total} have signed its key, which is less than half"
        )
    key = NEUTRAL
    for each in signers:
        key = add(key, point_of(each))
    if response >= GROUP or challenge >= GROUP:
        raise WrongSignature("a number of the proof of its key is greater than the order of the curve")
    commitment = add(times(GENERATOR, response), times(key, challenge))
    if challenge_of(key, commitment, message) != challenge:
        raise WrongSignature("its key is not signed by the nodes of the ledger")


def challenge_of(key: Point, commitment: Point, message: bytes) -> int:
    content = b"".join(number.to_bytes(_NUMBER, "little") for number in (*key, *commitment)) + message
    return _number(hashlib.blake2s(content).digest()[:_CHALLENGE_LENGTH]) % GROUP


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little")
