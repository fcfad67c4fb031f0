import pytest

from mirror.core.rest.paging.links import classic_link, spring_link
from mirror.core.rest.parameters import classic, spring
from mirror.core.rest.parameters.parameter_set import ParameterSet


class Accounts(ParameterSet):
    account_id = classic.EntityId("account.id")
    balance = classic.Number("account.balance")
    result = classic.Result()
    limit = classic.Limit()
    order = classic.Order("asc")


class Blocks(ParameterSet):
    number = classic.BlockNumber("block.number")
    timestamp = classic.Timestamp("timestamp")
    limit = classic.Limit()
    order = classic.Order("desc")


class Nfts(ParameterSet):
    token_id = classic.EntityId("token.id")
    serial_number = classic.Number("serialnumber")
    limit = classic.Limit()
    order = classic.Order("desc")


class Allowances(spring.ParameterSet):
    account_id = spring.EntityId("account.id", variable="accountIds")
    limit = spring.Limit()
    order = spring.Order()
    owner = spring.Boolean("owner", default=True)
    token_id = spring.EntityId("token.id", variable="tokenIds")


def given(parameters: type[ParameterSet], query: str, path: str = "/x") -> ParameterSet:
    return parameters(parameters.split_query(query), path)


@pytest.mark.parametrize(
    ("query", "last", "link"),
    [
        ("limit=2", "0.0.18", "limit=2&account.id=gt:0.0.18"),
        ("", "0.0.18", "account.id=gt:0.0.18"),
        (
            "account.balance=gte:0&limit=2&account.id=gt:17",
            "0.0.19",
            "account.balance=gte:0&limit=2&account.id=gt:0.0.19",
        ),
        ("account.id=lt:21&limit=1&account.id=gt:7", "0.0.8", "account.id=lt:21&account.id=gt:0.0.8&limit=1"),
        ("account.id=gt:17&limit=1&account.id=gte:16", "0.0.18", "account.id=gt:0.0.18&limit=1"),
        ("account.id=17&limit=1", "0.0.17", "account.id=17&limit=1"),
        ("account.id=eq:17&account.id=gt:5&limit=1", "0.0.17", "account.id=eq:17&limit=1"),
        ("account.id=ne:17&limit=1", "0.0.18", "account.id=ne:17&limit=1"),
        ("account.id=x:gt:17&limit=1", "0.0.18", "limit=1&account.id=gt:0.0.18"),
        ("account.id=gte:17&account.id=lte:17&limit=1", "0.0.17", None),
        ("account.id=lt:18&limit=1", "0.0.17", None),
        ("account.id=lt:19&limit=1", "0.0.17", "account.id=lt:19&account.id=gt:0.0.17&limit=1"),
        ("Limit=1&limit=2", "0.0.18", "limit=1&limit=2&account.id=gt:0.0.18"),
        ("order=DESC&result=FAIL", "0.0.5", "order=desc&result=fail&account.id=lt:0.0.5"),
        ("order=desc&account.id=lte:9&account.id=gt:1", "0.0.5",
         "order=desc&account.id=gt:1&account.id=lt:0.0.5"),
    ],
)  # fmt: skip
def test_a_classic_link_moves_the_bound_on(query, last, link):
    expected = None if link is None else f"/x?{link}"
    assert classic_link(given(Accounts, query), {"account.id": last}) == expected


@pytest.mark.parametrize(
    ("query", "link"),
    [
        ("limit=1&timestamp=gt:1676540001", "limit=1&timestamp=gt:1676540001&block.number=lt:19"),
        ("block.number=0x20", "block.number=0x20"),
    ],
)
def test_other_parameters_are_kept_as_they_are(query, link):
    assert classic_link(given(Blocks, query), {"block.number": 19}) == f"/x?{link}"


@pytest.mark.parametrize(
    ("query", "last", "link"),
    [
        ("limit=2", ("0.0.1600", 3), "limit=2&token.id=lte:0.0.1600&serialnumber=lt:3"),
        ("limit=2&order=asc&token.id=1500", ("0.0.1500", 2),
         "limit=2&order=asc&token.id=1500&serialnumber=gt:2"),
        (
            "limit=2&order=asc&token.id=gte:1500&serialnumber=2",
            ("0.0.1600", 2),
            "limit=2&order=asc&serialnumber=2&token.id=gt:0.0.1600",
        ),
        ("token.id=1500&serialnumber=2", ("0.0.1500", 2), None),
        ("token.id=gt:1500", ("0.0.1501", 2), "token.id=gt:1500&token.id=lte:0.0.1501&serialnumber=lt:2"),
        ("token.id=gte:1600&serialnumber=gt:1", ("0.0.1600", 2),
         "token.id=gte:1600&token.id=lte:0.0.1600&serialnumber=gt:1&serialnumber=lt:2"),
    ],
)  # fmt: skip
def test_a_classic_link_over_two_columns(query, last, link):
    expected = None if link is None else f"/x?{link}"
    values = dict(zip(("token.id", "serialnumber"), last, strict=True))
    assert classic_link(given(Nfts, query), values) == expected


