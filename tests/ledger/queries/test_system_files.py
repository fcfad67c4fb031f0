"""System files at several times at once."""

import pytest

from ledger.queries import system_files
from ledger.queries.system_files import system_file_at_each
from mirror.core.db.reading.query import Bounds
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


@pytest.mark.parametrize("broken", [1, 99, 100, 250])
@pytest.mark.parametrize("chunks", [False, True], ids=["updates", "chunks of one update"])
def test_the_last_readable_version_counts_however_many_follow(build, broken, chunks):
    part(FILE, rates(10), at=START - 999)
    for number in range(broken):
        appends = chunks and number
        part(
            FILE,
            b"\x01" if appends else UNREADABLE,
            at=START - 500 + number,
            type=APPEND if appends else UPDATE,
        )
    rate_sets = system_file_at_each(FILE, [START], ExchangeRateSet.FromString)
    assert [each.currentRate.centEquiv for each in rate_sets.values()] == [10]
    alone = system_files.system_file(FILE, Bounds(), ExchangeRateSet.FromString)
    assert alone is not None
    assert (alone[0].currentRate.centEquiv, alone[1]) == (10, START - 999)
    within = system_files.system_file(FILE, Bounds(lower=START - 600), ExchangeRateSet.FromString)
    assert within is None


def test_a_part_of_an_upload_may_be_readable(build):
    """An update without content changes nothing, and what is appended before the first content is unknown."""
    part(FILE, b"lost", at=START - 9, type=APPEND)
    part(FILE, rates(20)[:5], at=START, type=UPDATE)
    part(FILE, b"", at=START + 1, type=UPDATE)
    part(FILE, rates(20)[5:], at=START + 2, type=APPEND)
    part(FILE, b"\xff", at=START + 3, type=APPEND)
    part(FILE, b"\xff", at=START + 4, type=APPEND)
    version = system_files.system_file(FILE, Bounds(), ExchangeRateSet.FromString)
    assert version is not None
    assert (version[0].currentRate.centEquiv, version[1]) == (20, START + 2)
    assert system_files.system_file(FILE, Bounds(upper=START + 1), ExchangeRateSet.FromString) is None


def test_a_deleted_file_counts_until_it_was_deleted(build, django_assert_num_queries):
    part(FILE, rates(10), at=START)
    build.entity(FILE, type="FILE", deleted=True, timestamp_range=f"[{START + 5},)")
    times = [START + second for second in (1, 4, 5, 9)]
    assert cents(times, 1, django_assert_num_queries) == {1: 10, 4: 10}
    for upper, is_found in ((None, False), (START + 5, False), (START + 4, True)):
        version = system_files.system_file(FILE, Bounds(upper=upper), ExchangeRateSet.FromString)
        assert (version is not None) is is_found


def test_no_times_have_no_versions(build):
    part(FILE, rates(10))
    assert system_file_at_each(FILE, [], ExchangeRateSet.FromString) == {}
