"""Bodies of contract calls: what is read from them, and what is wrong with them."""

import json

import pytest

from web3sim.calls.body import MAX_DOCUMENT, CallBody, InvalidBody, is_deployment_code, parse
from web3sim.state.blocks import LATEST, BlockSelector

ADDRESS = "0x00000000000000000000000000000000000003e9"

NESTED: tuple[object, ...] = ({}, [], ["0x"], {"a": 1})
NO_INTEGERS: tuple[object, ...] = ("0x10", "1.5", True, [], {}, 2**63, "9" * 9999)
NO_BOOLEANS: tuple[object, ...] = ("yes", "t", [], [True], {}, 1.5)


def parsed(**members):
    return parse(json.dumps(members).encode())


def details(body) -> tuple[str, ...]:
    if isinstance(body, dict):
        body = json.dumps(body)
    with pytest.raises(InvalidBody) as refused:
        parse(body.encode() if isinstance(body, str) else body)
    return refused.value.details


def test_all_members_are_optional():
    assert parse(b"{}") == CallBody(None, LATEST, None, False, None, 15_000_000, 0, None, 0)


def test_members_are_read_as_sent():
    given = parsed(
        **{"block": "0x10", "data": "0xAB", "estimate": True, "from": ADDRESS, "gas": 21000},
        **{"gasPrice": 5, "to": ADDRESS[2:], "value": 7},
    )
    assert given == CallBody("0x10", BlockSelector(16), "0xAB", True, ADDRESS, 21000, 5, ADDRESS[2:], 7)


@pytest.mark.parametrize(
    ("members", "field", "expected"),
    [
        ({"gas": "30000"}, "gas", 30_000),
        ({"gas": " 30000 "}, "gas", 30_000),
        ({"gas": "+30000"}, "gas", 30_000),
        ({"gas": 30000.9}, "gas", 30_000),
        ({"gasPrice": "5"}, "gas_price", 5),
        ({"gasPrice": ""}, "gas_price", 0),
        ({"gasPrice": "null"}, "gas_price", 0),
        ({"value": None}, "value", 0),
        ({"value": 9223372036854775807, "from": ADDRESS, "to": ADDRESS}, "value", 2**63 - 1),
        ({"estimate": "true"}, "estimate", True),
        ({"estimate": "FALSE"}, "estimate", False),
        ({"estimate": 1}, "estimate", True),
        ({"estimate": 0}, "estimate", False),
        ({"estimate": None}, "estimate", False),
        ({"data": 1234}, "data", "1234"),
        ({"data": None}, "data", None),
        ({"to": ""}, "to", ""),
        ({"to": None}, "to", None),
        ({"block": 17}, "selector", BlockSelector(17)),
        ({"block": None}, "selector", LATEST),
        ({"block": ""}, "selector", LATEST),
        ({"block": "PENDING"}, "selector", LATEST),
        ({"block": "Earliest"}, "selector", BlockSelector(earliest=True)),
        ({"block": "0X1f"}, "selector", BlockSelector(31)),
    ],
    ids=str,
)
def test_values_are_read_leniently(members, field, expected):
    assert getattr(parsed(**members), field) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("-1", "-0x1", "0x-1", "0xzz", "0x", "1e3", "1.5", "genesis", " latest", "latest ", "+"),
        *("9" * 21, "0x" + "1" * 17, "0x" + "ab" * 31, "+7", "+-1", "٣", "1" * 5000),
    ],
)
def test_a_block_that_is_none_is_a_problem_of_the_document(text):
    assert details({"block": text, "to": "zz"}) == (f"JSON parse error: Invalid block value: {text}",)


@pytest.mark.parametrize(
    ("text", "kind"), [("9223372036854775808", "Decimal"), ("0x8000000000000000", "Hex")]
)
def test_a_block_of_too_many_bits_is_a_problem_of_the_document(text, kind):
    detail = f"JSON parse error: {kind} value out of range for block: {text}"
    assert details({"block": text, "to": "zz"}) == (detail,)


@pytest.mark.parametrize("value", [-5, 2.5])
def test_a_number_that_is_no_block_is_named_as_it_was_written(value):
    assert details({"block": value}) == (f"JSON parse error: Invalid block value: {value}",)


@pytest.mark.parametrize(
    "members",
    [
        *({name: wrong} for name in ("block", "data", "from", "to") for wrong in NESTED),
        *({name: "x"} for name in ("gas", "gasPrice", "value")),
        *({name: wrong} for name in ("gas", "value") for wrong in NO_INTEGERS),
        *({"estimate": wrong} for wrong in NO_BOOLEANS),
    ],
    ids=str,
)
def test_values_of_the_wrong_type_are_problems_of_the_document(members):
    (detail,) = details(members)
    assert detail.startswith("JSON parse error: ") and next(iter(members)) in detail


@pytest.mark.parametrize(
    "document",
    [
        *("{", '{"to":', '{"to": "0x"', "{'to': null}", '{"gas": 0x5208}', '{"gas": 021000}', '{"to": "",}'),
        *(
            "hello",
            "<a/>",
            "[]",
            '"text"',
            "17",
            "true",
            '[{"to": null}]',
            "{}x",
            "{} {}",
            '{"gas": NaN}',
            " ",
        ),
        *('{"to": "a\nb"}', '{"to": "\\q"}', '{"gas": 1.}', '{"gas": .5}', '{"a" 1}', '{"a": tru}', "{,}"),
        *('{"a": [1,]}', '{"a": [1 2]}', '{"a": ]}', "{1: 2}", '{"gas": +1}', "\x00"),
        b'{"to": "\xff"}',
    ],
    ids=str,
)
def test_what_is_no_json_object_is_refused(document):
    (detail,) = details(document)
    assert detail.startswith("JSON parse error: ")


