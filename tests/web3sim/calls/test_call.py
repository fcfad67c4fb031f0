"""Calls on stored rows: who may make them, what comes of them, what they need."""

from http import HTTPStatus
from typing import Any

import pytest

from mirror.core.values.hapi.messages import FeeExtra, FeeSchedule
from tests.build import START
from tests.network.files import UNREADABLE, fee_schedule, part, rates
from tests.web3sim.engine.world import RETURN_TOP, calling, code
from tests.web3sim.rows import ANSWERS, CALLER, REVERTS, TREASURY, asked, contract, long_zero, network
from web3sim.calls.call import answer, reason
from web3sim.calls.messages import Problem
from web3sim.state import cache
from web3sim.state.blocks import parse_block
from web3sim.state.cache import Caches

OWN_ADDRESS = bytes.fromhex("830621be5815d8a1cd6f2a96d18013c6ad61c737")
CONTRACT_CALL, FAR = 6, 4_000_000_000
SIMPLE_FEES = 113
WORD_42 = (42).to_bytes(32, "big")

pytestmark = pytest.mark.usefixtures("ledger")


@pytest.fixture
def ledger(build):
    network(build)
    return build


def problem(**given) -> Problem:
    found = answer(asked(**given))
    assert found.status is HTTPStatus.BAD_REQUEST, found
    (only,) = found.problems
    return only


def named(code: str) -> Problem:
    return Problem(code, "", f"0x{code.encode().hex()}")


def result(**given) -> bytes:
    found = answer(asked(**given))
    assert found.status is HTTPStatus.OK, found
    return found.result


def value_seen(build, *operations: str | int | bytes, **given) -> int:
    """What operations leave on the stack, as a contract returns it."""
    contract(build, 5005, code(*operations, *RETURN_TOP))
    return int.from_bytes(result(to=long_zero(5005), **given), "big")


@pytest.mark.parametrize("estimate", [False, True])
def test_a_contract_is_called_by_its_number_or_its_own_address(ledger, estimate):
    contract(ledger, 5001, code("ADDRESS", *RETURN_TOP), evm_address=OWN_ADDRESS)
    by_number, by_address = (result(to=to, estimate=estimate) for to in (long_zero(5001), OWN_ADDRESS))
    assert by_number == by_address
    assert estimate or by_number == OWN_ADDRESS.rjust(32, b"\0")


def test_value_for_the_number_of_an_account_goes_to_its_own_address(ledger):
    ledger.entity(1009, evm_address=OWN_ADDRESS, balance=0)
    contract(ledger, 5001, code(OWN_ADDRESS, "BALANCE", *RETURN_TOP))
    assert result(to=long_zero(1009), value=5, sender=long_zero(CALLER)) == b""


def test_a_call_answers_what_the_contract_returns(ledger):
    contract(ledger, 5001, ANSWERS)
    found = answer(asked(to=long_zero(5001), data=b"\1\0"))
    assert (found.status, found.result) == (HTTPStatus.OK, WORD_42)
    # 21,000 and 16 + 4 for the data, 15 for five operations and 3 for a word of memory.
    assert found.used == 21_000 + 20 + 15 + 3


def test_call_to_nothing_returns_nothing(ledger):
    assert result(to=bytes([9]) * 20, data=b"\1") == b""


def test_delegated_code_of_accounts_does_not_run(ledger):
    contract(ledger, 5001, ANSWERS)
    ledger.entity(1003, evm_address=OWN_ADDRESS, delegation_address=long_zero(5001))
    assert result(to=OWN_ADDRESS) == b""
    contract(ledger, 5002, code(OWN_ADDRESS, "EXTCODESIZE", *RETURN_TOP))
    assert result(to=long_zero(5002)) == bytes(32)


# BLOCKS


def test_a_block_that_is_not_stored_is_unknown(ledger):
    assert problem(block=parse_block("8")) == Problem("Bad Request", "Unknown block number")


