"""The multiplier of fees for high volume."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror.core.values.hapi.messages import FeeSchedule
from network.fees.estimate import multiplier


def rates(most, *points):
    """Without points there is no curve."""
    definition = {"max_multiplier": most}
    if points:
        of_curve = [{"utilization_basis_points": busy, "multiplier": times} for busy, times in points]
        definition["pricing_curve"] = {"piecewise_linear": {"points": of_curve}}
    entry = {"name": 27, "high_volume_rates": definition}
    return FeeSchedule(services=[{"schedule": [entry]}]).services[0].schedule[0].high_volume_rates


CURVE = rates(9000, (100, 2000), (300, 4000), (300, 5000), (1000, 12_000))


@pytest.mark.parametrize(
    ("of", "busy", "expected"),
    [
        (CURVE, 0, 2000),
        (CURVE, 100, 2000),
        (CURVE, 101, 2010),
        (CURVE, 299, 3990),
        (CURVE, 300, 4000),
        (CURVE, 301, 5010),
        (CURVE, 700, 9000),
        (CURVE, 10_000, 9000),
        (rates(50_000, (10_000, 4000)), 0, 4000),
        (rates(3000, (0, 2000), (1000, 1001)), 1, 2000),
        (rates(3000, (0, 2000), (1000, 1001)), 999, 1002),
        (rates(900, (0, 5000)), 10, 1000),
        (rates(5000, (0, 10)), 10, 1000),
        (rates(5000), 0, 1000),
        (rates(5000), 5000, 3000),
        (rates(5000), 10_000, 5000),
        (rates(0), 10_000, 1000),
    ],
)
def test_the_multiplier_follows_the_curve_between_once_and_the_most(of, busy, expected):
    assert multiplier(of, busy) == expected


def test_a_curve_without_points_changes_nothing():
    none = rates(5000, (1, 1))
    del none.pricing_curve.piecewise_linear.points[:]
    assert multiplier(none, 5000) == 1000


@given(
    most=st.integers(0, 300_000),
    points=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 300_000)), max_size=8),
    busy=st.tuples(st.integers(0, 10_000), st.integers(0, 10_000)),
)
def test_a_busier_network_never_asks_less_on_a_rising_curve(most, points, busy):
    rising = zip(*(sorted(each) for each in zip(*points, strict=True)), strict=True) if points else ()
    of = rates(most, *rising)
    less, more = (multiplier(of, each) for each in sorted(busy))
    assert 1000 <= less <= more <= max(most, 1000)
