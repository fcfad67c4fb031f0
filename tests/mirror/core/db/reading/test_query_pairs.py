from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mirror.core.db.reading.query import NO_PAIRS, Bounds, PairBounds, Query, pair_condition, pair_page
from mirror.core.db.reading.sql import MAX_INT64, Where, fetch

GRID = [(a, b) for a in range(6) for b in range(6)]
SELECT = "select a, b from (select a, b from generate_series(0, 5) a, generate_series(0, 5) b) grid"

ends = st.one_of(st.none(), st.integers(0, 6))
bounds = st.one_of(
    st.builds(Bounds, lower=ends, upper=ends),
    st.integers(0, 6).map(lambda value: Bounds(equal=frozenset({value}))),
)


def holds(pair, first, second):
    """What the range of pairs means, said without ranges of an index."""
    a, b = pair
    if first.equal:
        return a in first.equal and within(b, second)
    if second.equal:
        return within(a, first) and b in second.equal
    lowest = (first.lower, second.lower if second.lower is not None else -1)
    highest = (first.upper, second.upper if second.upper is not None else 99)
    return (first.lower is None or pair >= lowest) and (first.upper is None or pair <= highest)


def within(value, bounds):
    if bounds.equal:
        return value in bounds.equal
    above = bounds.lower is None or value >= bounds.lower
    return above and (bounds.upper is None or value <= bounds.upper)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=bounds, second=bounds, descending=st.booleans(), limit=st.integers(1, 40))
def test_a_page_has_the_first_pairs_of_the_range_in_order(db, first, second, descending, limit):
    expected = sorted((pair for pair in GRID if holds(pair, first, second)), reverse=descending)
    range_ = PairBounds(first, second)

    page = pair_page(SELECT, Query(Where(), descending, limit), range_, ("a", "b"))
    assert fetch(page.sql, page.values) == expected[:limit]

    among = pair_condition(range_, ("a", "b"))
    assert fetch(f"{SELECT} {among.sql} order by a, b", among.values) == sorted(expected)


def test_a_range_has_at_most_three_parts():
    range_ = PairBounds(Bounds(lower=2, upper=5), Bounds(lower=3, upper=1))
    assert range_.parts("a", "b") == [
        Where(("a = %s", "b >= %s"), (2, 3)),
        Where(("a = %s", "b <= %s"), (5, 1)),
        Where(("a >= %s", "a <= %s"), (3, 4)),
    ]


def test_ends_next_to_each_other_leave_nothing_between():
    assert len(PairBounds(Bounds(lower=2, upper=3), Bounds(lower=3, upper=1)).parts("a", "b")) == 2


def test_the_largest_number_is_an_end_like_others(db):
    range_ = PairBounds(Bounds(lower=MAX_INT64), Bounds(lower=1))
    page = pair_page(SELECT, Query(limit=5), range_, ("a", "b"))
    assert fetch(page.sql, page.values) == []


def test_an_empty_range_has_no_pairs(db):
    query = Query(Where(("a > %s",), (1,)), descending=True, limit=5)
    page = pair_page(SELECT, query, NO_PAIRS, ("a", "b"))
    assert NO_PAIRS.parts("a", "b") == [] and fetch(page.sql, page.values) == []


def test_a_part_of_a_range_keeps_the_bounds_of_the_second_column_at_the_ends_that_it_shares():
    pairs = PairBounds(Bounds(10, 20), Bounds(3, 5))
    assert pairs.within(Bounds(10, 20)) == pairs
    assert pairs.within(Bounds(10, 14)) == PairBounds(Bounds(10, 14), Bounds(lower=3))
    assert pairs.within(Bounds(15, 20)) == PairBounds(Bounds(15, 20), Bounds(upper=5))
    assert pairs.within(Bounds(11, 19)) == PairBounds(Bounds(11, 19), Bounds())
