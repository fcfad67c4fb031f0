"""Transaction types and result codes: HAPI's numbers with the names of the REST API."""

import pytest

from mirror.core.values.hapi import result_codes, transaction_types


@pytest.mark.checklist("MAP-01")
@pytest.mark.parametrize(
    ("number", "name"),
    [
        (7, "CONTRACTCALL"),
        (14, "CRYPTOTRANSFER"),
        (29, "TOKENCREATION"),
        (35, "TOKENDELETION"),
        (45, "TOKENFEESCHEDULEUPDATE"),
        (66, "HINTSPREPROCESSINGVOTE"),
        (75, "HOOKSTORE"),
        (76, "HOOKDISPATCH"),
        (78, "REGISTEREDNODECREATE"),
        (81, "MIGRATIONROOTHASHVOTE"),
    ],
)
def test_types_have_their_names(number, name):
    assert transaction_types.name(number) == name
    assert transaction_types.NUMBERS[name] == number


def test_the_api_names_no_other_types_than_these():
    assert set(transaction_types.NAMES) == {*range(7, 30), *range(31, 61), *range(65, 73), *range(74, 82)}


@pytest.mark.checklist("MAP-01")
@pytest.mark.parametrize("number", [0, 6, 30, 61, 64, 73, 82, -1, 1 << 40])
def test_a_number_without_type_is_unknown(number):
    assert transaction_types.name(number) == "UNKNOWN"


@pytest.mark.checklist("MAP-02")
@pytest.mark.parametrize("number", [109, 114, 149, 151, 154, 161, 402, 498, 536, 1000, -1])
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
        (505, "EVM_HOOK_STORAGE_UPDATE_BYTES_TOO_LONG"),
        (526, "NODE_ACCOUNT_HAS_ZERO_BALANCE"),
        (534, "REGISTERED_NODE_STILL_ASSOCIATED"),
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
