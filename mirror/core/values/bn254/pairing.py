"""The optimal ate pairing of BN254 (Vercauteren, 2008/096), of several pairs of points at once.

Points are affine: the slopes of all pairs take a single inversion in each step. Lines are divided by their
constant, a number of Fp, which the final exponentiation makes one.
"""

from collections.abc import Callable, Iterable
from typing import Final

from mirror.core.values.bn254.fields import (
    FIELD,
    GAMMAS,
    ONE,
    Fp12,
    U,
    conjugate,
    cyclotomic_square,
    frobenius,
    inverse,
    multiply,
    multiply2,
    multiply_by_line,
    quotients2,
    signed_digits,
    square,
)
from mirror.core.values.bn254.points import INFINITY2, InvalidPoint, Point1, Point2, negative2

Pairs = Iterable[tuple[Point1, Point2]]

_LOOP: Final = signed_digits(6 * U + 2, 2)[-2::-1]
_WINDOW = 4
_DIGITS_OF_U: Final = signed_digits(U, _WINDOW)[::-1]


def is_one(pairs: Pairs, before_step: Callable[[], object] = lambda: None) -> bool:
    """Return whether the product of the pairings is one. Errors: InvalidPoint; what `before_step` raises."""
    return pairing(pairs, before_step) == ONE


def pairing(pairs: Pairs, before_step: Callable[[], object] = lambda: None) -> Fp12:
    """Return the product of the pairings of points of the two curves.

    `before_step` is called before each step of the loop.

    Errors: InvalidPoint for a point of the twist that is not in G2; what `before_step` raises.
    """
    finite = [(one, other) for one, other in pairs if other != INFINITY2]
    return _final_power(_Loop(finite, before_step).run()) if finite else ONE


class _Loop:
    """Miller's loop for all pairs: `_at` are the multiples of the points of G2 so far."""

    def __init__(self, pairs: list[tuple[Point1, Point2]], before_step: Callable[[], object]) -> None:
        self._others = [other for _, other in pairs]
        self._at, self._product, self._before_step = self._others, ONE, before_step
        # 1 / y and -x / y: zero at infinity, and so the lines are one.
        scales = [pow(y, -1, FIELD) if y else 0 for (_, y), _ in pairs]
        self._scales = [(scale, -x * scale % FIELD) for scale, ((x, _), _) in zip(scales, pairs, strict=True)]

    def run(self) -> Fp12:
        """Return the product of the lines. Errors: InvalidPoint for a point that is not in G2.

        The points Q of G2 are those of the twist with [6u + 2] Q + ψ(Q) - ψ²(Q) + ψ³(Q) = 0: the greatest
        common divisor of the norm of 6u + 2 + ψ - ψ² + ψ³ and the number of points is r (the argument of El
        Housni, Guillevic and Piellard, 2022/352). At a point of smaller order a step may have no slope.
        """
        negative = [negative2(other) for other in self._others]
        for digit in _LOOP:
            self._before_step()
            self._product = square(self._product)
            self._step(self._at)
            if digit:
                self._step(self._others if digit > 0 else negative)
        first = [_psi(other) for other in self._others]
        second = [_psi(other) for other in first]
        self._step(first)
        self._step([negative2(other) for other in second])
        if self._at != [negative2(_psi(other)) for other in second]:
            raise InvalidPoint
        return self._product

    def _step(self, others: list[Point2]) -> None:
        """Add points, or double if they are the same, and multiply by the lines through them."""
        if others is self._at:
            fractions = [((3 * (a + b) * (a - b), 6 * a * b), (2 * c, 2 * d)) for (a, b), (c, d) in self._at]
        else:
            fractions = [
                ((y2 - y0, y3 - y1), (x2 - x0, x3 - x1))
                for ((x0, x1), (y0, y1)), ((x2, x3), (y2, y3)) in zip(self._at, others, strict=True)
            ]
        try:
            slopes = quotients2(fractions)
        except ValueError as error:
            raise InvalidPoint from error
        sums = []
        for (s0, s1), ((x0, x1), (y0, y1)), ((x2, x3), _), (scale, shift) in zip(
            slopes, self._at, others, self._scales, strict=True
        ):
            # In the coordinates of the curve over Fp12: 1 - slope x/y w + (slope x0 - y0)/y w³.
            c0, c1 = s0 * x0 - s1 * x1 - y0, s0 * x1 + s1 * x0 - y1
            self._product = multiply_by_line(
                self._product,
                (s0 * shift % FIELD, s1 * shift % FIELD),
                (c0 * scale % FIELD, c1 * scale % FIELD),
            )
            x2, x3 = ((s0 + s1) * (s0 - s1) - x0 - x2) % FIELD, (2 * s0 * s1 - x1 - x3) % FIELD
            sums.append(((x2, x3), ((-s0 * x2 + s1 * x3 + c0) % FIELD, (-s0 * x3 - s1 * x2 + c1) % FIELD)))
        self._at = sums


def _psi(point: Point2) -> Point2:
    """Apply the endomorphism ψ of the twist: untwist, Frobenius, twist (Galbraith and Scott, 2008/117)."""
    (x0, x1), (y0, y1) = point
    return multiply2((x0, -x1), GAMMAS[2]), multiply2((y0, -y1), GAMMAS[3])


def _final_power(number: Fp12) -> Fp12:
    """Raise to the power of (p¹² - 1) / r, times a constant that is no multiple of r.

    The exponent of the hard part is λ0 + λ1 p + λ2 p² + λ3 p³ (Fuentes-Castañeda, Knapp, Rodríguez-Henríquez,
    2011): λ0 = 1 + 6u + 12u² + 12u³, λ1 = 4u + 6u² + 12u³, λ2 = 6u + 6u² + 12u³, λ3 = -1 + 4u + 6u² + 12u³.
    """
    number = multiply(conjugate(number), inverse(number))
    number = multiply(frobenius(frobenius(number)), number)
    two = cyclotomic_square(_power_of_u(number))
    six = multiply(cyclotomic_square(two), two)
    six_u = _power_of_u(six)
    a = multiply(multiply(_power_of_u(cyclotomic_square(six_u)), six_u), six)
    b = multiply(a, conjugate(two))
    result = multiply(b, conjugate(number))
    for factor in (a, b, multiply(multiply(a, six_u), number)):
        result = multiply(frobenius(result), factor)
    return result


def _power_of_u(number: Fp12) -> Fp12:
    """Raise a number of the cyclotomic subgroup to the power of u."""
    powers, squared = [number], cyclotomic_square(number)
    for _ in range((1 << _WINDOW - 2) - 1):
        powers.append(multiply(powers[-1], squared))
    result = powers[_DIGITS_OF_U[0] >> 1]
    for digit in _DIGITS_OF_U[1:]:
        result = cyclotomic_square(result)
        if digit:
            power = powers[abs(digit) >> 1]
            result = multiply(result, power if digit > 0 else conjugate(power))
    return result
