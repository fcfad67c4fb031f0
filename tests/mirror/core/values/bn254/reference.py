"""BN254 as py_ecc computes it: slowly, and taken as right."""

from typing import Any

from py_ecc import optimized_bn128

from mirror.core.values.bn254.fields import Fp2, Fp12
from mirror.core.values.bn254.points import INFINITY, INFINITY2, Point1, Point2

# Its names are not declared.
bn128: Any = optimized_bn128
G1: Point1 = (1, 2)


def point1(point: Any) -> Point1:
    if bn128.is_inf(point):
        return INFINITY
    x, y = bn128.normalize(point)
    return int(x), int(y)


def point2(point: Any) -> Point2:
    if bn128.is_inf(point):
        return INFINITY2
    (x0, x1), (y0, y1) = (each.coeffs for each in bn128.normalize(point))
    return (int(x0), int(x1)), (int(y0), int(y1))


def times1(number: int) -> Point1:
    """The generator of G1 multiplied."""
    return point1(bn128.multiply(bn128.G1, number))


def times2(number: int) -> Point2:
    """The generator of G2 multiplied."""
    return point2(bn128.multiply(bn128.G2, number))


def number2(number: Fp2) -> Any:
    return bn128.FQ2(list(number))


def number12(number: Fp12) -> Any:
    """Its numbers are polynomials in w over Fp, with w⁶ = 9 + i."""
    coefficients = [0] * 12
    for first, part in enumerate(number):
        for place in range(3):
            real, imaginary = part[2 * place : 2 * place + 2]
            power = 2 * place + first
            coefficients[power] += real - 9 * imaginary
            coefficients[power + 6] += imaginary
    return bn128.FQ12(coefficients)


def on_twist(first_x: int) -> Any:
    """The next point of the twist from an x on; all but one of 2**254 such points are outside of G2."""
    for real in range(first_x, first_x + 100):
        x = bn128.FQ2([real, 1])
        square = x * x * x + bn128.b2
        root = square ** ((bn128.field_modulus**2 + 15) // 32)
        for _ in range(4):
            if root * root == square:
                return x, root, bn128.FQ2.one()
            root = root * bn128.FQ2([1, 1])
    raise AssertionError