@pytest.mark.parametrize("digits", [64, 96])
def test_a_hash_that_no_block_has_is_an_unknown_block(ledger, digits):
    text = "0x" + "5b" * (digits // 2)
    assert problem(block=parse_block(text)) == Problem("Bad Request", "Unknown block number")


def test_a_contract_sees_its_block(ledger):
    assert value_seen(ledger, "NUMBER") == 7


def test_a_contract_sees_the_gas_limit_of_the_call(ledger):
    assert value_seen(ledger, "GASLIMIT", gas=123_456) == 123_456


# PAYERS


def test_without_sender_the_treasury_calls(ledger):
    assert value_seen(ledger, "CALLER") == TREASURY
    assert int.from_bytes(result(to=long_zero(5005), sender=bytes(20)), "big") == TREASURY


def test_a_sender_is_seen_by_its_own_address(ledger):
    ledger.entity(1003, evm_address=OWN_ADDRESS)
    assert value_seen(ledger, "ORIGIN", sender=long_zero(1003)) == int.from_bytes(OWN_ADDRESS, "big")
    assert result(to=long_zero(5005), sender=OWN_ADDRESS)[12:] == OWN_ADDRESS


@pytest.mark.parametrize("sender", [long_zero(9999), OWN_ADDRESS])
def test_unknown_sender_is_not_found(ledger, sender):
    assert problem(to=long_zero(CALLER), sender=sender) == Problem(
        "PAYER_ACCOUNT_NOT_FOUND", "Sender account not found."
    )


@pytest.mark.parametrize("sender", [OWN_ADDRESS, long_zero(5001)], ids=["own address", "long-zero"])
@pytest.mark.parametrize("given", [{}, {"value": 3}, {"gas_price": 1}, {"value": 3, "gas_price": 1}], ids=str)
def test_for_a_contract_the_treasury_pays_and_calls(ledger, sender, given):
    contract(ledger, 5001, ANSWERS, evm_address=OWN_ADDRESS)
    for operation in ("CALLER", "ORIGIN"):
        number = 5002 + (operation == "ORIGIN")
        contract(ledger, number, code(operation, *RETURN_TOP))
        assert int.from_bytes(result(to=long_zero(number), sender=sender, **given), "big") == TREASURY


def test_a_hollow_account_may_call(ledger):
    ledger.entity(1003, evm_address=OWN_ADDRESS, key=b"")
    ledger.entity(1004, alias=bytes([9]) * 20, key=None)
    assert value_seen(ledger, "CALLER", sender=OWN_ADDRESS) == int.from_bytes(OWN_ADDRESS, "big")
    assert result(to=long_zero(5005), sender=bytes([9]) * 20)[12:] == bytes([9]) * 20


@pytest.mark.parametrize(
    ("given", "enough"),
    [
        ({"gas_price": 1}, 15_000_000 * 71),
        ({"value": 5}, 15_000_000 * 71 + 5),
        ({"value": 5, "gas": 21_000}, 21_000 * 71 + 5),
        ({}, 0),
    ],
    ids=str,
)
def test_a_named_sender_must_be_able_to_pay_for_all_its_gas(ledger, given, enough):
    ledger.entity(1003, balance=enough)
    ledger.entity(1004, balance=enough - 1)
    call = {"to": long_zero(CALLER), **given}
    assert result(sender=long_zero(1003), **call) == b""
    if enough:
        assert problem(sender=long_zero(1004), **call) == named("INSUFFICIENT_PAYER_BALANCE")


@pytest.mark.parametrize("value", [10**8, 10**18])
def test_without_the_rule_every_sender_can_pay(ledger, settings_of, value):
    settings_of({"web3.evm.validatePayerBalance": False})
    ledger.entity(1004, balance=1)
    contract(ledger, 5001, code("CALLVALUE", *RETURN_TOP))
    found = result(to=long_zero(5001), sender=long_zero(1004), value=value)
    assert int.from_bytes(found, "big") == value


def test_a_gas_price_without_sender_is_not_charged(ledger):
    assert result(to=long_zero(CALLER), gas_price=5000) == b""


def test_what_is_charged_for_gas_is_what_contracts_see(ledger):
    assert value_seen(ledger, "GASPRICE", gas_price=5) == 71


# GAS


def test_gas_below_what_the_message_costs_is_insufficient(ledger):
    assert problem(to=long_zero(CALLER), data=b"\1", gas=21_015) == Problem("INSUFFICIENT_GAS")
    assert result(to=long_zero(CALLER), data=b"\1", gas=21_016) == b""


def test_more_data_than_allowed_is_refused(ledger, settings_of):
    settings_of({"web3.evm.properties.jumboTransactions.ethereumMaxCallDataSize": 100})
    assert result(to=long_zero(CALLER), data=bytes(100)) == b""
    assert problem(to=long_zero(CALLER), data=bytes(101)) == named("TRANSACTION_OVERSIZE")


def test_an_estimate_is_eight_bytes_and_suffices(ledger):
    contract(ledger, 5001, code(1, 5, "SSTORE", *calling(long_zero(5002)), *RETURN_TOP))
    contract(ledger, 5002, ANSWERS)
    call = {"to": long_zero(5001)}
    used = answer(asked(**call)).used
    assert used is not None
    found = result(**call, estimate=True)
    least = int.from_bytes(found, "big")
    assert len(found) == 8
    assert used <= least <= used * 1.2
    assert answer(asked(**call, gas=least)).status is HTTPStatus.OK
    assert answer(asked(**call, gas=used - 1)).status is HTTPStatus.BAD_REQUEST


def test_failing_estimate_has_the_reason(ledger):
    contract(ledger, 5001, REVERTS)
    assert problem(to=long_zero(5001), estimate=True) == Problem("CONTRACT_REVERT_EXECUTED", "", "0x")


def test_unsupported_call_with_less_gas_does_not_break_an_estimate(ledger):
    # With less than a million left it asks for hashes all over the chain, more than a call may read.
    ledger.block(30_000)
    enough = code("GAS", 1_000_000, "GT", 11, "JUMPI", "STOP")
    asks = code("JUMPDEST", 0, "JUMPDEST", "DUP1", "BLOCKHASH", "POP", 256, "ADD")
    again = code("DUP1", 30_000, "GT", 14, "JUMPI", "STOP")
    contract(ledger, 5001, enough.ljust(11, b"\0") + asks + again)
    least = int.from_bytes(result(to=long_zero(5001), estimate=True), "big")
    assert least >= 1_021_000
    assert answer(asked(to=long_zero(5001), gas=1_000_000)).status is HTTPStatus.NOT_IMPLEMENTED


def test_a_share_of_the_limit_may_count_as_used(ledger, settings_of):
    settings_of({"web3.evm.maxGasRefundPercentage": 20})
    assert answer(asked(to=long_zero(CALLER), gas=100_000)).used == 80_000
    assert answer(asked(to=long_zero(CALLER), gas=21_000)).used == 21_000


# CREATION


def test_creation_ignores_fees_of_the_simple_schedule(ledger):
    # A million for the node, a million times that for the network, 10^17 for a ContractCreate.
    node, network_, create = "0a0408c0843d", "120408c0843d", "0807108080a8ec85afd1b101"
    part(SIMPLE_FEES, bytes.fromhex(f"{node}{network_}2a180a08436f6e7472616374120c{create}"))
    creates = code(0x2A, 0, "MSTORE8", 1, 0, "RETURN")
    assert result(data=creates) == result(data=creates, sender=long_zero(CALLER)) == b"\x2a"
    assert len(result(data=creates, estimate=True)) == 8


@pytest.mark.parametrize("to", [None, bytes(20)])
def test_without_receiver_the_data_creates_a_contract(ledger, to):
    # Returns the byte 0x2A as the code of the contract.
    creates = code(0x2A, 0, "MSTORE8", 1, 0, "RETURN")
    assert result(to=to, data=creates) == b"\x2a"


def test_creation_needs_code(ledger):
    assert problem(to=None, data=b"") == named("CONTRACT_BYTECODE_EMPTY")
    assert problem(to=None, data=b"", gas=30_000) == Problem("INSUFFICIENT_GAS")


@pytest.mark.parametrize(
    ("given", "begins"), [({}, 10**17), ({"gas_price": 1}, 10**13), ({"value": 5}, 10**13 - 5)], ids=str
)
def test_sender_has_paid_its_gas_and_may_have_a_minimum(ledger, given, begins):
    ledger.entity(1003, balance=10**13)
    balance = value_seen(ledger, "CALLER", "BALANCE", sender=long_zero(1003), **given)
    assert balance == begins - 15_000_000 * 71


def test_created_contract_has_the_next_number_and_no_value(ledger, settings_of):
    settings_of({"web3.evm.entityNumBuffer": 500})
    shows = code("ADDRESS", 0, "MSTORE", "CALLVALUE", 32, "MSTORE", 64, 0, "RETURN")
    found = result(data=shows, sender=long_zero(CALLER), value=9)
    assert found == long_zero(CALLER + 502).rjust(32, b"\0") + bytes(32)


# FAILURES


@pytest.mark.parametrize(
    ("runtime_code", "expected"),
    [
        (REVERTS, "CONTRACT_REVERT_EXECUTED"),
        (b"\xfe", "CONTRACT_EXECUTION_EXCEPTION"),
        (code("POP"), "CONTRACT_EXECUTION_EXCEPTION"),
        (code(1, "JUMP"), "CONTRACT_EXECUTION_EXCEPTION"),
        (code("JUMPDEST", 0, "JUMP"), "INSUFFICIENT_GAS"),
        (code("ADDRESS", "SELFDESTRUCT"), "OBTAINER_SAME_CONTRACT_ID"),
    ],
    ids=["revert", "invalid", "underflow", "jump", "gas", "self destruct"],
)
def test_each_failure_has_its_code(ledger, runtime_code, expected):
    contract(ledger, 5001, runtime_code)
    assert problem(to=long_zero(5001), gas=100_000) == Problem(expected, "", "0x")


def test_revert_data_is_shown_and_its_reason_decoded(ledger):
    text = b"not today"
    data = bytes.fromhex("08c379a0") + b"".join(
        [(32).to_bytes(32, "big"), len(text).to_bytes(32, "big"), text.ljust(32, b"\0")]
    )
    stores = [
        part for at in range(0, 128, 32) for part in (data[at : at + 32].ljust(32, b"\0"), at, "MSTORE")
    ]
    contract(ledger, 5001, code(*stores, len(data), 0, "REVERT"))
    assert problem(to=long_zero(5001)) == Problem("CONTRACT_REVERT_EXECUTED", "not today", f"0x{data.hex()}")


@pytest.mark.parametrize("ends", ["RETURN", "REVERT"])
def test_a_node_answers_no_more_than_its_setting_says(ledger, settings_of, ends):
    settings_of({"web3.maxResultSize": 1})
    contract(ledger, 5001, code(1024, 0, ends))
    contract(ledger, 5002, code(1025, 0, ends))
    fits, does_not = answer(asked(to=long_zero(5001))), answer(asked(to=long_zero(5002)))
    assert len(fits.result or fits.problems[0].data) in (1024, 2050)
    told = Problem("Bad Request", "The call returns 1025 bytes, this node answers at most 1024")
    assert (does_not.status, does_not.problems) == (HTTPStatus.BAD_REQUEST, (told,))
    # It ran, and its gas is gone.
    assert does_not.used is not None
    is_estimated = answer(asked(to=long_zero(5002), estimate=True)).status is HTTPStatus.OK
    assert is_estimated == (ends == "RETURN")


def test_a_failing_call_inside_is_the_contracts_own_matter(ledger):
    contract(ledger, 5001, code(*calling(long_zero(5002)), *RETURN_TOP))
    contract(ledger, 5002, REVERTS)
    assert result(to=long_zero(5001)) == bytes(32)


def error_of(text: bytes, *, offset: int = 32, length: int | None = None) -> bytes:
    length = len(text) if length is None else length
    return (
        bytes.fromhex("08c379a0")
        + offset.to_bytes(32, "big")
        + length.to_bytes(32, "big")
        + text.ljust(-(-len(text) // 32) * 32, b"\0")
    )


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (error_of(b"a reason"), "a reason"),
        (error_of("größer als 32 Bytes, mit Umlauten".encode()), "größer als 32 Bytes, mit Umlauten"),
        (error_of(b"\xff\xfe"), "\ufffd\ufffd"),
        (error_of(b""), ""),
        (error_of(b"text", length=33), ""),
        (error_of(b"text", length=2**256 - 1), ""),
        (error_of(b"text", offset=2**256 - 1), ""),
        (bytes.fromhex("08c379a0"), ""),
        (bytes.fromhex("08c379"), ""),
        (bytes.fromhex("4e487b71") + (17).to_bytes(32, "big"), ""),
        (bytes.fromhex("4cfa3fcd"), ""),
        (b"", ""),
    ],
)
def test_only_reasons_in_words_are_decoded(output, expected):
    assert reason(output) == expected


# PRICE OF GAS


def test_the_price_of_gas_follows_the_stored_files(ledger):
    part(111, fee_schedule((CONTRACT_CALL, 1_704_000), expires=FAR), at=START + 1)
    part(112, rates(6, expires=FAR), at=START + 2)
    assert value_seen(ledger, "GASPRICE") == 284


def test_a_rate_that_has_ended_makes_room_for_the_next(ledger):
    part(112, rates(70), at=START + 2)
    assert value_seen(ledger, "GASPRICE") == 12


def test_a_schedule_that_has_ended_makes_room_for_the_next(ledger):
    part(111, fee_schedule((CONTRACT_CALL, 1_704_000)))
    assert value_seen(ledger, "GASPRICE") == 1


@pytest.mark.parametrize(("second", "price"), [(0, 71), (3599, 71), (3600, 65), (7199, 65), (7200, 65)])
def test_next_rate_applies_as_the_hour_begins(ledger, settings_of, second, price):
    hour = 1_700_002_800
    settings_of({"clock.now": float(hour + second)})
    part(112, rates(12, expires=hour + 3600), at=START + 2)
    assert value_seen(ledger, "GASPRICE") == price


def test_a_new_rate_counts_from_its_block_on(ledger):
    part(112, rates(12, expires=FAR), at=START + 2)
    assert value_seen(ledger, "GASPRICE") == 71
    ledger.block(8)
    part(112, rates(6, expires=FAR), at=START + 3)
    # The process remembers the latest block for half a second, and system files for ten minutes.
    cache.caches().blocks = Caches().blocks
    assert int.from_bytes(result(to=long_zero(5005)), "big") == 142


def test_files_that_can_not_be_read_are_skipped(ledger):
    part(112, rates(6, expires=FAR), at=START + 2)
    for later in range(150):
        part(112, UNREADABLE, at=START + 3 + later)
    assert value_seen(ledger, "GASPRICE") == 142


def test_without_the_file_111_gas_has_the_price_of_the_file_113(ledger):
    schedule: Any = FeeSchedule(extras=[{"name": FeeExtra.Value("GAS"), "fee": 2 * 852}])
    schedule.services.add().schedule.add(name=CONTRACT_CALL)
    part(SIMPLE_FEES, schedule.SerializeToString())
    assert value_seen(ledger, "GASPRICE") == 142


def test_gas_costs_something_whatever_the_files_say(ledger):
    part(111, fee_schedule((CONTRACT_CALL, 1), expires=FAR))
    assert value_seen(ledger, "GASPRICE") == 1


def test_rates_that_say_nothing_do_not_count(ledger):
    part(112, rates(0, 0, expires=FAR))
    assert value_seen(ledger, "GASPRICE") == 71
