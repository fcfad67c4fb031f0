"""Lists that can't be read at once: pages may be short, but following them gives every row once, and ends."""

import psycopg
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from mirror.core.db.reading import budget
from mirror.core.db.reading.query import Bounds, Query
from mirror.core.db.reading.scans import split_window, walk
from mirror.core.db.reading.sql import fetch
from tests.waiting import PATIENCE_SECONDS

SMALLEST, LARGEST = 1, 4000


@pytest.fixture
def _begun(ledger_tables, settings_of):
    """A budget that hardly any statement meets. Statements are no part of a transaction, which would fail."""
    settings_of({"rest.query.timeBudget": 0.001})
    budget.begin()
    yield
    budget.end()
    # The connection keeps the limit of its last statement.
    settings_of({"rest.db.statementTimeout": PATIENCE_SECONDS})
    fetch("select 1")


def slow(divisor, query, *, rows_per_second=100_000):
    """A list of the multiples of a number, which looks at every number from its beginning, and takes time."""

    def read(bounds):
        lower, upper = bounds.lower or SMALLEST, bounds.upper or LARGEST
        first, last, step = (upper, lower, -1) if query.descending else (lower, upper, 1)
        rows = fetch(
            f"""
            select key, pg_sleep(case when key %% 100 = 0 then {100 / rows_per_second} else 0 end)::text
            from generate_series(%s, %s, %s) key
            """,
            (first, last, step),
        )
        return [key for key, _ in rows if key % divisor == 0][: query.limit]

    return read


def pages(read, query, bounds, first):
    """All rows by following the pages, and the sizes of the pages."""
    found, sizes = [], []
    while True:
        rows, continue_at = walk(read, bounds, query, ends=lambda: (SMALLEST, LARGEST), first=first)
        found += rows
        sizes.append(len(rows))
        if len(rows) == query.limit:
            continue_at = rows[-1]
        if continue_at is None:
            return found, sizes
        assert len(rows) <= query.limit
        after = (bounds.lower, continue_at - 1) if query.descending else (continue_at + 1, bounds.upper)
        bounds = bounds.between(*after)
        budget.begin()


@pytest.mark.usefixtures("_begun")
@hypothesis_settings(max_examples=15)
@given(
    divisor=st.integers(1, 5000),
    descending=st.booleans(),
    limit=st.integers(1, 50),
    first=st.integers(150, 3000),
    lower=st.none() | st.integers(SMALLEST, LARGEST),
    upper=st.none() | st.integers(SMALLEST, LARGEST),
)
def test_following_the_pages_gives_every_row_once(divisor, descending, limit, first, lower, upper):
    divisor = max(divisor, LARGEST // (limit * 8))
    query = Query(descending=descending, limit=limit)
    found, _ = pages(slow(divisor, query), query, Bounds(lower, upper), first)
    expected = [key for key in range(lower or SMALLEST, (upper or LARGEST) + 1) if key % divisor == 0]
    assert found == (expected[::-1] if descending else expected)


@pytest.mark.usefixtures("_begun")
def test_a_page_without_rows_continues_where_it_stopped():
    query = Query(descending=True, limit=10)
    rows, continue_at = walk(
        slow(LARGEST * 2, query), Bounds(), query, ends=lambda: (SMALLEST, LARGEST), first=100
    )
    assert rows == []
    assert continue_at is not None
    assert SMALLEST < continue_at <= LARGEST - 99


def test_a_list_that_is_fast_is_one_statement(ledger_tables, settings_of):
    settings_of({"rest.query.timeBudget": 300.0})
    budget.begin()
    try:
        asked = []
        query = Query(limit=3)

        def read(bounds):
            asked.append(bounds)
            return [1, 2]

        assert walk(read, Bounds(), query, ends=lambda: (1, 9), first=1) == ([1, 2], None)
        assert asked == [Bounds()]
    finally:
        budget.end()


def test_without_a_budget_a_list_takes_as_long_as_it_takes(ledger_tables, settings_of):
    settings_of({"rest.query.timeBudget": 0.0})
    budget.begin()
    try:
        query = Query(limit=5)
        rows, continue_at = walk(
            slow(1000, query, rows_per_second=20_000), Bounds(), query, ends=lambda: None, first=1
        )
        assert (rows, continue_at) == ([1000, 2000, 3000, 4000], None)
    finally:
        budget.end()


@pytest.mark.usefixtures("_begun")
def test_a_first_window_that_takes_longer_than_any_statement_may_is_an_error(settings_of):
    settings_of({"rest.db.statementTimeout": 0.005})
    query = Query(limit=5)
    with pytest.raises(psycopg.errors.QueryCanceled):
        walk(slow(1000, query, rows_per_second=100), Bounds(), query, ends=lambda: (1, 9000), first=4000)


@pytest.mark.usefixtures("_begun")
def test_an_empty_table_has_no_next_page():
    query = Query(limit=5)
    assert walk(slow(1000, query), Bounds(), query, ends=lambda: None, first=10) == ([], None)


def test_windows_are_cut_from_the_beginning_of_a_list():
    assert split_window(Bounds(1, 10), 3, descending=False) == (Bounds(1, 3), Bounds(4, 10))
    assert split_window(Bounds(1, 10), 3, descending=True) == (Bounds(8, 10), Bounds(1, 7))
    assert split_window(Bounds(1, 10), 30, descending=False) == (Bounds(1, 10), Bounds(11, 10))
    assert split_window(Bounds(1, 10), 30, descending=True) == (Bounds(1, 10), Bounds(1, 0))


def test_a_statement_that_takes_more_than_its_share_of_the_budget_is_run_again(ledger_tables, settings_of):
    shown = "select current_setting('statement_timeout')"
    slow = f"select pg_sleep(0.1)::text, ({shown})"
    settings_of({"rest.query.timeBudget": 2.0, "rest.db.statementTimeout": 20.0})
    assert fetch(shown) == [("20s",)]
    budget.begin()
    try:
        assert fetch(shown) == [("500ms",)]
        settings_of({"rest.query.timeBudget": 0.2})
        budget.begin()
        assert fetch(slow) == [("", "20s")]
        assert fetch(shown) == [("50ms",)]
        with budget.limited(0.004), pytest.raises(psycopg.errors.QueryCanceled):
            fetch(slow)
    finally:
        budget.end()
    assert fetch(shown) == [("20s",)]
