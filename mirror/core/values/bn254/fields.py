"""The fields of BN254: the prime field and its extensions of degree 2, 6 and 12.

    Fp2 = Fp[i] / (i² + 1)    Fp6 = Fp2[v] / (v³ - ξ), ξ = 9 + i    Fp12 = Fp6[w] / (w² - v)

An element is the tuple of its coefficients; one of Fp6 holds three of Fp2 in a row. Products are sums of
integers that are reduced once, at the end (lazy reduction).
"""

from itertools import accumulate
from typing import Final

#: The parameter of the Barreto-Naehrig curve, from which the field and the order of its groups follow.
U: Final = 4965661367192848881
FIELD: Final = 36 * U**4 + 36 * U**3 + 24 * U**2 + 6 * U + 1
ORDER: Final = 36 * U**4 + 36 * U**3 + 18 * U**2 + 6 * U + 1

Fp2 = tuple[int, int]
Fp6 = tuple[int, int, int, int, int, int]
Fp12 = tuple[Fp6, Fp6]

XI: Final[Fp2] = (9, 1)
ONE: Final[Fp12] = ((1, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 0))


def signed_digits(number: int, width: int) -> list[int]:
    """Return the non-adjacent form of a window width, the least digit first: odd digits, most of them 0."""
    digits, size = [], 1 << width
    while number:
        digit = 0
        if number & 1:
            digit = number % size
            digit -= size if 2 * digit > size else 0
        digits.append(digit)
        number = number - digit >> 1
    return digits


# Fp


def inverses(numbers: list[int]) -> list[int]:
    """Return the inverses by a single inversion (Montgomery's trick). Errors: ValueError if one is 0."""
    products = list(accumulate(numbers, lambda product, number: product * number % FIELD, initial=1))
    inverse, found = pow(products.pop(), -1, FIELD), []
    for number, product in zip(reversed(numbers), reversed(products), strict=True):
        found.append(inverse * product % FIELD)
        inverse = inverse * number % FIELD
    return found[::-1]