def test_the_path_loses_one_trailing_slash():
    assert classic_link(given(Accounts, "", "/API/v1/Accounts/"), {"account.id": "0.0.5"}) == (
        "/API/v1/Accounts?account.id=gt:0.0.5"
    )


@pytest.mark.parametrize(
    ("query", "last", "link"),
    [
        ("limit=1", ("0.0.22", "0.0.31"), "limit=1&account.id=gte:0.0.22&token.id=gt:0.0.31"),
        (
            "order=desc&limit=3",
            ("0.0.22", "0.0.31"),
            "order=desc&limit=3&account.id=lte:0.0.22&token.id=lt:0.0.31",
        ),
        ("account.id=22&limit=1", ("0.0.22", "0.0.31"), "account.id=22&limit=1&token.id=gt:0.0.31"),
        (
            "account.id=1000&token.id=900&limit=1",
            ("0.0.1000", "0.0.900"),
            "account.id=1000&token.id=900&limit=1",
        ),
        (
            "account.id=lt:23&account.id=GTE:21&limit=3",
            ("0.0.22", "0.0.31"),
            "account.id=lt:23&account.id=gte:0.0.22&limit=3&token.id=gt:0.0.31",
        ),
        (
            "limit=2&account.id=gte:0.0.99700&token.id=0.0.99800",
            ("0.0.99701", "0.0.99800"),
            "limit=2&token.id=0.0.99800&account.id=gt:0.0.99701",
        ),
        (
            "order=ASC&limit=1&foo=a&foo=b&Limit=9",
            ("0.0.21", "0.0.31"),
            "order=ASC&limit=1&foo=a&foo=b&Limit=9&account.id=gte:0.0.21&token.id=gt:0.0.31",
        ),
        ("foo=%C3%A9%26", ("0.0.1", "0.0.2"), "foo=%C3%A9%26&account.id=gte:0.0.1&token.id=gt:0.0.2"),
        (
            "account.id=gte:5,lte:9&token.id=gt:1&token.id=LT:7",
            ("0.0.6", "0.0.2"),
            "account.id=lte:9&account.id=gte:0.0.6&token.id=LT:7&token.id=gt:0.0.2",
        ),
        (
            "account.id=&limit=1",
            ("0.0.6", "0.0.2"),
            "account.id=&account.id=gte:0.0.6&limit=1&token.id=gt:0.0.2",
        ),
        ("limit=1&token.id=gt:1", ("0.0.6", None), "limit=1&account.id=gt:0.0.6"),
    ],
)
def test_a_spring_link_is_built_from_the_request(query, last, link):
    values = dict(zip(("account.id", "token.id"), last, strict=True))
    assert spring_link(given(Allowances, query), values) == f"/x?{link}"


@pytest.mark.parametrize(
    ("query", "last", "link"),
    [
        ("account.id=gt:4&account.id=lt:6", ("0.0.5", None), None),
        ("account.id=gte:5&account.id=lte:5", ("0.0.5", None), None),
        ("account.id=lt:7", ("0.0.5", None), "account.id=lt:7&account.id=gt:0.0.5"),
        ("order=desc&account.id=gt:4", ("0.0.5", None), None),
        ("order=desc&account.id=gte:4", ("0.0.5", None), "order=desc&account.id=gte:4&account.id=lt:0.0.5"),
        ("account.id=22&token.id=lt:32", ("0.0.22", "0.0.31"), None),
        (
            "account.id=22&account.id=23&token.id=lt:32",
            ("0.0.22", "0.0.31"),
            "account.id=22&account.id=23&token.id=lt:32&token.id=gt:0.0.31",
        ),
        ("account.id=gte:22&account.id=lte:22&token.id=lte:31", ("0.0.22", "0.0.31"), None),
        (
            "account.id=lte:23&token.id=lte:31",
            ("0.0.22", "0.0.31"),
            "account.id=lte:23&account.id=gte:0.0.22&token.id=lte:31&token.id=gt:0.0.31",
        ),
        ("account.id=lte:22,gt:1&token.id=", ("0.0.22", "0.0.31"),
         "account.id=lte:22&account.id=gte:0.0.22&token.id=&token.id=gt:0.0.31"),
    ],
)  # fmt: skip
def test_there_is_no_spring_link_when_the_bounds_leave_nothing(query, last, link):
    expected = None if link is None else f"/x?{link}"
    values = dict(zip(("account.id", "token.id"), last, strict=True))
    assert spring_link(given(Allowances, query), values) == expected
