from typing import Any

import pytest

from mirror.core.db.reading.query import Query
from mirror.core.db.reading.sql import Comparison, Where
from mirror.core.rest.answers.errors import BadRequest
from mirror.core.rest.parameters import classic
from mirror.core.rest.parameters.parameter_set import WITHOUT_NE, ParameterSet
from mirror.core.rest.parameters.query_string import classic_query

OPERATORS = ["eq", "ne", "gt", "gte", "lt", "lte"]


class Lenient(ParameterSet):
    account_id = classic.EntityId("account.id", column="account_id")
    block_number = classic.BlockNumber("block.number", column="index", operators=WITHOUT_NE, any_equal=False)
    internal = classic.Boolean("internal", default=False)
    serial_number = classic.Number("serialnumber", low=1)
    timestamp = classic.Timestamp("timestamp", column="at")
    type = classic.Choices("type", {"credit": 1, "debit": 2})
    limit = classic.Limit()
    order = classic.Order("asc")


class Strict(Lenient):
    strict = True


def given(query: str, parameters: type[ParameterSet] = Lenient) -> Any:
    return parameters(classic_query(query), "/api/v1/things")


def problems(query: str, parameters: type[ParameterSet] = Lenient) -> list[str]:
    with pytest.raises(BadRequest) as failure:
        given(query, parameters)
    return [problem.message for problem in failure.value.problems]


def test_parameters_that_are_absent_have_their_defaults():
    nothing = given("")
    assert nothing.limit == 25
    assert nothing.order == "asc" and not nothing.descending
    assert nothing.internal is False
    assert nothing.account_id == nothing.type == []
    assert nothing.filter_queryset(Query()) == Query(limit=25)


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_is_read(operator):
    assert given(f"timestamp={operator}:1.5").timestamp == [Comparison(operator, 1_500_000_000)]
    assert given(f"serialnumber={operator}:7").serial_number == [Comparison(operator, 7)]
    assert given(f"account.id={operator}:0.0.7").account_id == [Comparison(operator, 7)]


@pytest.mark.parametrize("text", ["GT:5", ":5", "x:5", "gt:", "gt", "eq:eq", "neq:5"])
def test_operators_are_in_lower_case_and_have_a_value(text):
    assert problems(f"serialnumber={text}") == ["Invalid parameter: serialnumber"]


def test_only_the_last_two_parts_of_a_value_count_unless_strict():
    assert given("serialnumber=x:gt:5").serial_number == [Comparison("gt", 5)]
    assert problems("serialnumber=x:gt:5", Strict) == ["Invalid parameter: serialnumber"]
    assert given("serialnumber=gt:5", Strict).serial_number == [Comparison("gt", 5)]


UNACCEPTABLE = {
    "limit": ["0", "-1", "x", "", "9223372036854775808", "1.0", "+1", "%201"],
    "order": ["", "up", "ascending"],
    "timestamp": ["", "x", "12345678901", "1.", "1.1234567890", "-1"],
    "block.number": ["", "-1", "ne:1", "0x", "0xg", "0x8000000000000000"],
    "internal": ["", "1", "ne:true", "yes"],
    "serialnumber": ["0", "9223372036854775808", "٣"],
    "type": ["", "both"],
    "account.id": ["", "x", "1.2.3.4", "KGNABD5L3ZGSRVUCSPDR7TONZSRY3D5OMEBK"],
}


@pytest.mark.parametrize(
    ("query", "name"),
    [
        *[(f"{name}={text}", name) for name, texts in UNACCEPTABLE.items() for text in texts],
        *[(f"{name}[x]=1", name) for name in UNACCEPTABLE],
        *[(f"{name}=%00", name) for name in UNACCEPTABLE],
    ],
)
def test_values_that_are_not_acceptable_are_named(query, name):
    assert problems(query) == [f"Invalid parameter: {name}"]
    assert problems(query, Strict) == [f"Invalid parameter: {name}"]


@pytest.mark.parametrize(
    ("query", "key", "value"),
    [
        ("limit=7", "limit", 7),
        ("limit=007&limit=9", "limit", 9),
        ("limit=9223372036854775807", "limit", 100),
        ("limit=eq:5", "limit", 5),
        ("limit=gt:5", "limit", 5),
        ("order=DESC", "order", "desc"),
        ("order=asc&ORDER=desc", "order", "desc"),
        ("order=eq:desc", "order", "desc"),
        ("internal=eq:TRUE", "internal", True),
        ("internal=true&internal=false", "internal", False),
        ("type=CREDIT&type=debit&type=ne:credit", "type", [1, 2, 1]),
        (
            "block.number=0x10&block.number=gt:007",
            "block_number",
            [Comparison("eq", 16), Comparison("gt", 7)],
        ),
        ("timestamp=9999999999", "timestamp", [Comparison("eq", 9_999_999_999_000_000_000)]),
        ("account.id=ac384c53f03855fa1b3616052f8ba32c6c2a2fec", "account_id", [Comparison("eq", None)]),
    ],
)
def test_values_are_converted(query, key, value):
    assert getattr(given(query), key) == value
    assert getattr(given(query, Strict), key) == value


def test_lenient_problems_come_by_kind_and_unknown_names_each_time():
    assert problems("foo=1&limit=0&bar=2&order=x&foo=3&limit=x") == [
        "Invalid parameter: limit",
        "Invalid parameter: limit",
        "Invalid parameter: order",
        "Unknown query parameter: foo",
        "Unknown query parameter: foo",
        "Unknown query parameter: bar",
    ]


def test_strict_problems_come_in_the_order_of_the_request_and_unknown_names_once():
    assert problems("foo=1&limit=0&bar=2&order=x&foo=3&limit=x", Strict) == [
        "Unknown query parameter: foo",
        "Invalid parameter: limit",
        "Invalid parameter: limit",
        "Unknown query parameter: bar",
        "Invalid parameter: order",
    ]


def test_ids_out_of_range_are_reported_alone_and_last():
    assert problems("account.id=1024.0.1&account.id=-5&limit=0") == ["Invalid parameter: limit"]
    assert problems("account.id=1024.0.1&account.id=-5") == ['Invalid entity ID "1024.0.1"']


def test_limits_are_settings(settings_of):
    settings_of({"rest.response.limit.default": 2, "rest.response.limit.max": 4})
    assert given("").limit == 2
    assert given("limit=5").limit == 4


def test_conditions_follow_from_the_declaration():
    parameters = given(
        "block.number=1&block.number=2&timestamp=ne:3&account.id=4&account.id=5&account.id=gt:6&limit=7"
    )
    query = parameters.filter_queryset(Query(Where(("live",)), descending=True))
    assert query.where.sql == (
        "where live and account_id = any(%s) and account_id > %s and index = %s and index = %s and at <> %s"
    )
    assert query.where.values == ([4, 5], 6, 1, 2, 3_000_000_000)
    assert (query.direction, query.limit) == (parameters.order, 7)
    assert given("timestamp=2").filter_queryset(Query()).where.sql == "where at = %s"


def test_a_single_value_narrows_by_itself():
    nonce = classic.Nonce(column="nonce")
    assert nonce.filter(Query(), 5).where == Where(("nonce = %s",), (5,))
    assert nonce.filter(Query(), None) == Query()
