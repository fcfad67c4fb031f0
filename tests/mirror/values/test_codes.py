"""Transaction types and result codes: fixed tables, checked against the HAPI classes where those agree."""

import pytest

from mirror.values import result_codes, transaction_types
from mirror.values.hapi import TransactionBody
from mirror.values.transaction_types import EntityOperation

# Two types are named by the API as they were when it got them.
RENAMED = {29: "TOKENCREATION", 35: "TOKENDELETION", 75: "LAMBDASSTORE"}


@pytest.mark.checklist("MAP-01")
def test_type_names_are_those_of_the_body_fields_without_underscores():
    fields = {field.number: field.name for field in TransactionBody.DESCRIPTOR.oneofs_by_name["data"].fields}

    for number, name in transaction_types.NAMES.items():
        assert name == RENAMED.get(number, fields[number].replace("_", "").upper())


@pytest.mark.checklist("MAP-01")
def test_a_type_is_found_by_its_name_in_any_case():
    assert transaction_types.number("cryptoTransfer") == 14
    assert transaction_types.number("nothing") is None


@pytest.mark.checklist("MAP-01")
@pytest.mark.parametrize("number", [0, 6, 30, 61, 73, 77, -1, 1 << 40])
def test_a_number_without_type_is_unknown(number):
    assert transaction_types.name(number) == "UNKNOWN"


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("CRYPTOCREATEACCOUNT", EntityOperation.CREATE),
        ("SCHEDULECREATE", EntityOperation.CREATE),
        ("SYSTEMUNDELETE", EntityOperation.UPDATE),
        ("SYSTEMDELETE", EntityOperation.DELETE),
        ("CRYPTOTRANSFER", EntityOperation.NONE),
        ("NODECREATE", EntityOperation.NONE),
    ],
)
def test_a_type_tells_what_it_does_to_its_entity(name, operation):
    assert transaction_types.operation(transaction_types.NUMBERS[name]) is operation


@pytest.mark.checklist("MAP-02")
@pytest.mark.parametrize("number", [109, 114, 149, 151, 154, 161, 402, 498, 527, 1000, -1])
def test_gaps_in_the_result_codes_are_unknown(number):
    assert result_codes.name(number) == "UNKNOWN"


@pytest.mark.checklist("MAP-02")
@pytest.mark.parametrize(
    ("number", "name"),
    [
        (0, "OK"),
        (21, "UNKNOWN"),
        (22, "SUCCESS"),
        (401, "INVALID_SERIALIZED_TX_MESSAGE_HASH_ALGORITHM"),
        (505, "LAMBDA_STORAGE_UPDATE_BYTES_TOO_LONG"),
        (526, "NODE_ACCOUNT_HAS_ZERO_BALANCE"),
    ],
)
def test_result_codes_have_their_names(number, name):
    assert result_codes.name(number) == name
    assert result_codes.NUMBERS[name] == number


@pytest.mark.checklist("MAP-02", "PARSE-03")
def test_three_codes_count_as_success():
    assert {result_codes.name(code) for code in result_codes.SUCCESS} == {
        "SUCCESS",
        "FEE_SCHEDULE_FILE_PART_UPLOADED",
        "SUCCESS_BUT_MISSING_EXPECTED_OPERATION",
    }
