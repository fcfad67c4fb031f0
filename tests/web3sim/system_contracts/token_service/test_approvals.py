"""Approvals of units and serials in a call."""

from typing import Any

import pytest

from mirror.core.values.hashes import keccak256
from tests.build import START
from tests.web3sim.rows import contract
from tests.web3sim.state.states import at, current, long_zero
from tests.web3sim.system_contracts.calls import CALLER, SERVICE, data_of, run, words
from tests.web3sim.system_contracts.scripts import Step, outcomes, script
from tests.web3sim.system_contracts.token_service.ledger import (
    HOLDER,
    OTHER_CONTRACT,
    PLAIN,
    SCRIPT,
    STRANGER,
    SUCCESS,
    TOKEN,
    TREASURY,
    UNIQUE,
    ask,
    code_word,
    codes,
    explicit,
    people,
    scripted,
    step,
    token,
)
from web3sim.engine.interface import CallResult, Halt, Log, Status

APPROVE, APPROVE_NFT = "approve(address,address,uint256)", "approveNFT(address,address,uint256)"
FOR_ALL = "setApprovalForAll(address,address,bool)"
ERC_APPROVE, ERC_FOR_ALL = "approve(address,uint256)", "setApprovalForAll(address,bool)"
ALLOWANCE, GET_APPROVED = "allowance(address,address)", "getApproved(uint256)"
IS_FOR_ALL = "isApprovedForAll(address,address)"
OWNER_ADDRESS = bytes.fromhex("830621be5815d8a1cd6f2a96d18013c6ad61c737")
PAUSED, FINITE, WITH_ADDRESS = 3004, 3005, 2003
NOBODY = bytes(20)


@pytest.fixture
def ledger(build):
    """Serial 1 is the caller's, 2 the holder's, 3 the treasury's, 4 a contract's, 5 that of the script."""
    people(build)
    build.entity(WITH_ADDRESS, evm_address=OWNER_ADDRESS)
    token(build, TOKEN)
    token(build, UNIQUE, type="NON_FUNGIBLE_UNIQUE")
    token(build, PLAIN)
    token(build, PAUSED, pause_status="PAUSED")
    token(build, FINITE, supply_type="FINITE", max_supply=50)
    for account in (TREASURY, HOLDER, CALLER, SCRIPT):
        for number in (TOKEN, UNIQUE, PAUSED, FINITE):
            build.holding(number, account=account, balance=1)
    build.holding(UNIQUE, account=OTHER_CONTRACT, balance=1)
    owners = CALLER, HOLDER, None, OTHER_CONTRACT, SCRIPT
    for serial_number, owner in enumerate(owners, start=1):
        build.nft(UNIQUE, serial_number, account=owner, spender=STRANGER)
    return build


def assert_answered(result: CallResult, code: str, output: bytes) -> None:
    """A refusal at the address of a token reverts, and its code is only among the failures."""
    refused = code != "SUCCESS"
    expected = (Status.REVERT, b"", (code,)) if refused else (Status.SUCCESS, output, ())
    assert (result.status, result.output, result.child_failures) == expected


def spender_of(serial_number: int) -> Step:
    return ask(UNIQUE, GET_APPROVED, serial_number)


# UNITS


def test_the_last_approval_of_units_counts(ledger):
    allowance = ask(TOKEN, ALLOWANCE, long_zero(SCRIPT), long_zero(STRANGER))
    found = scripted(
        ledger,
        allowance,
        step(APPROVE, long_zero(TOKEN), long_zero(STRANGER), 7),
        allowance,
        ask(TOKEN, ERC_APPROVE, long_zero(STRANGER), 5),
        allowance,
        step(APPROVE, long_zero(TOKEN), long_zero(STRANGER), 0),
        allowance,
    )
    assert codes(found) == [0, SUCCESS, 7, 1, 5, SUCCESS, 0]