def test_half_a_character_is_no_text():
    assert details('{"block": "a\\ud800"}') == ("JSON parse error: Invalid block value: a?",)


def test_an_empty_body_is_missing():
    assert details("") == ("Required request body is missing",)


def test_a_byte_order_mark_does_not_matter():
    assert parse(b'\xef\xbb\xbf{"gas": 21000}').gas == 21000


def test_unknown_members_are_ignored_and_names_are_case_sensitive():
    assert parsed(color="red", nested={"a": [1, {"b": None}]}, TO="nonsense", Gas=-1) == CallBody()


def test_of_members_of_one_name_the_last_counts():
    assert parse(b'{"gas": 21000, "gas": 22000}').gas == 22_000


def nested(depth: int) -> str:
    return '{"x": ' + "[" * (depth - 1) + "]" * (depth - 1) + "}"


@pytest.mark.parametrize(
    ("fits", "does_not"),
    [
        (nested(10), nested(11)),
        (json.dumps({f"k{n}": n for n in range(49)}), json.dumps({f"k{n}": n for n in range(50)})),
        (json.dumps({"x": [1] * 95}), json.dumps({"x": [1] * 96})),
        (json.dumps({"n" * 100: 1}), json.dumps({"n" * 101: 1})),
        ('{"x": -1234567890123456789}', '{"x": 12345678901234567890}'),
        ('{"x": 1.234567890123456789}', '{"x": 1.2345678901234567890}'),
    ],
    ids=["depth", "members", "tokens", "name", "number", "fraction"],
)
def test_documents_have_limits(fits, does_not):
    assert parse(fits.encode()) == CallBody()
    (detail,) = details(does_not)
    assert detail.startswith("JSON parse error: ")


def test_depth_without_end_is_refused_soon():
    assert details('{"x": ' + "[" * 200_000)[0].startswith("JSON parse error: The document is nested deeper")


def test_document_may_be_longer_than_any_data():
    longest = '{"data":"0x' + "0" * (MAX_DOCUMENT - 13) + '"}'
    assert details(longest) == ("data field invalid hexadecimal string",)
    beyond = f"JSON parse error: The document is longer than {MAX_DOCUMENT} characters"
    assert details(longest + " ") == (beyond,)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"data": "0x12345z"}, "data field invalid hexadecimal string"),
        ({"data": "0x12\n"}, "data field invalid hexadecimal string"),
        ({"data": True}, "data field invalid hexadecimal string"),
        ({"from": ""}, "from field invalid hexadecimal string"),
        ({"from": ADDRESS + "\n"}, "from field invalid hexadecimal string"),
        ({"from": 5}, "from field invalid hexadecimal string"),
        ({"to": "0x"}, "to field invalid hexadecimal string"),
        ({"to": " "}, "to field invalid hexadecimal string"),
        ({"to": ADDRESS[:-1]}, "to field invalid hexadecimal string"),
        ({"to": ADDRESS + "0"}, "to field invalid hexadecimal string"),
        ({"gas": 20_999}, "gas field must be greater than or equal to 21000"),
        ({"gas": None}, "gas field must be greater than or equal to 21000"),
        ({"gasPrice": -1}, "gasPrice field must be greater than or equal to 0"),
        ({"value": -1}, "value field must be greater than or equal to 0"),
        ({"value": 1, "to": ADDRESS}, "from field must not be empty"),
        ({"value": 1, "from": None}, "from field must not be empty"),
        ({"value": 1, "from": ADDRESS}, "to field must not be empty"),
        ({"value": 1, "from": ADDRESS, "to": "", "data": "0x6080604052"}, "to field must not be empty"),
    ],
    ids=str,
)
def test_each_rule_has_its_sentence(members, expected):
    assert details(members) == (expected,)


def test_all_broken_rules_are_reported_together():
    assert details({"to": "zz", "from": "yy", "data": "xx", "gas": 5, "gasPrice": -1, "value": -1}) == (
        "data field invalid hexadecimal string",
        "from field invalid hexadecimal string",
        "gas field must be greater than or equal to 21000",
        "gasPrice field must be greater than or equal to 0",
        "to field invalid hexadecimal string",
        "value field must be greater than or equal to 0",
    )


def test_deployment_with_a_value_needs_no_receiver():
    assert parsed(**{"value": 1, "from": ADDRESS, "data": "0x6080604052341560395260f3"}).value == 1


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("60806040a39bf3", True),
        ("0x60606040aA39Bf3c", True),
        ("60806040a39b", False),
        ("60806040a39f3", False),
        ("60806040aa39f3", False),
        ("6080604039aaf3", False),
        ("6080604039a39af3", True),
        ("60806040aaaaaf3", False),
        ("70806040a39bf3", False),
        ("39" * 60_000 + "60806040" * 10_000 + "39" * 60_000, False),
    ],
)
def test_deployment_code_is_known_by_its_form(data, expected):
    assert is_deployment_code(data) is expected
