import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirror.core.values.bn254 import points
from mirror.core.values.bn254.fields import FIELD, ORDER, U
from mirror.core.values.bn254.points import (
    INFINITY,
    INFINITY2,
    InvalidPoint,
    add,
    encoded,
    linear_combination,
    negative,
    read_g1,
    read_g2,
)
from tests.mirror.core.values.bn254.reference import G1, on_twist, point2, times1, times2

# The eigenvalue of the endomorphism, and the length of its lattice: where numbers are divided otherwise.
LAMBDA, LENGTH = 36 * U**3 + 18 * U**2 + 6 * U + 1, 6 * U**2 + 4 * U + 1
EDGES = [0, 1, 2, 3, 7, 8, ORDER - 1, ORDER, ORDER + 1, LAMBDA - 1, LAMBDA, LAMBDA + 1, LENGTH, 2 * U + 1]
numbers = st.integers(0, 2**256 - 1) | st.sampled_from(EDGES)
curve = numbers.map(lambda number: linear_combination([(G1, number)]))


def words(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(32, "big") for number in numbers)


# THE GROUP


@given(curve, curve, curve)
def test_addition_is_that_of_a_group(p, q, r):
    assert points.is_on_curve(add(p, q))
    assert add(p, q) == add(q, p)
    assert add(add(p, q), r) == add(p, add(q, r))
    assert add(p, INFINITY) == p
    assert add(p, negative(p)) == INFINITY


@pytest.mark.parametrize("number", EDGES + [2**256 - 1])
def test_multiple_is_that_of_py_ecc(number):
    assert linear_combination([(G1, number)]) == times1(number)


@settings(max_examples=20)
@given(numbers)
def test_random_multiple_is_that_of_py_ecc(number):
    assert linear_combination([(G1, number)]) == times1(number)


@given(st.lists(st.tuples(curve, numbers | numbers.map(lambda number: -number)), max_size=5))
def test_linear_combination_is_the_sum_of_multiples(terms):
    total = INFINITY
    for point, number in terms:
        total = add(total, linear_combination([(point, number)]))

    assert linear_combination(terms) == total


@given(curve, numbers)
def test_combination_of_equal_and_opposite_points_is_a_multiple(point, number):
    assert linear_combination([(point, number), (point, number)]) == linear_combination([(point, 2 * number)])
    assert linear_combination([(point, number), (negative(point), number)]) == INFINITY


# ENCODING


@given(curve)
def test_point_of_the_curve_is_read_as_it_is_encoded(point):
    assert read_g1(encoded(point)) == point


def test_infinity_is_encoded_as_zeros():
    assert (encoded(INFINITY), read_g2(bytes(128))) == (bytes(64), INFINITY2)


@pytest.mark.parametrize("number", [1, 2, ORDER - 1])
def test_point_of_the_twist_has_its_imaginary_parts_first(number):
    (x0, x1), (y0, y1) = times2(number)

    assert read_g2(words(x1, x0, y1, y0)) == ((x0, x1), (y0, y1))
    with pytest.raises(InvalidPoint):
        read_g2(words(x0, x1, y0, y1))


def test_points_of_the_twist_are_on_it_outside_of_the_group_too():
    assert points.is_on_twist(point2(on_twist(1)))


@pytest.mark.parametrize(
    "data",
    [
        words(1, 1),
        words(0, 1),
        words(1, 0),
        words(1, FIELD + 2),
        words(FIELD + 1, 2),
        words(FIELD, 0),
        words(0, FIELD),
        words(2**256 - 1, 2**256 - 1),
    ],
    ids=range(8),
)
def test_coordinates_of_no_point_of_the_curve_are_refused(data):
    with pytest.raises(InvalidPoint):
        read_g1(data)


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("change", [1, FIELD])
def test_coordinates_of_no_point_of_the_twist_are_refused(place, change):
    (x0, x1), (y0, y1) = times2(5)
    coordinates = [x1, x0, y1, y0]
    coordinates[place] += change

    with pytest.raises(InvalidPoint):
        read_g2(words(*coordinates))
