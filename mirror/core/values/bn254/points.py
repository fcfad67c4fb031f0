"""Points of the groups G1, on the curve y² = x³ + 3, and G2, on its twist y² = x³ + 3 / ξ over Fp2.

They are in affine coordinates; (0, 0), which is on neither curve, is the point at infinity. G1 is the whole
curve, G2 a subgroup of the twist. `encoded` and the readers have the form of EIP-196 and EIP-197.
"""

from collections.abc import Iterable
from typing import Final

from mirror.core.values.bn254.fields import (
    FIELD,
    ORDER,
    XI,
    Fp2,
    U,
    inverses,
    multiply2,
    quotients2,
    signed_digits,
)

Point1 = tuple[int, int]
Point2 = tuple[Fp2, Fp2]
INFINITY: Final[Point1] = (0, 0)
INFINITY2: Final[Point2] = (INFINITY, INFINITY)

B: Final = 3
(_B2,) = quotients2([((B, 0), XI)])

_SIZE = 32
_WINDOW = 4
_Jacobian = tuple[int, int, int]

# The endomorphism (x, y) -> (βx, y) multiplies by λ; β and λ are cube roots of one, of Fp and modulo the
# order. The vectors are a short basis of all (a, b) with a + bλ = 0 (Gallant, Lambert and Vanstone, 2001).
_BETA, _LAMBDA = 18 * U**3 + 18 * U**2 + 9 * U + 1, 36 * U**3 + 18 * U**2 + 6 * U + 1
_V1, _V2 = (6 * U**2 + 4 * U + 1, 2 * U + 1), (2 * U + 1, -6 * U**2 - 2 * U)


class InvalidPoint(ValueError):
    """Coordinates that are those of no point of the group."""


def is_on_curve(point: Point1) -> bool:
    x, y = point
    return point == INFINITY or (y * y - x * x * x - B) % FIELD == 0


def is_on_twist(point: Point2) -> bool:
    """Return whether a point is on the twist. Whether it is in G2, the pairing checks."""
    x, y = point
    return point == INFINITY2 or multiply2(y, y) == twist_square(x)


def twist_square(x: Fp2) -> Fp2:
    """Return x³ + 3 / ξ, the square of y."""
    real, imaginary = multiply2(multiply2(x, x), x)
    return (real + _B2[0]) % FIELD, (imaginary + _B2[1]) % FIELD


def negative2(point: Point2) -> Point2:
    x, (y0, y1) = point
    return x, (-y0 % FIELD, -y1 % FIELD)


def negative(point: Point1) -> Point1:
    return point[0], -point[1] % FIELD


def add(one: Point1, other: Point1) -> Point1:
    if INFINITY in (one, other):
        return other if one == INFINITY else one
    (x1, y1), (x2, y2) = one, other
    if x1 != x2:
        slope = (y2 - y1) * pow(x2 - x1, -1, FIELD) % FIELD
    elif y1 == y2:
        slope = 3 * x1 * x1 * pow(2 * y1, -1, FIELD) % FIELD
    else:
        return INFINITY
    x = (slope * slope - x1 - x2) % FIELD
    return x, (slope * (x1 - x) - y1) % FIELD


def linear_combination(terms: Iterable[tuple[Point1, int]]) -> Point1:
    """Return the sum of points multiplied by numbers, doubled together for all (Straus's method)."""
    tables = [
        (table, signed_digits(factor, _WINDOW))
        for point, number in terms
        if point != INFINITY
        for table, factor in zip(_odd_multiples(point), _halves(number % ORDER), strict=True)
    ]
    total: _Jacobian = (1, 1, 0)
    for place in reversed(range(max((len(digits) for _, digits in tables), default=0))):
        total = _double(total)
        for table, digits in tables:
            if place < len(digits) and (digit := digits[place]):
                x, y = table[abs(digit) >> 1]
                total = _add_affine(total, (x, y if digit > 0 else -y))
    return _affine([total])[0] if total[2] else INFINITY


def _halves(number: int) -> tuple[int, int]:
    """Return numbers (a, b) of half the length with a + bλ equal to a number."""
    c1, c2 = (2 * number * each // ORDER + 1 >> 1 for each in (-_V2[1], _V1[1]))
    return number - c1 * _V1[0] - c2 * _V2[0], -c1 * _V1[1] - c2 * _V2[1]


def _odd_multiples(point: Point1) -> tuple[list[Point1], list[Point1]]:
    """Return a point times 1, 3, 5 and 7, and the same by the endomorphism."""
    twice, multiples = add(point, point), [(*point, 1)]
    for _ in range((1 << _WINDOW - 2) - 1):
        multiples.append(_add_affine(multiples[-1], twice))
    table = _affine(multiples)
    return table, [(_BETA * x % FIELD, y) for x, y in table]


def _affine(points: list[_Jacobian]) -> list[Point1]:
    shares = inverses([z for _, _, z in points])
    return [
        (x * share * share % FIELD, y * share * share * share % FIELD)
        for (x, y, _), share in zip(points, shares, strict=True)
    ]


def _double(point: _Jacobian) -> _Jacobian:
    x, y, z = point
    square = y * y % FIELD
    slope, distance = 3 * x * x % FIELD, 4 * x * square % FIELD
    x = (slope * slope - 2 * distance) % FIELD
    return x, (slope * (distance - x) - 8 * square * square) % FIELD, 2 * y * z % FIELD


def _add_affine(one: _Jacobian, other: Point1) -> _Jacobian:
    (x1, y1, z), (x2, y2) = one, other
    if not z:
        return x2, y2, 1
    square = z * z % FIELD
    width, height = (x2 * square - x1) % FIELD, (y2 * z * square - y1) % FIELD
    if not width:
        return (1, 1, 0) if height else _double(one)
    square = width * width % FIELD
    cube, distance = width * square % FIELD, x1 * square % FIELD
    x = (height * height - cube - 2 * distance) % FIELD
    return x, (height * (distance - x) - y1 * cube) % FIELD, z * width % FIELD


# ENCODING


def encoded(point: Point1) -> bytes:
    return b"".join(number.to_bytes(_SIZE, "big") for number in point)


def read_g1(data: bytes, start: int = 0) -> Point1:
    """Read the two words of a point, with zeros behind the end of data. Errors: InvalidPoint."""
    x, y = _numbers(data, start, 2)
    if not is_on_curve(point := (x, y)):
        raise InvalidPoint
    return point


def read_g2(data: bytes, start: int = 0) -> Point2:
    """Read the four words of a point of the twist, the imaginary parts first. Errors: InvalidPoint."""
    x1, x0, y1, y0 = _numbers(data, start, 4)
    if not is_on_twist(point := ((x0, x1), (y0, y1))):
        raise InvalidPoint
    return point


def _numbers(data: bytes, start: int, count: int) -> list[int]:
    end = start + count * _SIZE
    words = data[start:end].ljust(end - start, b"\0")
    numbers = [int.from_bytes(words[at : at + _SIZE], "big") for at in range(0, len(words), _SIZE)]
    if max(numbers) >= FIELD:
        raise InvalidPoint
    return numbers
