import pytest

from ledger.api.contract_names import ContractAddress, find_contract, find_contracts, read_contract
from mirror.core.db.reading.sql import Comparison
from mirror.core.rest.answers.errors import InternalError, InvalidEntityId, InvalidParameter
from mirror.core.rest.parameters.entity_ids import NotAnEntityId

DIGITS = "70F2b2914a2a4b783faefb75f459a580616fcb5e"
ADDRESS = ContractAddress(bytes.fromhex(DIGITS), DIGITS)


@pytest.mark.parametrize(
    "text", ["7", "0.7", "0.0.7", "0.0.007", f"{7:040x}", f"0x{7:040x}", f"0.0.{7:040x}"]
)
def test_a_number_and_a_long_zero_address_stand_for_themselves(text):
    assert read_contract(text) == 7


@pytest.mark.parametrize("text", [DIGITS, f"0x{DIGITS}", f"9.{DIGITS}", f"1023.9.{DIGITS}"])
def test_of_another_address_shard_and_realm_do_not_count(text):
    assert read_contract(text) == ContractAddress(ADDRESS.evm_address, text)


@pytest.mark.parametrize(
    "text", ["", "x", f"0.0x{DIGITS}", DIGITS[1:], f"12345.0.{DIGITS}", "1.2.3.4", "7\n"]
)
def test_other_texts_name_no_contract(text):
    with pytest.raises(NotAnEntityId):
        read_contract(text)


@pytest.mark.parametrize("text", ["-7", "1234567890123", "1024.0.7", "0.65536.7", f"1.0.{7:040x}"])
def test_parts_have_their_range(text):
    with pytest.raises(InvalidEntityId):
        read_contract(text)


def test_an_address_is_that_of_the_one_live_contract_or_account(build):
    build.entity(5001, type="CONTRACT", evm_address=ADDRESS.evm_address)
    build.entity(5002, type="CONTRACT", evm_address=ADDRESS.evm_address, deleted=True)
    build.entity(5003, type="CONTRACT", evm_address=ADDRESS.evm_address, deleted=None)
    build.entity(5004, type="TOKEN", evm_address=ADDRESS.evm_address)
    build.entity(5005, type="ACCOUNT", evm_address=ADDRESS.evm_address[::-1])
    assert find_contract(ADDRESS.evm_address[::-1].hex()) == 5005
    assert find_contract(DIGITS) == 5001
    given = [Comparison("eq", ADDRESS), Comparison("gt", 7)]
    assert find_contracts(given) == [Comparison("eq", 5001), Comparison("gt", 7)]


def test_the_address_of_nobody_is_none(db):
    assert find_contract(DIGITS) is None


def test_a_path_has_no_own_error_for_a_part_out_of_range():
    with pytest.raises(InvalidParameter, match="Invalid parameter: contractid"):
        find_contract("1024.0.7")


def test_a_contract_and_an_account_of_one_address_are_a_mistake_of_ours(build):
    for entity_id, kind in ((5001, "CONTRACT"), (5002, "ACCOUNT")):
        build.entity(entity_id, type=kind, evm_address=ADDRESS.evm_address)
    with pytest.raises(InternalError) as mistake:
        find_contract(DIGITS)
    problem = f"More than one contract or account with the evm address 0x{DIGITS.lower()} have been found."
    assert mistake.value.reason == problem
