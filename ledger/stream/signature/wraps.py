"""The proof of a verification key by all address books since the network's first one (WRAPS).

It is a short proof that a long computation was done: from each address book to the next, signed by enough of
the nodes of the book before. The computation is folded (Nova), and the result is proved by Groth16 over BN254
with two openings of polynomials. Numbers are little-endian.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeVar

from ledger.stream.ledger_identity import ID_LENGTH, WrongSignature
from ledger.stream.signature.verify_proof import poseidon
from mirror.core.values.bn254 import pairing
from mirror.core.values.bn254.fields import FIELD, ORDER, root, root2
from mirror.core.values.bn254.points import (
    INFINITY,
    B,
    InvalidPoint,
    Point1,
    Point2,
    linear_combination,
    negative,
    negative2,
    twist_square,
)

_SIZE = 32
_LARGER, _INFINITE = 0x80, 0x40
_NOT_ON_CURVE: Final = "a point of its proof is not on the curve"


def g1(data: bytes) -> Point1:
    """Return the point of G1 in a compressed form. Errors: WrongSignature."""
    x, flags = _coordinate(data)
    if flags & _INFINITE:
        if x or flags & _LARGER:
            raise WrongSignature("a point of its proof is infinite and has a coordinate")
        return INFINITY
    y = root(x * x * x + B)
    if y is None:
        raise WrongSignature(_NOT_ON_CURVE)
    return x, max(y, FIELD - y) if flags & _LARGER else min(y, FIELD - y)


def g2(data: bytes) -> Point2:
    """Return the point of the twist in a compressed form. Errors: WrongSignature."""
    imaginary, flags = _coordinate(data[_SIZE:])
    real = int.from_bytes(data[:_SIZE], "little")
    if flags & _INFINITE or real >= FIELD:
        raise WrongSignature("a point of its proof is infinite, or not on the curve")
    x = real, imaginary
    y = root2(twist_square(x))
    if y is None:
        raise WrongSignature(_NOT_ON_CURVE)
    low, high = sorted((y, negative2((x, y))[1]), key=lambda each: (each[1], each[0]))
    return x, high if flags & _LARGER else low


def _coordinate(data: bytes) -> tuple[int, int]:
    flags = data[-1] & (_LARGER | _INFINITE)
    number = int.from_bytes(data[:-1] + bytes([data[-1] & ~flags & 0xFF]), "little")
    if number >= FIELD:
        raise WrongSignature(_NOT_ON_CURVE)
    return number, flags


def pairing_is_one(pairs: Iterable[tuple[Point1, Point2]]) -> bool:
    """Return whether the product of the pairings is one. Errors: WrongSignature for a point of no group."""
    try:
        return pairing.is_one(pairs)
    except InvalidPoint as error:
        raise WrongSignature("a point of its proof is not of the curve's group") from error


LENGTH: Final = 704
KEY_LENGTH: Final = 1768

_SCALAR, _G1, _G2, _COUNT = 32, 32, 64, 8
_INPUTS = 40
_LIMBS, _LIMB_BITS = 5, 55

Value = TypeVar("Value")


class _Values:
    """Reads values one after another."""

    def __init__(self, data: bytes) -> None:
        self._data, self._offset = data, 0

    def take(self, length: int) -> bytes:
        """Return the next bytes, fewer at the end."""
        part = self._data[self._offset : self._offset + length]
        self._offset += length
        return part

    def scalar(self) -> int:
        number = int.from_bytes(self.take(_SCALAR), "little")
        if number >= ORDER:
            raise WrongSignature("a number in it is greater than the order of the curve")
        return number

    def count(self, expected: int) -> None:
        if (stated := int.from_bytes(self.take(_COUNT), "little")) != expected:
            raise WrongSignature(f"its proof has a list of {stated} instead of {expected}")

    def pair(self, read: Callable[[], Value]) -> tuple[Value, Value]:
        self.count(2)
        return read(), read()

    def g1(self) -> Point1:
        return g1(self.take(_G1))

    def g2(self) -> Point2:
        return g2(self.take(_G2))


@dataclass(frozen=True)
class ProofKey:
    """The key with which such proofs are verified: column history_proof_verification_key of table ledger."""

    computation: int
    alpha: Point1
    beta: Point2
    gamma: Point2
    delta: Point2
    inputs: tuple[Point1, ...]
    g: Point1
    h: Point2
    beta_h: Point2


@lru_cache(maxsize=8)
def proof_key(data: bytes) -> ProofKey:
    """Errors: WrongSignature."""
    if len(data) != KEY_LENGTH:
        raise WrongSignature(f"the ledger's key for proofs has {len(data)} bytes, not {KEY_LENGTH}")
    read = _Values(data)
    computation, alpha = read.scalar(), read.g1()
    beta, gamma, delta = read.g2(), read.g2(), read.g2()
    read.count(_INPUTS + 1)
    inputs = tuple(read.g1() for _ in range(_INPUTS + 1))
    g, _ = read.g1(), read.g1()
    return ProofKey(computation, alpha, beta, gamma, delta, inputs, g, read.g2(), read.g2())


@dataclass(frozen=True)
class _Proof:
    steps: int
    first: tuple[int, int]
    last: tuple[int, int]
    running: tuple[Point1, Point1]
    incoming: tuple[Point1, Point1]
    a: Point1
    b: Point2
    c: Point1
    openings: tuple[tuple[int, Point1], tuple[int, Point1]]
    cross_term: Point1
    r: int
    challenges: tuple[int, int]

    @classmethod
    def parse(cls, data: bytes) -> "_Proof":
        if len(data) != LENGTH:
            raise WrongSignature(f"the proof of its key has {len(data)} bytes, not {LENGTH}")
        read = _Values(data)
        steps = read.scalar()
        first, last = read.pair(read.scalar), read.pair(read.scalar)
        running, incoming = read.pair(read.g1), read.pair(read.g1)
        a, b, c = read.g1(), read.g2(), read.g1()
        openings = (read.scalar(), read.g1()), (read.scalar(), read.g1())
        rest = read.g1(), read.scalar(), (read.scalar(), read.scalar())
        return cls(steps, first, last, running, incoming, a, b, c, openings, *rest)


def verify(key: ProofKey, ledger_id: bytes, verification_key: bytes, data: bytes) -> None:
    """Require that a verification key is the latest of the ledger with this id. Errors: WrongSignature."""
    proof = _Proof.parse(data)
    if proof.first[0] != int.from_bytes(ledger_id, "little") or len(ledger_id) != ID_LENGTH:
        raise WrongSignature("the proof of its key is one of another ledger")
    if proof.last[1] != poseidon(verification_key):
        raise WrongSignature("the proof of its key is one of another key")
    if proof.steps <= 1:
        raise WrongSignature("the proof of its key covers no address book")
    if proof.incoming[1] != INFINITY:
        raise WrongSignature("the last step of the proof of its key has an error term")
    witness = linear_combination([(proof.running[0], 1), (proof.incoming[0], proof.r)])
    error = linear_combination([(proof.running[1], 1), (proof.cross_term, proof.r)])
    inputs = [
        key.computation,
        proof.steps,
        *proof.first,
        *proof.last,
        *_limbs(witness),
        *_limbs(error),
        *proof.challenges,
        *(value for value, _ in proof.openings),
        *_limbs(proof.cross_term),
    ]
    if not _is_proved(key, proof, inputs):
        raise WrongSignature("the proof of its key does not hold")
    for commitment, challenge, (value, point) in zip(
        (witness, error), proof.challenges, proof.openings, strict=True
    ):
        if not _is_opened(key, commitment, challenge, value, point):
            raise WrongSignature("the proof of its key does not hold: a commitment has another value")


def _is_proved(key: ProofKey, proof: _Proof, inputs: list[int]) -> bool:
    total = linear_combination(zip(key.inputs, [1, *inputs], strict=True))
    pairs = (negative(proof.a), proof.b), (key.alpha, key.beta), (total, key.gamma), (proof.c, key.delta)
    return pairing_is_one(pairs)


def _is_opened(key: ProofKey, commitment: Point1, challenge: int, value: int, point: Point1) -> bool:
    """Return whether a committed polynomial has a value at a challenge.

    e(C - value g, h) = e(point, beta_h - challenge h), with the challenge moved to the first group.
    """
    left = linear_combination([(commitment, 1), (key.g, -value), (point, challenge)])
    return pairing_is_one([(left, key.h), (negative(point), key.beta_h)])


def _limbs(point: Point1) -> list[int]:
    """Return the coordinates in parts of 55 bits, the least first."""
    mask = (1 << _LIMB_BITS) - 1
    return [coordinate >> shift * _LIMB_BITS & mask for coordinate in point for shift in range(_LIMBS)]
