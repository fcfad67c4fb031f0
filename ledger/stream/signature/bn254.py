"""Points of BN254 in the compressed form of proofs, and checks of pairings that refuse such a proof."""

from collections.abc import Iterable
from typing import Final

from ledger.stream.ledger_identity import WrongSignature
from mirror.core.values.bn254 import pairing
from mirror.core.values.bn254.fields import FIELD, root, root2
from mirror.core.values.bn254.points import INFINITY, B, InvalidPoint, Point1, Point2, negative2, twist_square

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
