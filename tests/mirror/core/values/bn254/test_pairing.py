from math import gcd

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirror.core.values.bn254 import fields
from mirror.core.values.bn254.fields import FIELD, ONE, ORDER, Fp12, U
from mirror.core.values.bn254.pairing import is_one, pairing
from mirror.core.values.bn254.points import INFINITY, INFINITY2, InvalidPoint, linear_combination, negative
from tests.mirror.core.values.bn254.reference import (
    G1,
    bn128,
    number12,
    on_twist,
    point1,
    point2,
    times1,
    times2,
)

G2 = times2(1)
# The number of points of the twist is this times the order.
COFACTOR = 2 * FIELD - ORDER
# The power of the pairing that the final exponentiation gives.
POWER = 2 * U * (6 * U**2 + 3 * U + 1)
numbers = st.integers(1, ORDER - 1) | st.sampled_from([1, 2, ORDER - 1])


def power(number: Fp12, exponent: int) -> Fp12:
    result = ONE
    for bit in f"{exponent:b}":
        result = fields.square(result)
        if bit == "1":
            result = fields.multiply(result, number)
    return result


@settings(max_examples=10, deadline=None)
@given(numbers, numbers)
def test_pairing_is_bilinear(a, b):
    value = pairing([(times1(a), times2(b))])

    assert value == power(pairing([(G1, G2)]), a * b % ORDER)
    assert value == pairing([(linear_combination([(G1, a * b)]), G2)])
    assert is_one([(times1(a), times2(b)), (negative(times1(a * b % ORDER)), G2)])


@settings(max_examples=5, deadline=None)
@given(st.lists(st.tuples(numbers, numbers), max_size=4))
def test_pairing_of_several_is_the_product(pairs):
    product = ONE
    for a, b in pairs:
        product = fields.multiply(product, pairing([(times1(a), times2(b))]))

    assert pairing([(times1(a), times2(b)) for a, b in pairs]) == product


@pytest.mark.parametrize(("a", "b"), [(1, 1), (3, 7), (2**200 + 1, ORDER - 5)])
def test_pairing_is_a_power_of_that_of_py_ecc(a, b):
    p, q = bn128.multiply(bn128.G1, a), bn128.multiply(bn128.G2, b)

    assert number12(pairing([(point1(p), point2(q))])) == bn128.pairing(q, p) ** POWER


def test_pairing_has_the_order_of_the_groups():
    value = pairing([(G1, G2)])

    assert value != ONE
    assert power(value, ORDER) == ONE


def test_the_final_exponent_is_a_multiple_with_no_more_of_the_order():
    part = 6 * U**2 + 12 * U**3
    exponents = 1 + 6 * U + 6 * U**2 + part, 4 * U + part, 6 * U + part, 4 * U - 1 + part

    assert sum(each * FIELD**power for power, each in enumerate(exponents)) == (
        (FIELD**4 - FIELD**2 + 1) // ORDER * POWER
    )
    assert gcd(POWER, ORDER) == 1


# INFINITY


@pytest.mark.parametrize(
    "pairs", [[], [(INFINITY, G2)], [(G1, INFINITY2)], [(INFINITY, INFINITY2)] * 2], ids=range(4)
)
def test_pairing_with_infinity_is_one(pairs):
    assert pairing(pairs) == ONE
    assert pairing([*pairs, (G1, G2)]) == pairing([(G1, G2), *pairs]) == pairing([(G1, G2)])


# POINTS OUTSIDE OF THE GROUP


def outside() -> list[object]:
    """Points of the twist: at random, of small orders, and with one of G2 added."""
    point = on_twist(1)
    small = [bn128.multiply(point, ORDER * (COFACTOR // order)) for order in (10069, 5864401)]
    assert not any(bn128.is_inf(each) for each in small)
    return [point, on_twist(200), *small, bn128.multiply(point, ORDER), bn128.add(small[0], bn128.G2)]


@pytest.mark.parametrize("place", range(6))
def test_points_of_the_twist_outside_of_g2_are_refused(place):
    point = point2(outside()[place])

    for pairs in ([(G1, point)], [(INFINITY, point)], [(G1, G2), (G1, point)]):
        with pytest.raises(InvalidPoint):
            pairing(pairs)


def test_multiples_of_the_cofactor_are_points_of_g2():
    assert pairing([(G1, point2(bn128.multiply(on_twist(1), COFACTOR)))]) != ONE


def test_only_the_points_of_g2_satisfy_the_equation_that_the_loop_ends_with():
    """A norm of the endomorphisms, whose squares are trace times them minus the field's size."""
    trace = 6 * U**2 + 1

    def times(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
        (a, b), (c, d) = one, other
        return a * c - b * d * FIELD, a * d + b * c + b * d * trace

    psi = 0, 1
    second = times(psi, psi)
    third = times(second, psi)
    a, b = 6 * U + 2 - second[0] + third[0], 1 - second[1] + third[1]
    norm = a * a + a * b * trace + b * b * FIELD

    assert gcd(norm, ORDER * COFACTOR) == ORDER


# TIME


class Late(Exception):
    pass


@pytest.mark.parametrize("step", [1, 2, 64])
def test_what_is_called_before_each_step_can_end_the_pairing(step):
    left = step

    def count() -> None:
        nonlocal left
        left -= 1
        if not left:
            raise Late

    with pytest.raises(Late):
        pairing([(G1, G2)], count)
