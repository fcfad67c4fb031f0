import pytest

from mirror.core.db.reading.query import NO_PAIRS, Bounds, PairBounds
from mirror.core.rest.answers.errors import BadRequest
from mirror.core.rest.paging.pairs import classic_pair, spring_pair
from mirror.core.rest.parameters import classic, spring
from mirror.core.rest.parameters.parameter_set import ParameterSet


class Classic(ParameterSet):
    token_id = classic.EntityId("token.id")
    serial_number = classic.Number("serialnumber", low=1)


class Spring(spring.ParameterSet):
    account_id = spring.EntityId("account.id", variable="accountIds")
    token_id = spring.EntityId("token.id", variable="tokenIds")


def classic_page(query: str) -> PairBounds:
    return classic_pair(Classic(Classic.split_query(query)), "token_id", "serial_number")


def spring_page(query: str) -> PairBounds:
    return spring_pair(Spring(Spring.split_query(query)), "account_id", "token_id")


def equal(value: int) -> Bounds:
    return Bounds(equal=frozenset({value}))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", PairBounds()),
        ("token.id=5", PairBounds(equal(5))),
        ("token.id=gt:5", PairBounds(Bounds(lower=6))),
        ("token.id=gt:5&token.id=lte:0.0.9", PairBounds(Bounds(lower=6, upper=9))),
        ("token.id=5&serialnumber=gt:1&serialnumber=lt:4", PairBounds(equal(5), Bounds(lower=2, upper=3))),
        ("token.id=gte:5&serialnumber=gte:3", PairBounds(Bounds(lower=5), Bounds(lower=3))),
        ("serialnumber=lt:3&token.id=lte:5", PairBounds(Bounds(upper=5), Bounds(upper=2))),
        ("token.id=lt:5&serialnumber=eq:3", PairBounds(Bounds(upper=4), equal(3))),
    ],
)
def test_a_classic_request_becomes_a_range(query, expected):
    assert classic_page(query) == expected


@pytest.mark.parametrize("operator", ["eq", "gt", "lte"])
def test_an_evm_address_of_nobody_is_no_range(operator):
    assert classic_page(f"token.id={operator}:{'ab' * 20}") == NO_PAIRS


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("token.id=1&token.id=1", "Only one equal (eq) operator is allowed for token.id"),
        ("token.id=gt:1&token.id=gte:1", "Only one gt/gte operator is allowed for token.id"),
        ("token.id=lt:1&token.id=lte:1", "Only one lt/lte operator is allowed for token.id"),
        ("token.id=ne:1", "Not equal (ne) operator is not supported for token.id"),
        (
            "serialnumber=ne:1&token.id=1&token.id=2",
            "Not equal (ne) operator is not supported for serialnumber",
        ),
        (
            "token.id=1&serialnumber=1&token.id=gt:2&token.id=2",
            "Only one equal (eq) operator is allowed for token.id",
        ),
        (
            "serialnumber=1&serialnumber=gt:2&token.id=5&token.id=gt:6",
            "Can't support both range and equal for token.id",
        ),
        ("serialnumber=1&serialnumber=gt:2", "Can't support both range and equal for serialnumber"),
        ("serialnumber=1", "serialnumber without a token.id parameter filter"),
        ("token.id=gt:1&serialnumber=gt:1", "token.id must have gte or eq operator"),
        ("token.id=lte:1&serialnumber=gte:1", "token.id must have gte or eq operator"),
        ("token.id=lt:1&serialnumber=lt:1", "token.id must have lte or eq operator"),
        ("token.id=gte:1&serialnumber=lte:1", "token.id must have lte or eq operator"),
        ("token.id=gt:1&serialnumber=lt:2&serialnumber=gt:1", "token.id must have gte or eq operator"),
    ],
)
def test_the_first_problem_of_a_classic_pair_is_told(query, message):
    with pytest.raises(BadRequest) as failure:
        classic_page(query)
    assert [problem.message for problem in failure.value.problems] == [message]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", PairBounds()),
        ("account.id=eq:5&token.id=GT:1,lt:9", PairBounds(equal(5), Bounds(lower=2, upper=8))),
        (
            "account.id=gte:1000&account.id=lte:2002&token.id=gt:1000&token.id=lt:800",
            PairBounds(Bounds(lower=1000, upper=2002), Bounds(lower=1001, upper=799)),
        ),
        ("account.id=gt:5&token.id=7", PairBounds(Bounds(lower=6), equal(7))),
    ],
)
def test_a_spring_request_becomes_a_range(query, expected):
    assert spring_page(query) == expected


ONE_OF = "Only one range operator from [{}] is allowed for the given parameter for {}"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("account.id=gt:5,lt:6&token.id=ne:1", "Invalid range provided for account.id"),
        ("account.id=9,lt:9", "Invalid range provided for account.id"),
        ("account.id=lte:8,9&token.id=ne:1", "Invalid range provided for account.id"),
        ("account.id=lt:0", "Invalid range provided for account.id"),
        ("token.id=5", "token.id parameter must have account.id present"),
        ("token.id=lt:5&account.id=ne:5", "token.id parameter must have account.id present"),
        ("token.id=ne:5", "Unsupported range operator ne for token.id"),
        ("account.id=ne:5,6", "Unsupported range operator ne for account.id"),
        ("account.id=5,5&token.id=ne:1", ONE_OF.format("eq", "account.id")),
        ("account.id=gt:5,gte:6", ONE_OF.format("gt, gte", "account.id")),
        ("account.id=lt:5,lte:6", ONE_OF.format("lt, lte", "account.id")),
        ("account.id=5,gt:4", "Can't support both range and equal for account.id"),
        ("account.id=5,lte:5", "Can't support both range and equal for account.id"),
        ("account.id=5&token.id=1,2", ONE_OF.format("eq", "token.id")),
        ("account.id=5&token.id=1,lt:2", "Can't support both range and equal for token.id"),
        ("account.id=lte:6&token.id=lt:1,gt:5", "Invalid range provided for token.id"),
        ("account.id=gte:5&token.id=lte:1", "Requires the presence of an lte or eq account.id parameter"),
        ("account.id=lt:5&token.id=lte:1", "Requires the presence of an lte or eq account.id parameter"),
        ("account.id=lte:5&token.id=gte:1", "Requires the presence of an gte or eq account.id parameter"),
        ("account.id=gt:5&token.id=gt:1", "Requires the presence of an gte or eq account.id parameter"),
    ],
)
def test_the_first_problem_of_a_spring_pair_is_reported(query, message):
    with pytest.raises(BadRequest) as failure:
        spring_page(query)
    assert [problem.message for problem in failure.value.problems] == [message]
