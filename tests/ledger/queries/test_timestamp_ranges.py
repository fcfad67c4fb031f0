"""Windows of time; which ranges are closed the tests of contract logs say."""

import pytest

from ledger.queries.timestamp_ranges import bound
from mirror.core.db.reading.query import Bounds
from mirror.core.values.timestamp import NANOS_PER_SECOND

NOW = 1_700_000_000
LATEST = NOW * NANOS_PER_SECOND
MINUTE = 60 * NANOS_PER_SECOND


@pytest.fixture
def bounded(settings_of):
    settings_of(
        {
            "rest.query.bindTimestampRange": True,
            "rest.query.maxTransactionsTimestampRange": 60.0,
            "clock.now": NOW,
        }
    )


@pytest.mark.parametrize("bounds", [Bounds(), Bounds(1, 2), Bounds(equal=frozenset({5}))])
def test_nothing_is_cut_unless_the_operator_wants_it(bounds):
    assert bound(bounds, descending=True) == (bounds, None)


def test_single_times_are_not_cut(bounded):
    bounds = Bounds(equal=frozenset({5}))
    assert bound(bounds, descending=True) == (bounds, None)


def test_an_open_range_goes_from_the_first_transaction_to_now(bounded, build):
    first = build.transaction(LATEST - MINUTE + 1)
    assert bound(Bounds(), descending=True) == (Bounds(first, LATEST), None)


def test_without_transactions_it_begins_with_time(bounded, db):
    assert bound(Bounds(upper=MINUTE - 1), descending=True) == (Bounds(0, MINUTE - 1), None)


@pytest.mark.parametrize("descending", [True, False])
def test_the_cut_end_is_where_the_next_page_goes_on(bounded, descending):
    lower, upper = LATEST - 3 * MINUTE, LATEST
    found, continue_at = bound(Bounds(lower, upper), descending=descending)
    if descending:
        assert (found, continue_at) == (Bounds(upper - MINUTE + 1, upper), upper - MINUTE + 1)
    else:
        assert (found, continue_at) == (Bounds(lower, lower + MINUTE - 1), lower + MINUTE - 1)