@pytest.mark.parametrize(
    ("number", "spender", "amount", "code"),
    [
        (TOKEN, STRANGER, (1 << 63) - 1, "SUCCESS"),
        (TOKEN, 2999, 0, "SUCCESS"),
        # The number of a token is one at which no account is.
        (TOKEN, UNIQUE, 0, "SUCCESS"),
        (TOKEN, WITH_ADDRESS, 0, "INVALID_ALLOWANCE_SPENDER_ID"),
        (TOKEN, CALLER, 1, "SUCCESS"),
        (FINITE, STRANGER, 50, "SUCCESS"),
        (3999, 0, 0, "INVALID_ALLOWANCE_SPENDER_ID"),
        (3999, 2999, 1, "INVALID_TOKEN_ID"),
        (PAUSED, 2999, 1, "INVALID_ALLOWANCE_SPENDER_ID"),
        (PAUSED, STRANGER, 1, "SUCCESS"),
        (UNIQUE, 2999, 1, "NFT_IN_FUNGIBLE_TOKEN_ALLOWANCES"),
        (FINITE, 2999, 51, "INVALID_ALLOWANCE_SPENDER_ID"),
        (FINITE, WITH_ADDRESS, 51, "INVALID_ALLOWANCE_SPENDER_ID"),
        (FINITE, STRANGER, 51, "AMOUNT_EXCEEDS_TOKEN_MAX_SUPPLY"),
        (PLAIN, STRANGER, 1, "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
    ],
)
def test_approving_units_is_refused_in_the_networks_order(ledger, number, spender, amount, code):
    assert explicit(APPROVE, long_zero(number), long_zero(spender), amount) == code
    if number not in (3999, UNIQUE):
        result = run(current(), long_zero(number), data_of(ERC_APPROVE, long_zero(spender), amount))
        assert_answered(result, code, words(1))


@pytest.mark.parametrize("number", [1 << 63, (1 << 256) - 1])
def test_more_than_the_ledger_can_count_halts(ledger, number):
    for signature in (APPROVE, APPROVE_NFT):
        data = data_of(signature, long_zero(TOKEN), long_zero(STRANGER), number)
        assert run(current(), SERVICE, data).halt is Halt.PRECOMPILE
    result = run(current(), long_zero(TOKEN), data_of(ERC_APPROVE, long_zero(STRANGER), number))
    assert (result.status, result.output) == (Status.REVERT, b"")


# SERIALS


def test_an_owner_approves_and_revokes_serials(ledger):
    found = scripted(
        ledger,
        spender_of(5),
        step(APPROVE_NFT, long_zero(UNIQUE), long_zero(HOLDER), 5),
        spender_of(5),
        step(APPROVE_NFT, long_zero(UNIQUE), NOBODY, 5),
        spender_of(5),
        ask(UNIQUE, ERC_APPROVE, long_zero(HOLDER), 5),
        spender_of(5),
        ask(UNIQUE, ERC_APPROVE, NOBODY, 5),
        spender_of(5),
    )
    assert codes(found) == [STRANGER, SUCCESS, HOLDER, SUCCESS, 0, 0, HOLDER, 0, 0]
    assert [found[5].output, found[7].output] == [b"", b""]


def test_who_is_approved_for_all_approves_and_revokes_like_the_owner(ledger):
    ledger.allowance("nft", owner=HOLDER, spender=SCRIPT, token_id=UNIQUE)
    ledger.allowance("nft", owner=OTHER_CONTRACT, spender=SCRIPT, token_id=UNIQUE)
    ledger.allowance("nft", owner=TREASURY, spender=SCRIPT, token_id=UNIQUE)
    found = scripted(
        ledger,
        step(APPROVE_NFT, long_zero(UNIQUE), OWNER_ADDRESS, 2),
        spender_of(2),
        step(APPROVE_NFT, long_zero(UNIQUE), long_zero(HOLDER), 3),
        spender_of(3),
        ask(UNIQUE, ERC_APPROVE, NOBODY, 4),
        spender_of(4),
    )
    address = int.from_bytes(OWNER_ADDRESS)
    assert codes(found) == [SUCCESS, address, SUCCESS, HOLDER, 0, 0]


@pytest.mark.parametrize(
    ("number", "spender", "serial_number", "code"),
    [
        (UNIQUE, HOLDER, 1, "SUCCESS"),
        (3999, 2999, 1, "INVALID_TOKEN_ID"),
        (PAUSED, 2999, 1, "FUNGIBLE_TOKEN_IN_NFT_ALLOWANCES"),
        (TOKEN, 2999, 1, "FUNGIBLE_TOKEN_IN_NFT_ALLOWANCES"),
        (UNIQUE, 2999, 9, "INVALID_ALLOWANCE_SPENDER_ID"),
        (UNIQUE, CALLER, 1, "SPENDER_ACCOUNT_SAME_AS_OWNER"),
        (UNIQUE, HOLDER, 2, "SPENDER_ACCOUNT_SAME_AS_OWNER"),
        (UNIQUE, STRANGER, 2, "DELEGATING_SPENDER_DOES_NOT_HAVE_APPROVE_FOR_ALL"),
        (UNIQUE, STRANGER, 3, "DELEGATING_SPENDER_DOES_NOT_HAVE_APPROVE_FOR_ALL"),
        (UNIQUE, STRANGER, 9, "INVALID_TOKEN_NFT_SERIAL_NUMBER"),
        (UNIQUE, STRANGER, 0, "INVALID_TOKEN_NFT_SERIAL_NUMBER"),
        # Nobody is approved.
        (UNIQUE, 0, 1, "SUCCESS"),
        # All keys count as having signed.
        (UNIQUE, 0, 2, "SUCCESS"),
        (UNIQUE, 0, 4, "SUCCESS"),
        # It is the long-zero address of an account with another one.
        (UNIQUE, WITH_ADDRESS, 1, "SUCCESS"),
        (UNIQUE, 0, 9, "INVALID_TOKEN_NFT_SERIAL_NUMBER"),
        (3999, 0, 1, "INVALID_TOKEN_ID"),
        (PAUSED, 0, 1, "FUNGIBLE_TOKEN_IN_NFT_ALLOWANCES"),
        (TOKEN, 0, 1, "FUNGIBLE_TOKEN_IN_NFT_ALLOWANCES"),
    ],
)
def test_approving_serials_is_refused_in_the_networks_order(ledger, number, spender, serial_number, code):
    assert explicit(APPROVE_NFT, long_zero(number), long_zero(spender), serial_number) == code
    if number == UNIQUE:
        data = data_of(ERC_APPROVE, long_zero(spender), serial_number)
        result = run(current(), long_zero(UNIQUE), data)
        if code.startswith("DELEGATING"):
            code = "SENDER_DOES_NOT_OWN_NFT_SERIAL_NO"
        assert_answered(result, code, b"")


def test_an_owner_must_be_associated_to_approve(ledger):
    ledger.nft(UNIQUE, 6, account=STRANGER)
    arguments = long_zero(UNIQUE), long_zero(HOLDER), 6
    assert explicit(APPROVE_NFT, *arguments, sender=STRANGER) == "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"
    assert explicit(APPROVE_NFT, long_zero(UNIQUE), NOBODY, 6, sender=STRANGER) == (
        "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"
    )


# ALL SERIALS


def test_an_operator_is_approved_and_no_more(ledger):
    is_approved = ask(UNIQUE, IS_FOR_ALL, long_zero(SCRIPT), long_zero(STRANGER))
    found = scripted(
        ledger,
        is_approved,
        step(FOR_ALL, long_zero(UNIQUE), long_zero(STRANGER), 1),
        is_approved,
        ask(UNIQUE, ERC_FOR_ALL, long_zero(STRANGER), 0),
        is_approved,
        ask(UNIQUE, ERC_FOR_ALL, long_zero(STRANGER), 1),
        is_approved,
    )
    assert codes(found) == [0, SUCCESS, 1, SUCCESS, 0, SUCCESS, 1]


@pytest.mark.parametrize(
    ("number", "operator", "approved", "code"),
    [
        (UNIQUE, STRANGER, 1, "SUCCESS"),
        (UNIQUE, 2999, 0, "SUCCESS"),
        (3999, 0, 1, "INVALID_ALLOWANCE_SPENDER_ID"),
        (3999, 2999, 1, "INVALID_TOKEN_ID"),
        (PAUSED, 2999, 1, "FUNGIBLE_TOKEN_IN_NFT_ALLOWANCES"),
        (TOKEN, 2999, 1, "FUNGIBLE_TOKEN_IN_NFT_ALLOWANCES"),
        (UNIQUE, 2999, 1, "INVALID_ALLOWANCE_SPENDER_ID"),
        (UNIQUE, CALLER, 0, "SPENDER_ACCOUNT_SAME_AS_OWNER"),
        (PLAIN, STRANGER, 1, "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
    ],
)
def test_approving_for_all_is_refused_in_the_networks_order(build, ledger, number, operator, approved, code):
    if number == PLAIN:
        token(build, 3006, type="NON_FUNGIBLE_UNIQUE")
        number = 3006
    result = run(current(), SERVICE, data_of(FOR_ALL, long_zero(number), long_zero(operator), approved))
    answers_code = code in ("SUCCESS", "INVALID_ALLOWANCE_SPENDER_ID", "INVALID_TOKEN_ID")
    assert (result.status is Status.SUCCESS, result.output) == (answers_code, code_word(code))
    if number != 3999:
        result = run(current(), long_zero(number), data_of(ERC_FOR_ALL, long_zero(operator), approved))
        if answers_code:
            assert (result.status, result.output) == (Status.SUCCESS, code_word(code))
        else:
            assert_answered(result, code, b"")


# WHAT IS COMMON TO ALL


def logged(to: bytes, signature: str, *values: int | bytes, **options: Any) -> tuple[Log, ...]:
    return run(current(), to, data_of(signature, *values), **options).logs


def event(signature: str, *topics: bytes, data: bytes = b"", token_number: int = UNIQUE) -> tuple[Log]:
    padded = tuple(topic.rjust(32, b"\0") for topic in (keccak256(signature.encode()), *topics))
    return (Log(long_zero(token_number), padded, data),)


def test_approvals_are_logged_by_the_token(ledger):
    ledger.entity(2004, evm_address=b"\4" * 20)
    caller, stranger = long_zero(CALLER), long_zero(STRANGER)
    approval, all_serials = "Approval(address,address,uint256)", "ApprovalForAll(address,address,bool)"
    units = event(approval, caller, long_zero(WITH_ADDRESS), data=words(7), token_number=TOKEN)
    assert logged(SERVICE, APPROVE, long_zero(TOKEN), OWNER_ADDRESS, 7) == units
    units = event(approval, caller, OWNER_ADDRESS, data=words(7), token_number=TOKEN)
    assert logged(long_zero(TOKEN), ERC_APPROVE, OWNER_ADDRESS, 7) == units
    serial = event(approval, caller, stranger, words(1))
    assert logged(SERVICE, APPROVE_NFT, long_zero(UNIQUE), stranger, 1) == serial
    assert logged(long_zero(UNIQUE), ERC_APPROVE, stranger, 1) == serial
    assert logged(long_zero(UNIQUE), ERC_APPROVE, NOBODY, 1) == event(approval, caller, NOBODY, words(1))
    for_all = event(all_serials, caller, stranger, data=words(1))
    assert logged(SERVICE, FOR_ALL, long_zero(UNIQUE), stranger, 1) == for_all
    assert logged(long_zero(UNIQUE), ERC_FOR_ALL, stranger, 1) == for_all
    assert logged(SERVICE, FOR_ALL, long_zero(TOKEN), stranger, 1) == ()


@pytest.mark.parametrize(
    ("signature", "number", "last"), [(APPROVE, TOKEN, 1), (APPROVE_NFT, UNIQUE, 1), (FOR_ALL, UNIQUE, 1)]
)
def test_they_cost_the_canonical_price_and_halt_in_static_frames(ledger, signature, number, last):
    data = data_of(signature, long_zero(number), long_zero(STRANGER), last)
    assert run(current(), SERVICE, data).execution_gas == 705_424
    assert run(current(), SERVICE, data, static=True).halt is Halt.PRECOMPILE
    assert run(current(), SERVICE, data[:-32]).halt is Halt.PRECOMPILE


@pytest.mark.parametrize("state_of", [current, lambda: at(START + 100)], ids=["now", "then"])
def test_an_owner_grants_something_to_a_hundred_spenders(ledger, state_of):
    """Hbar, units and all serials count together; what was revoked or used up does not."""
    for spender in range(98):
        kind = ("crypto", {}) if spender % 2 else ("token", {"token_id": TOKEN})
        ledger.allowance(kind[0], owner=SCRIPT, spender=7000 + spender, **kind[1])
    ledger.allowance("nft", owner=SCRIPT, spender=7000, token_id=UNIQUE)
    ledger.allowance("nft", owner=SCRIPT, spender=7001, token_id=UNIQUE, approved_for_all=False)
    ledger.allowance("token", owner=SCRIPT, spender=7300, token_id=TOKEN, amount=0, amount_granted=0)
    ledger.entity(7000)
    contract(
        ledger,
        SCRIPT,
        script(
            step(APPROVE, long_zero(TOKEN), long_zero(STRANGER), 1),
            step(APPROVE, long_zero(TOKEN), long_zero(STRANGER), 2),
            step(APPROVE, long_zero(TOKEN), long_zero(HOLDER), 1),
            step(FOR_ALL, long_zero(UNIQUE), long_zero(HOLDER), 1),
            step(APPROVE, long_zero(TOKEN), long_zero(7000), 0),
            step(FOR_ALL, long_zero(UNIQUE), long_zero(HOLDER), 1),
            step(APPROVE, long_zero(TOKEN), long_zero(HOLDER), 1),
        ),
    )
    found = outcomes(run(state_of(), long_zero(SCRIPT), b"", gas=12_000_000))
    succeeded = [outcome.succeeded for outcome in found]
    assert succeeded == [True, True, False, False, True, True, False]


def test_revoking_by_an_unknown_address_has_no_event_of_the_service(ledger):
    """Such an address has no number that the event could have; the token itself names none."""
    unknown = bytes([0xAB]) * 20
    assert (
        run(current(), SERVICE, data_of(APPROVE_NFT, long_zero(UNIQUE), unknown, 1)).halt is Halt.PRECOMPILE
    )
    assert_answered(run(current(), long_zero(UNIQUE), data_of(ERC_APPROVE, unknown, 1)), "SUCCESS", b"")
    # A refusal comes first.
    code = "INVALID_TOKEN_NFT_SERIAL_NUMBER"
    assert explicit(APPROVE_NFT, long_zero(UNIQUE), unknown, 77) == code
