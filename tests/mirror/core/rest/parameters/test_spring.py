import pytest

from mirror.core.db.reading.query import Bounds
from mirror.core.db.reading.sql import MAX_INT64, Comparison
from mirror.core.rest.answers.errors import BadRequest
from mirror.core.rest.parameters import spring
from tests.mirror.core.rest.paging.test_links import Allowances


def given(query: str) -> Allowances:
    return Allowances(Allowances.split_query(query), "/x")


def problems(query: str) -> list[str]:
    with pytest.raises(BadRequest) as failure:
        given(query)
    return [problem.message for problem in failure.value.problems]


@pytest.mark.parametrize("query", ["", "limit=&order=&owner=&account.id=", "Limit=7&Order=desc&foo=1"])
def test_absent_blank_and_unknown_parameters_leave_the_defaults(query):
    nothing = given(query)
    assert (nothing.limit, nothing.order, nothing.owner, nothing.account_id) == (25, "asc", True, [])


@pytest.mark.parametrize(
    ("query", "key", "value"),
    [
        ("limit=7&limit=x", "limit", 7),
        ("order=DESC", "order", "desc"),
        ("owner=Off", "owner", False),
        ("account.id=GTE:5,lte:0.9", "account_id", [Comparison("gte", 5), Comparison("lte", 9)]),
        ("account.id=ne:5&account.id=0.0.6", "account_id", [Comparison("ne", 5), Comparison("eq", 6)]),
    ],
)
def test_values_are_converted(query, key, value):
    assert getattr(given(query), key) == value


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("limit=x", "Failed to convert 'limit'"),
        ("limit=0x5", "Failed to convert 'limit'"),
        ("limit=%2B5", "Failed to convert 'limit'"),
        ("limit=2147483648", "Failed to convert 'limit'"),
        ("order=up", "Failed to convert 'order'"),
        ("order=eq:asc", "Failed to convert 'order'"),
        ("owner=2", "Failed to convert 'owner'"),
        ("owner=eq:true", "Failed to convert 'owner'"),
        ("token.id=0x5", "Failed to convert 'token.id'"),
        ("token.id=xx:5", "Failed to convert 'token.id'"),
        ("token.id=x&account.id=1024.0.5&limit=0", "Failed to convert 'account.id'"),
        ("limit=0", "limit must be greater than 0"),
        ("limit=101", "limit must be less than or equal to 100"),
    ],
)
def test_the_first_value_that_can_not_be_converted_is_reported_alone(query, message):
    assert problems(query) == [message]


def test_broken_constraints_are_reported_together_in_order_of_declaration():
    assert problems("token.id=1,2,3&limit=-1&account.id=1,2,3") == [
        "accountIds size must be between 0 and 2",
        "limit must be greater than 0",
        "tokenIds size must be between 0 and 2",
    ]


@pytest.mark.parametrize(
    ("comparisons", "bounds"),
    [
        ([], Bounds()),
        ([("eq", 5)], Bounds(upper=5)),
        ([("gt", 5), ("lte", 9)], Bounds(6, 9)),
        ([("gte", 5), ("gt", 3), ("lt", 9), ("lte", 20)], Bounds(4, 20)),
        ([("lt", 9), ("eq", 5)], Bounds(upper=5)),
        ([("gt", MAX_INT64)], Bounds(lower=MAX_INT64 + 1)),
    ],
)
def test_of_times_on_one_side_the_last_one_counts_and_a_moment_ends_the_window(comparisons, bounds):
    assert spring.time_window([Comparison(*each) for each in comparisons]) == bounds
