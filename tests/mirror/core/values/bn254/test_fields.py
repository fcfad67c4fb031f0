import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirror.core.values.bn254 import fields
from mirror.core.values.bn254.fields import FIELD, ONE, ORDER, U
from tests.mirror.core.values.bn254.reference import bn128, number2, number12

fp = st.integers(0, FIELD - 1) | st.sampled_from([0, 1, 2, FIELD - 1])
fp2 = st.tuples(fp, fp)
fp6 = st.tuples(fp, fp, fp, fp, fp, fp)
fp12 = st.tuples(fp6, fp6)


def test_field_and_order_are_those_of_the_curve():
    assert (bn128.field_modulus, bn128.curve_order) == (FIELD, ORDER)


@given(st.integers(0, 2**260), st.integers(2, 6))
def test_signed_digits_are_sparse_and_have_the_value(number, width):
    digits = fields.signed_digits(number, width)

    assert sum(digit << place for place, digit in enumerate(digits)) == number
    assert all(digit % 2 and abs(digit) < 1 << width - 1 for digit in digits if digit)
    places = [place for place, digit in enumerate(digits) if digit]
    assert all(later - place >= width for place, later in zip(places, places[1:], strict=False))


@given(st.lists(st.integers(1, FIELD - 1)))
def test_inverses_are_those_of_each_number(numbers):
    found = fields.inverses(numbers)

    assert [number * inverse % FIELD for number, inverse in zip(numbers, found, strict=True)] == [1] * len(
        numbers
    )


@pytest.mark.parametrize("numbers", [[0], [3, FIELD, 5]])
def test_zero_has_no_inverse(numbers):
    with pytest.raises(ValueError, match="not invertible"):
        fields.inverses(numbers)


@given(fp)
def test_root_is_one_of_the_number_or_of_no_square(number):
    root = fields.root(number * number)
    assert root in (number, (FIELD - number) % FIELD)
    # -1 is no square.
    assert number == 0 or fields.root(-number * number) is None


@given(fp2)
def test_square_of_fp2_has_its_root(number):
    square = fields.multiply2(number, number)
    root = fields.root2(square)

    assert root is not None
    assert fields.multiply2(root, root) == square
    # ξ is no square.
    assert number == (0, 0) or fields.root2(fields.multiply2(square, fields.XI)) is None


@given(fp2, fp2.filter(any), fp2.filter(any))
def test_quotient_times_denominator_is_the_numerator(numerator, first, second):
    for quotient, denominator in zip(
        fields.quotients2([(numerator, first), (numerator, second)]), (first, second), strict=True
    ):
        assert fields.multiply2(quotient, denominator) == numerator


@settings(max_examples=25)
@given(fp2, fp2, fp12, fp12)
def test_products_are_those_of_py_ecc(b, c, x, y):
    line = (1, 0, 0, 0, 0, 0), (*b, *c, 0, 0)

    assert number2(fields.multiply2(b, c)) == number2(b) * number2(c)
    assert number12(fields.multiply(x, y)) == number12(x) * number12(y)
    assert number12(fields.square(x)) == number12(x) * number12(x)
    assert fields.multiply_by_line(x, b, c) == fields.multiply(x, line)


@settings(max_examples=25)
@given(fp12)
def test_number_times_its_inverse_is_one(number):
    assert number == ((0,) * 6, (0,) * 6) or fields.multiply(number, fields.inverse(number)) == ONE


@settings(max_examples=5)
@given(fp12)
def test_frobenius_is_the_power_of_the_field(number):
    assert number12(fields.frobenius(number)) == number12(number) ** FIELD


@settings(max_examples=25)
@given(fp12.filter(lambda number: any(number[0] + number[1])))
def test_squares_of_the_cyclotomic_subgroup_are_squares(number):
    number = fields.multiply(fields.conjugate(number), fields.inverse(number))
    number = fields.multiply(fields.frobenius(fields.frobenius(number)), number)

    assert fields.cyclotomic_square(number) == fields.square(number)
    assert fields.multiply(number, fields.conjugate(number)) == ONE


def test_the_curve_is_one_of_barreto_and_naehrig():
    trace = 6 * U**2 + 1
    assert FIELD + 1 - trace == ORDER
