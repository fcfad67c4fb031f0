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
from ledger.proofs.threshold.poseidon import FIELD

LENGTH: Final = 192
KEY_LENGTH: Final = 192
#: The most nodes that an address book of this kind has.
POSITIONS: Final = 128

_D = 9706598848417545097372247223557719406784115219466060233080913168975159366771
#: The order of the group that the generator makes.
ORDER: Final = 2736030358979909402780800718157159386076813972158567259200215660948447373041
_CHALLENGE_LENGTH, _NUMBER = 31, 32

Point = tuple[int, int]

GENERATOR: Final[Point] = (
    19698561148652590122159747500897617769866003486955115824547446575314762165298,
    19298250018296453272277890825869354524455968081175474282777126169995084727839,
)
NEUTRAL: Final[Point] = (0, 1)


def point_of(node: Contributor) -> Point:
    """Return a node's key. Errors: WrongSignature if it is none."""
    if len(node.key) < 2 * _NUMBER:
        raise WrongSignature(f"the key of node {node.node_id} has {len(node.key)} bytes")
    point = _number(node.key[:_NUMBER]), _number(node.key[_NUMBER : 2 * _NUMBER])
    if not is_on_curve(point):
        raise WrongSignature(f"the key of node {node.node_id} is no point of the curve")
    if not _is_in_group(point):
        raise WrongSignature(f"the key of node {node.node_id} is not one of the generator's group")
    return point


def verify(contributors: Sequence[Contributor], message: bytes, proof: bytes) -> None:
    """Require that contributors with at least half of the weight have signed a message.

    Errors: WrongSignature.
    """
    if len(proof) != LENGTH:
        raise WrongSignature(f"the proof of its key has {len(proof)} bytes, not {LENGTH}")
    book = sorted(contributors, key=lambda each: each.node_id)
    if len(book) > POSITIONS:
        raise WrongSignature(f"the address book has {len(book)} nodes; at most {POSITIONS} can sign a key")
    signed, response, challenge = proof[:POSITIONS], proof[POSITIONS:-_NUMBER], proof[-_NUMBER:]
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
    if _number(response) >= ORDER or _number(challenge) >= ORDER:
        raise WrongSignature("a number of the proof of its key is greater than the order of the curve")
    commitment = add(times(GENERATOR, _number(response)), times(key, _number(challenge)))
    if challenge_of(key, commitment, message) != _number(challenge):
        raise WrongSignature("its key is not signed by the nodes of the ledger")


def challenge_of(key: Point, commitment: Point, message: bytes) -> int:
    content = b"".join(number.to_bytes(_NUMBER, "little") for number in (*key, *commitment)) + message
    return _number(hashlib.blake2s(content).digest()[:_CHALLENGE_LENGTH]) % ORDER


# CURVE


def is_on_curve(point: Point) -> bool:
    x, y = point
    if x >= FIELD or y >= FIELD:
        return False
    squares = x * x % FIELD, y * y % FIELD
    return (sum(squares) - 1 - _D * squares[0] * squares[1]) % FIELD == 0


# A multiplication takes 1 ms; nodes' keys recur.
@lru_cache(maxsize=2 * POSITIONS)
def _is_in_group(point: Point) -> bool:
    return times(point, ORDER) == NEUTRAL


def add(one: Point, other: Point) -> Point:
    (x1, y1), (x2, y2) = one, other
    mixed = _D * x1 * x2 % FIELD * y1 * y2 % FIELD
    x = (x1 * y2 + y1 * x2) * pow(1 + mixed, -1, FIELD)
    y = (y1 * y2 - x1 * x2) * pow(1 - mixed, -1, FIELD)
    return x % FIELD, y % FIELD


def times(point: Point, factor: int) -> Point:
    # With a common denominator, only the result needs a division, which takes as long as six additions.
    total, doubled = (*NEUTRAL, 1), (*point, 1)
    while factor:
        if factor & 1:
            total = _add_fractions(total, doubled)
        factor >>= 1
        if factor:
            doubled = _add_fractions(doubled, doubled)
    x, y, denominator = total
    inverse = pow(denominator, -1, FIELD)
    return x * inverse % FIELD, y * inverse % FIELD


def _add_fractions(one: tuple[int, int, int], other: tuple[int, int, int]) -> tuple[int, int, int]:
    """Add points, each given by two numerators and their denominator."""
    (x1, y1, z1), (x2, y2, z2) = one, other
    z, x, y = z1 * z2 % FIELD, x1 * x2 % FIELD, y1 * y2 % FIELD
    mixed, square = _D * x * y % FIELD, z * z % FIELD
    less, more = square - mixed, square + mixed
    crossed = (x1 + y1) * (x2 + y2) - x - y
    return z * less * crossed % FIELD, z * more * (y - x) % FIELD, less * more % FIELD


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little")
