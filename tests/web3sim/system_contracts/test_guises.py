"""Tokens, accounts, schedules and system contracts, as the EVM's own operations see them."""

from typing import Any

import pytest
from eth_abi.abi import encode

from mirror.core.values.hashes import keccak256
from tests.web3sim.engine.world import code
from tests.web3sim.rows import contract
from tests.web3sim.state.states import current, long_zero
from tests.web3sim.system_contracts.calls import CALLER, run, words
from web3sim.engine.interface import AccountKind, Halt, Status
from web3sim.state.proxy_code import SCHEDULE_SERVICE, TOKEN_SERVICE, proxy_code
from web3sim.system_contracts.contracts import SERVICES
from web3sim.system_contracts.function_signatures import parameters_of, selector_of

ACCOUNT, CONTRACT, TOKEN, SCHEDULE, MAKER, LOOKER = 2001, 5001, 3001, 4001, 5005, 5006
CREATE_TOKEN = "createFungibleToken(HederaTokenV3,int64,int32)"
SCHEDULE_CALL = "scheduleCall(address,uint256,uint256,uint64,bytes)"
NO_CODE_HASH = keccak256(b"")
LEDGERS_OWN = long_zero(0x16D)


@pytest.fixture
def ledger(build):
    build.block(7)
    build.entity(98)
    build.entity(CALLER, balance=10**12)
    build.entity(ACCOUNT, balance=77)
    build.entity(TOKEN, type="TOKEN", balance=5)
    build.token(TOKEN)
    build.entity(SCHEDULE, type="SCHEDULE")
    build.schedule(SCHEDULE)
    contract(build, CONTRACT, b"\x00", balance=9)
    return build


def look(address):
    """Operations that write size, hash and balance, and the hash of the code as it is copied, to memory."""
    return (
        *(address, "EXTCODESIZE", 0, "MSTORE", address, "EXTCODEHASH", 32, "MSTORE"),
        *(address, "BALANCE", 64, "MSTORE"),
        *(address, "EXTCODESIZE", 0, 1024, address, "EXTCODECOPY"),
        *(address, "EXTCODESIZE", 1024, "SHA3", 96, "MSTORE"),
    )


def seen(runtime_code, data=b"", **options):
    """Size, hash, balance and the hash of the copied code, as a contract with this code returns them."""
    result = run(current(), long_zero(LOOKER), data, gas=10_000_000, **options)
    assert result.status is Status.SUCCESS, result
    size, digest, balance, copied = (result.output[start : start + 32] for start in range(0, 128, 32))
    return int.from_bytes(size), digest, int.from_bytes(balance), copied


def expected(account_code, balance=0):
    return len(account_code), keccak256(account_code), balance, keccak256(account_code)


@pytest.mark.parametrize(
    ("number", "is_seen_as"),
    [
        (TOKEN, expected(proxy_code(AccountKind.TOKEN, long_zero(TOKEN)))),
        (SCHEDULE, expected(proxy_code(AccountKind.SCHEDULE, long_zero(SCHEDULE)))),
        # The code of an account's proxy runs, but is not shown.
        (ACCOUNT, expected(b"", 77)),
        (CONTRACT, expected(b"\x00", 9)),
        (98, (0, bytes(32), 0, NO_CODE_HASH)),
        (2999, (0, bytes(32), 0, NO_CODE_HASH)),
        *((number, (0, bytes(32), 0, NO_CODE_HASH)) for number in range(0x167, 0x16E)),
    ],
)
def test_address_shows_code_and_balance(ledger, number, is_seen_as):
    if number == 98:
        ledger.entity(0x167, balance=5)
    runtime_code = code(*look(long_zero(number)), 128, 0, "RETURN")
    contract(ledger, LOOKER, runtime_code)
    assert seen(runtime_code) == is_seen_as


def calls(service, value=0):
    """Operations that hand the call data on; whether that succeeded is left on the stack."""
    return ("CALLDATASIZE", 0, 0, "CALLDATACOPY", 0, 0, "CALLDATASIZE", 0, value, service, 5_000_000, "CALL")


def creation():
    expiry = (0, long_zero(CALLER), 7_776_000)
    struct: tuple[Any, ...] = ("Gold", "GLD", long_zero(CALLER), "", False, 0, False, [], expiry)
    return selector_of(CREATE_TOKEN) + encode(parameters_of(CREATE_TOKEN), (struct, 700, 3))


def scheduling():
    arguments = long_zero(CALLER), 1_000_000, 100_000, 0, b""
    return selector_of(SCHEDULE_CALL) + encode(parameters_of(SCHEDULE_CALL), arguments)


MADE = pytest.mark.parametrize(
    ("service", "data", "kind", "value"),
    [
        (TOKEN_SERVICE, creation(), AccountKind.TOKEN, 10**10),
        (SCHEDULE_SERVICE, scheduling(), AccountKind.SCHEDULE, 0),
    ],
    ids=["token", "schedule"],
)


