import pytest

from mirror.core.db.reading.query import Bounds, Ends
from mirror.core.db.reading.sql import Comparison


def comparisons(*pairs):
    return [Comparison(*pair) for pair in pairs]


@pytest.mark.parametrize(
    ("given", "within"),
    [
        ([("eq", 1), ("eq", 5), ("eq", 9)], {1, 5, 9}),
        ([("eq", 1), ("eq", 5), ("eq", 9), ("gte", 5)], {5, 9}),
        ([("eq", 1), ("eq", 5), ("eq", 9), ("gt", 1), ("lt", 9)], {5}),
        ([("eq", 1), ("gt", 1)], set()),
        ([("gt", 1)], set()),
    ],
)
def test_equal_values_outside_the_range_are_dropped(given, within):
    assert Bounds.combine(comparisons(*given)).equal_within == within


@pytest.mark.parametrize(
    ("given", "lower", "upper", "bounds", "single"),
    [
        ([], None, None, Bounds(), False),
        ([("ne", 1)], None, None, Bounds(), False),
        ([("gt", 3), ("gte", 1)], ("gte", 1), None, Bounds(lower=1), False),
        ([("gt", 3), ("eq", 1)], ("eq", 1), None, Bounds(lower=1), True),
        ([("lt", 3), ("lte", 5), ("eq", 1)], ("eq", 1), ("lte", 5), Bounds(1, 5), True),
        ([("gt", 3), ("lt", 4)], ("gt", 3), ("lt", 4), Bounds(4, 3), False),
        ([("gt", 3), ("lt", 5)], ("gt", 3), ("lt", 5), Bounds(4, 4), True),
    ],
)
def test_the_last_comparison_on_each_side_is_an_end(given, lower, upper, bounds, single):
    ends = Ends.combine(comparisons(*given))
    assert (ends.lower, ends.upper) == (lower, upper)
    assert ends.bounds == bounds
    assert ends.equal == (lower is not None and lower[0] == "eq")
    assert ends.single == single
