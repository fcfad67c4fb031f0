"""The curve BN254 (alt_bn128): its points in the compressed form of proofs, and its pairing.

Multiplications and pairings run in the native EVM revm, by its precompiled contracts 6, 7 and 8 (EIP-196 and
EIP-197): in Python a pairing takes a second.
"""

from collections.abc import Iterable
from functools import cache
from typing import Any, Final

from ledger.proofs.threshold.identity import WrongSignature

#: The order of the groups, and the field of coordinates.
ORDER: Final = 21888242871839275222246405745257275088548364400416034343698204186575808495617
FIELD: Final = 21888242871839275222246405745257275088696311157297823662689037894645226208583

#: Points of G1 are pairs, (0, 0) is infinity; those of G2 have pairs (real, imaginary) as coordinates.
Pair = tuple[int, int]
Point2 = tuple[Pair, Pair]
INFINITY: Final[Pair] = (0, 0)

_SIZE = 32
_LARGER, _INFINITE = 0x80, 0x40
_B = 3
# 3 / (9 + i)
_B2: Pair = (
    19485874751759354771024239261021720505790618469301721065564631296452457478373,
    266929791119991161246907387137283842545076965332900288569378510910307636690,
)
_ADD, _MULTIPLY, _PAIR = 6, 7, 8


def g1(data: bytes) -> Pair:
    """Return the point of G1 in a compressed form. Errors: WrongSignature."""
    x, flags = _coordinate(data)
    if flags & _INFINITE:
        if x or flags & _LARGER:
            raise WrongSignature("a point of its proof is infinite and has a coordinate")
        return INFINITY
    y = _root(x * x % FIELD * x + _B)
    if y is None:
        raise WrongSignature("a point of its proof is not on the curve")
    return x, max(y, FIELD - y) if flags & _LARGER else min(y, FIELD - y)


def g2(data: bytes) -> Point2:
    """Return the point of G2 in a compressed form. Errors: WrongSignature."""
    imaginary, flags = _coordinate(data[_SIZE:])
    real = int.from_bytes(data[:_SIZE], "little")
    if flags & _INFINITE or real >= FIELD:
        raise WrongSignature("a point of its proof is infinite, or not on the curve")
    x = real, imaginary
    y = _root2(_add2(_times2(_times2(x, x), x), _B2))
    if y is None:
        raise WrongSignature("a point of its proof is not on the curve")
    other = (-y[0] % FIELD, -y[1] % FIELD)
    low, high = sorted((y, other), key=lambda each: (each[1], each[0]))
    return x, high if flags & _LARGER else low


def _coordinate(data: bytes) -> tuple[int, int]:
    flags = data[-1] & (_LARGER | _INFINITE)
    number = int.from_bytes(data[:-1] + bytes([data[-1] & ~flags & 0xFF]), "little")
    if number >= FIELD:
        raise WrongSignature("a point of its proof is not on the curve")
    return number, flags


def _root(square: int) -> int | None:
    root = pow(square, (FIELD + 1) // 4, FIELD)
    return root if root * root % FIELD == square % FIELD else None


def _add2(one: Pair, other: Pair) -> Pair:
    return (one[0] + other[0]) % FIELD, (one[1] + other[1]) % FIELD


def _times2(one: Pair, other: Pair) -> Pair:
    real = one[0] * other[0] - one[1] * other[1]
    imaginary = one[0] * other[1] + one[1] * other[0]
    return real % FIELD, imaginary % FIELD


def _root2(square: Pair) -> Pair | None:
    """Return a square root of a number with an imaginary part (i^2 = -1)."""
    length = _root((square[0] * square[0] + square[1] * square[1]) % FIELD)
    if length is None:
        return None
    half = pow(2, -1, FIELD)
    for sign in (1, -1):
        real = _root((square[0] + sign * length) * half % FIELD)
        if not real:
            continue
        root = real, square[1] * half * pow(real, -1, FIELD) % FIELD
        if _times2(root, root) == square:
            return root
    return None


# ARITHMETIC


def negated(point: Pair) -> Pair:
    return point if point == INFINITY else (point[0], FIELD - point[1])


def add(one: Pair, other: Pair) -> Pair:
    return _pair(_run(_ADD, _words(*one, *other)))


def times(point: Pair, factor: int) -> Pair:
    return _pair(_run(_MULTIPLY, _words(*point, factor % ORDER)))


def pairing_is_one(pairs: Iterable[tuple[Pair, Point2]]) -> bool:
    """Return whether the product of the pairings is one. Errors: WrongSignature for a point of no group."""
    data = b"".join(_words(*one, other[0][1], other[0][0], other[1][1], other[1][0]) for one, other in pairs)
    return int.from_bytes(_run(_PAIR, data), "big") == 1


def _words(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(_SIZE, "big") for number in numbers)


def _pair(data: bytes) -> Pair:
    return int.from_bytes(data[:_SIZE], "big"), int.from_bytes(data[_SIZE:], "big")


@cache
def _machine() -> Any:
    import pyrevm

    return pyrevm.EVM(spec_id="CANCUN")


def _run(contract: int, data: bytes) -> bytes:
    try:
        return bytes(
            _machine().message_call("0x" + "00" * 20, f"0x{contract:040x}", calldata=data, is_static=True)
        )
    except RuntimeError as error:
        raise WrongSignature("a point of its proof is not of the curve's group") from error