@MADE
def test_what_a_call_has_made_shows_its_code_at_once(ledger, service, data, kind, value):
    # All entities come from below, so this is the number of the next one.
    address = long_zero(LOOKER + 1002)
    runtime_code = code(*calls(service, value), "POP", *look(address), 128, 0, "RETURN")
    contract(ledger, LOOKER, runtime_code, balance=10**11)
    assert current().next_contract_address() == address
    assert seen(runtime_code, data) == expected(proxy_code(kind, address))


@MADE
def test_reverted_account_does_not_exist(ledger, service, data, kind, value):
    contract(ledger, MAKER, code(*calls(service, value), 0, 0, "REVERT"), balance=10**11)
    address = long_zero(LOOKER + 1002)
    runtime_code = code(*calls(long_zero(MAKER)), "POP", *look(address), 128, 0, "RETURN")
    contract(ledger, LOOKER, runtime_code)
    assert seen(runtime_code, data) == (0, bytes(32), 0, NO_CODE_HASH)


# VERSION 0.77: THE CODE OF TOKENS AND SCHEDULES IS A DELEGATION


@pytest.fixture
def version(settings_of):
    return lambda text: settings_of({"web3.evm.evmVersion": text})


@pytest.mark.parametrize(("number", "service"), [(TOKEN, TOKEN_SERVICE), (SCHEDULE, SCHEDULE_SERVICE)])
def test_code_that_delegates_to_the_service_is_shown(ledger, version, number, service):
    runtime_code = code(*look(long_zero(number)), 128, 0, "RETURN")
    contract(ledger, LOOKER, runtime_code)
    version("0.77")
    assert seen(runtime_code) == expected(bytes.fromhex("ef0100") + service)


@MADE
def test_what_a_call_has_made_delegates_at_once(ledger, version, service, data, kind, value):
    runtime_code = code(*calls(service, value), "POP", *look(long_zero(LOOKER + 1002)), 128, 0, "RETURN")
    contract(ledger, LOOKER, runtime_code, balance=10**11)
    version("0.77")
    assert seen(runtime_code, data) == expected(bytes.fromhex("ef0100") + service)


@pytest.mark.parametrize(
    ("number", "signature", "arguments"),
    [
        (TOKEN, "totalSupply()", ()),
        (TOKEN, "balanceOf(address)", (ACCOUNT,)),
        (TOKEN, "associate()", ()),
        (TOKEN, "unknown()", ()),
        (SCHEDULE, "signSchedule()", ()),
        (SCHEDULE, "unknown()", ()),
        (ACCOUNT, "hbarAllowance(address)", (CALLER,)),
        (ACCOUNT, "setUnlimitedAutomaticAssociations(bool)", (1,)),
    ],
)
def test_delegated_functions_answer_as_those_of_proxy_code(ledger, version, number, signature, arguments):
    data = selector_of(signature) + words(*arguments)
    before = run(current(), long_zero(number), data)
    version("0.77")
    after = run(current(), long_zero(number), data)

    assert (after.status, after.output, after.logs) == (before.status, before.output, before.logs)
    # The proxy code takes gas itself, and 2,600 for its service.
    assert 2_600 < before.gas_used - after.gas_used < 3_000


def test_a_request_for_a_token_finds_why_it_is_refused(ledger, version):
    """Proxy code reverted without the bytes of its service."""
    data = selector_of("balanceOf(address)") + words(9999)
    assert run(current(), long_zero(TOKEN), data).output == b""
    version("0.77")
    result = run(current(), long_zero(TOKEN), data)
    assert (result.status, result.output) == (Status.REVERT, b"INVALID_ACCOUNT_ID")


def test_a_token_halts_with_less_than_a_selector(ledger, version):
    assert run(current(), long_zero(TOKEN), b"abc").status is Status.REVERT
    version("0.77")
    assert run(current(), long_zero(TOKEN), b"abc").halt is Halt.PRECOMPILE


# WHAT IS OFF


def test_the_service_with_wider_numbers_is_off(ledger):
    """Networks have it switched off: it knows no function, not even those of the usual one."""
    service = long_zero(0x16C)
    for selector in SERVICES[TOKEN_SERVICE].functions:
        result = run(current(), service, selector + words(TOKEN))
        assert result.halt is Halt.PRECOMPILE
    assert run(current(), service, b"").halt is Halt.PRECOMPILE
    assert run(current(), service, b"", value=1).halt is Halt.INVALID_CONTRACT


def test_hook_address_takes_gas_like_other_system_accounts(ledger):
    for data in (b"", creation()):
        result = run(current(), LEDGERS_OWN, data)
        assert (result.status, result.output, result.gas_used) == (Status.SUCCESS, b"", 1_000_000)
    assert run(current(), LEDGERS_OWN, b"", value=1).halt is Halt.INVALID_CONTRACT


def test_call_to_the_hook_address_loses_its_gas(ledger):
    call = (0, 0, 0, 0, 0, LEDGERS_OWN, 100_000, "CALL")
    contract(ledger, LOOKER, code(*call, 0, "MSTORE", 32, 0, "RETURN"))
    result = run(current(), long_zero(LOOKER), b"")
    assert result.output == words(1)
    assert result.execution_gas > 100_000
