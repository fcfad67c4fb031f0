"""System files at several times at once."""

import pytest

from ledger.queries import system_files
from ledger.queries.system_files import system_file_at_each
from mirror.core.db.sql.bounds import Bounds
from mirror.core.values.hapi.messages import ExchangeRateSet
from tests.build import START
from tests.network.files import APPEND, UNREADABLE, UPDATE, part, rates

FILE = 112


def cents(times, expected_statements, django_assert_num_queries):
    with django_assert_num_queries(expected_statements):
        found = system_file_at_each(FILE, times, ExchangeRateSet.FromString)
    return {at - START: each.currentRate.centEquiv for at, each in found.items()}


def test_each_time_has_its_version_by_one_statement(build, django_assert_num_queries):
    part(FILE, rates(10), at=START + 10)
    part(FILE, rates(20)[:5], at=START + 20, type=UPDATE)
    part(FILE, rates(20)[5:], at=START + 21, type=APPEND)
    times = [START + second for second in (9, 10, 19, 21, 99)]
    assert cents(times, 1, django_assert_num_queries) == {10: 10, 19: 10, 21: 20, 99: 20}


def test_a_version_that_can_not_be_read_is_passed_over(build, django_assert_num_queries):
    part(FILE, rates(10), at=START)
    part(FILE, UNREADABLE, at=START + 1, type=UPDATE)
    assert cents([START, START + 1, START + 2], 2, django_assert_num_queries) == {0: 10, 1: 10, 2: 10}


@pytest.mark.parametrize(("broken", "found"), [(11, {0: 10}), (12, {})])
def test_twelve_versions_are_tried(build, broken, found):
    part(FILE, rates(10), at=START - 100)
    for at in range(broken):
        part(FILE, UNREADABLE, at=START - 50 + at, type=UPDATE)
    rate_sets = system_file_at_each(FILE, [START], ExchangeRateSet.FromString)
    assert {at - START: each.currentRate.centEquiv for at, each in rate_sets.items()} == found
    alone = system_files.system_file(FILE, Bounds(), ExchangeRateSet.FromString)
    assert (alone is not None) == bool(found)


def test_no_times_have_no_versions(build):
    part(FILE, rates(10))
    assert system_file_at_each(FILE, [], ExchangeRateSet.FromString) == {}