def root(square: int) -> int | None:
    """Return a square root; None if there is none. The field's size is 3 modulo 4."""
    number = pow(square, (FIELD + 1) // 4, FIELD)
    return number if (number * number - square) % FIELD == 0 else None


# Fp2


def multiply2(a: Fp2, b: Fp2) -> Fp2:
    return (a[0] * b[0] - a[1] * b[1]) % FIELD, (a[0] * b[1] + a[1] * b[0]) % FIELD


def power2(base: Fp2, exponent: int) -> Fp2:
    result = (1, 0)
    for bit in f"{exponent:b}":
        result = multiply2(result, result)
        if bit == "1":
            result = multiply2(result, base)
    return result


def quotients2(fractions: list[tuple[Fp2, Fp2]]) -> list[Fp2]:
    """Divide numerators by denominators. Errors: ValueError if a denominator is 0."""
    return [
        ((n0 * d0 + n1 * d1) * inverse % FIELD, (n1 * d0 - n0 * d1) * inverse % FIELD)
        for ((n0, n1), (d0, d1)), inverse in zip(
            fractions, inverses([d0 * d0 + d1 * d1 for _, (d0, d1) in fractions]), strict=True
        )
    ]


def root2(square: Fp2) -> Fp2 | None:
    """Return a square root, by that of the norm; None if there is none."""
    norm_root = root(square[0] * square[0] + square[1] * square[1])
    for length in () if norm_root is None else (norm_root, -norm_root):
        real = root((square[0] + length) * _HALF)
        if real is None:
            continue
        imaginary = square[1] * _HALF * pow(real, -1, FIELD) % FIELD if real else root(-square[0])
        if imaginary is not None and multiply2((real, imaginary), (real, imaginary)) == square:
            return real, imaginary
    return None


_HALF: Final = (FIELD + 1) // 2

# Fp6


def _product6(a: Fp6, b: Fp6) -> Fp6:
    """Multiply by Karatsuba's method, without reduction."""
    a0, a1, a2, a3, a4, a5 = a
    b0, b1, b2, b3, b4, b5 = b
    r0, i0 = a0 * b0 - a1 * b1, a0 * b1 + a1 * b0
    r1, i1 = a2 * b2 - a3 * b3, a2 * b3 + a3 * b2
    r2, i2 = a4 * b4 - a5 * b5, a4 * b5 + a5 * b4
    s0, s1, t0, t1 = a2 + a4, a3 + a5, b2 + b4, b3 + b5
    r12, i12 = s0 * t0 - s1 * t1 - r1 - r2, s0 * t1 + s1 * t0 - i1 - i2
    s0, s1, t0, t1 = a0 + a2, a1 + a3, b0 + b2, b1 + b3
    r01, i01 = s0 * t0 - s1 * t1 - r0 - r1, s0 * t1 + s1 * t0 - i0 - i1
    s0, s1, t0, t1 = a0 + a4, a1 + a5, b0 + b4, b1 + b5
    r02, i02 = s0 * t0 - s1 * t1 - r0 - r2, s0 * t1 + s1 * t0 - i0 - i2
    return (
        *(r0 + 9 * r12 - i12, i0 + r12 + 9 * i12),
        *(r01 + 9 * r2 - i2, i01 + r2 + 9 * i2),
        *(r02 + r1, i02 + i1),
    )


def _inverse6(a: Fp6) -> Fp6:
    """Divide the product of the two other conjugates over Fp2 by the norm."""
    a0, a1, a2 = a[:2], a[2:4], a[4:]
    (r00, i00), (r01, i01), (r02, i02) = (multiply2(a0, each) for each in (a0, a1, a2))
    (r11, i11), (r12, i12), (r22, i22) = multiply2(a1, a1), multiply2(a1, a2), multiply2(a2, a2)
    adjoint = (
        *(r00 - 9 * r12 + i12, i00 - r12 - 9 * i12),
        *(9 * r22 - i22 - r01, r22 + 9 * i22 - i01),
        *(r11 - r02, i11 - i02),
    )
    norm0, norm1, *_ = _product6(a, adjoint)
    inverse = pow(norm0 * norm0 + norm1 * norm1, -1, FIELD)
    return _reduced(_product6(adjoint, (norm0 * inverse % FIELD, -norm1 * inverse % FIELD, 0, 0, 0, 0)))


def _reduced(a: Fp6) -> Fp6:
    a0, a1, a2, a3, a4, a5 = a
    return a0 % FIELD, a1 % FIELD, a2 % FIELD, a3 % FIELD, a4 % FIELD, a5 % FIELD


# Fp12


def multiply(a: Fp12, b: Fp12) -> Fp12:
    """Multiply by Karatsuba's method."""
    (a0, a1, a2, a3, a4, a5), (a6, a7, a8, a9, a10, a11) = a
    (b0, b1, b2, b3, b4, b5), (b6, b7, b8, b9, b10, b11) = b
    r0, i0, r1, i1, r2, i2 = _product6(a[0], b[0])
    s0, j0, s1, j1, s2, j2 = _product6(a[1], b[1])
    t0, k0, t1, k1, t2, k2 = _product6(
        (a0 + a6, a1 + a7, a2 + a8, a3 + a9, a4 + a10, a5 + a11),
        (b0 + b6, b1 + b7, b2 + b8, b3 + b9, b4 + b10, b5 + b11),
    )
    return (
        _reduced((r0 + 9 * s2 - j2, i0 + s2 + 9 * j2, r1 + s0, i1 + j0, r2 + s1, i2 + j1)),
        _reduced((t0 - r0 - s0, k0 - i0 - j0, t1 - r1 - s1, k1 - i1 - j1, t2 - r2 - s2, k2 - i2 - j2)),
    )


def square(a: Fp12) -> Fp12:
    """(A + B w)² = (A + B)(A + v B) - AB - v AB + 2AB w."""
    (a0, a1, a2, a3, a4, a5), (b0, b1, b2, b3, b4, b5) = a
    r0, i0, r1, i1, r2, i2 = _product6(a[0], a[1])
    s0, j0, s1, j1, s2, j2 = _product6(
        (a0 + b0, a1 + b1, a2 + b2, a3 + b3, a4 + b4, a5 + b5),
        (a0 + 9 * b4 - b5, a1 + b4 + 9 * b5, a2 + b0, a3 + b1, a4 + b2, a5 + b3),
    )
    real, imaginary = s0 - r0 - 9 * r2 + i2, j0 - i0 - r2 - 9 * i2
    return (
        _reduced((real, imaginary, s1 - r1 - r0, j1 - i1 - i0, s2 - r2 - r1, j2 - i2 - i1)),
        _reduced((2 * r0, 2 * i0, 2 * r1, 2 * i1, 2 * r2, 2 * i2)),
    )


def multiply_by_line(a: Fp12, b: Fp2, c: Fp2) -> Fp12:
    """Multiply by the sparse number 1 + (b + c v) w."""
    (a0, a1, a2, a3, a4, a5), (a6, a7, a8, a9, a10, a11) = a
    (b0, b1), (c0, c1) = b, c
    # What v³ = ξ multiplies.
    r0, i0 = a8 * c0 - a9 * c1 + a10 * b0 - a11 * b1, a8 * c1 + a9 * c0 + a10 * b1 + a11 * b0
    r1, i1 = a10 * c0 - a11 * c1, a10 * c1 + a11 * c0
    r2, i2 = a4 * c0 - a5 * c1, a4 * c1 + a5 * c0
    first = (
        *(a0 + 9 * r0 - i0, a1 + r0 + 9 * i0),
        *(a2 + a6 * b0 - a7 * b1 + 9 * r1 - i1, a3 + a6 * b1 + a7 * b0 + r1 + 9 * i1),
        *(a4 + a6 * c0 - a7 * c1 + a8 * b0 - a9 * b1, a5 + a6 * c1 + a7 * c0 + a8 * b1 + a9 * b0),
    )
    second = (
        *(a6 + a0 * b0 - a1 * b1 + 9 * r2 - i2, a7 + a0 * b1 + a1 * b0 + r2 + 9 * i2),
        *(a8 + a0 * c0 - a1 * c1 + a2 * b0 - a3 * b1, a9 + a0 * c1 + a1 * c0 + a2 * b1 + a3 * b0),
        *(a10 + a2 * c0 - a3 * c1 + a4 * b0 - a5 * b1, a11 + a2 * c1 + a3 * c0 + a4 * b1 + a5 * b0),
    )
    return _reduced(first), _reduced(second)


def conjugate(a: Fp12) -> Fp12:
    """Raise to the power of p⁶; in the cyclotomic subgroup that is the inverse."""
    b0, b1, b2, b3, b4, b5 = a[1]
    return a[0], (-b0, -b1, -b2, -b3, -b4, -b5)


def inverse(a: Fp12) -> Fp12:
    """Divide the conjugate by the norm over Fp6, A² - v B²."""
    r0, i0, r1, i1, r2, i2 = _product6(a[0], a[0])
    s0, j0, s1, j1, s2, j2 = _product6(a[1], a[1])
    norm = r0 - 9 * s2 + j2, i0 - s2 - 9 * j2, r1 - s0, i1 - j0, r2 - s1, i2 - j1
    divisor = _inverse6(_reduced(norm))
    return _reduced(_product6(a[0], divisor)), _reduced(_product6(conjugate(a)[1], divisor))


def frobenius(a: Fp12) -> Fp12:
    """Raise to the power of p: each coefficient of w to the power of k is conjugated and multiplied."""
    parts: list[Fp6] = []
    for part, factors in zip(a, (GAMMAS[::2], GAMMAS[1::2]), strict=True):
        conjugates = (part[0], -part[1]), (part[2], -part[3]), (part[4], -part[5])
        x, y, z = map(multiply2, conjugates, factors)
        parts.append((*x, *y, *z))
    return parts[0], parts[1]


def cyclotomic_square(a: Fp12) -> Fp12:
    """Square a number of the cyclotomic subgroup by three squares over Fp4 (Granger and Scott, 2009/565)."""
    (a0, a1, a2, a3, a4, a5), (b0, b1, b2, b3, b4, b5) = a
    r0, i0, s0, j0 = _three_squares4(a0, a1, b2, b3)
    r1, i1, s1, j1 = _three_squares4(b0, b1, a4, a5)
    r2, i2, s2, j2 = _three_squares4(a2, a3, b4, b5)
    real, imaginary = 9 * s2 - j2 + 2 * b0, s2 + 9 * j2 + 2 * b1
    return (
        _reduced((r0 - 2 * a0, i0 - 2 * a1, r1 - 2 * a2, i1 - 2 * a3, r2 - 2 * a4, i2 - 2 * a5)),
        _reduced((real, imaginary, s0 + 2 * b2, j0 + 2 * b3, s1 + 2 * b4, j1 + 2 * b5)),
    )


def _three_squares4(a0: int, a1: int, b0: int, b1: int) -> tuple[int, int, int, int]:
    """3 (a + b w³)² = 3 (a² + ξ b² + 2ab w³), without reduction."""
    r, i = (b0 + b1) * (b0 - b1), 2 * b0 * b1
    square = 3 * ((a0 + a1) * (a0 - a1) + 9 * r - i), 3 * (2 * a0 * a1 + r + 9 * i)
    return *square, 6 * (a0 * b0 - a1 * b1), 6 * (a0 * b1 + a1 * b0)


#: ξ to the powers of k (p - 1) / 6 for k from 0 to 5: what w to the power of k takes on by a Frobenius.
GAMMAS: Final = list(accumulate([power2(XI, (FIELD - 1) // 6)] * 5, multiply2, initial=(1, 0)))
