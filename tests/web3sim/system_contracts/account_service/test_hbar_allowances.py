"""Allowances of hbar."""

import pytest

from mirror.core.values.keys import EMPTY_LIST
from tests.build import START
from tests.web3sim.state.states import at, current, long_zero
from tests.web3sim.system_contracts.account_service.accounts import (
    ADDRESS,
    CODES,
    NAMED,
    NOBODY,
    NUMBERED,
    SERVICE,
    UNKNOWN,
    ask,
    call_data,
    people,
    scripted,
    step,
)
from tests.web3sim.system_contracts.calls import BLOCK, CALLER, data_of, run, words
from tests.web3sim.system_contracts.token_service.ledger import FOREIGN, OTHER_CONTRACT, PEOPLE
from web3sim.engine import registry
from web3sim.engine.interface import CallRequest, Halt, Status
from web3sim.system_contracts.contracts import NetworkContracts

ALLOWANCE, APPROVE = "hbarAllowance(address,address)", "hbarApprove(address,address,int256)"
REDIRECT = "redirectForAccount(address,bytes)"
OWN_ALLOWANCE, OWN_APPROVE = "hbarAllowance(address)", "hbarApprove(address,int256)"
SPENDER = long_zero(NUMBERED)


@pytest.fixture
def ledger(build):
    people(build, key=PEOPLE)
    build.entity(OTHER_CONTRACT, type="CONTRACT", key=FOREIGN)
    build.allowance("crypto", owner=NAMED, spender=NUMBERED, amount=9, amount_granted=9)
    return build


def test_an_allowance_is_what_is_left_of_it(ledger):
    for state in (current(), at(START + 100)):
        assert run(state, SERVICE, data_of(ALLOWANCE, ADDRESS, SPENDER)).output == words(22, 9)
        assert run(state, SERVICE, data_of(ALLOWANCE, SPENDER, ADDRESS)).output == words(22, 0)
        assert run(state, SERVICE, data_of(ALLOWANCE, ADDRESS, UNKNOWN)).output == words(22, 0)
        assert run(state, ADDRESS, data_of(OWN_ALLOWANCE, SPENDER)).output == words(22, 9)


def test_the_allowance_of_an_unknown_owner_reverts(ledger):
    for owner in (UNKNOWN, NOBODY, long_zero(NAMED)):
        result = ask(ALLOWANCE, owner, SPENDER)
        assert (result.status, result.output) == (Status.REVERT, b"INVALID_ALLOWANCE_OWNER_ID")
        assert result.child_failures == ("INVALID_ALLOWANCE_OWNER_ID",)


def test_later_steps_of_a_call_see_an_approval(ledger):
    found = scripted(
        ledger,
        step(APPROVE, ADDRESS, SPENDER, 5),
        step(ALLOWANCE, ADDRESS, SPENDER, kind="STATICCALL"),
        step(OWN_ALLOWANCE, SPENDER, to=ADDRESS, kind="STATICCALL"),
        step(REDIRECT, ADDRESS, call_data(OWN_APPROVE, long_zero(CALLER), 2**63 - 1)),
        step(ALLOWANCE, ADDRESS, long_zero(CALLER)),
        step(APPROVE, ADDRESS, SPENDER, 0),
        step(ALLOWANCE, ADDRESS, SPENDER),
    )
    # From a contract an account has no functions.
    expected = [(22,), (22, 5), (), (22,), (22, 2**63 - 1), (22,), (22, 0)]
    assert found == [(True, words(*answer)) for answer in expected]
    assert ask(ALLOWANCE, ADDRESS, SPENDER).output == words(22, 9)


def test_a_contract_approves_of_its_own_hbar(ledger):
    found = scripted(
        ledger, step(APPROVE, long_zero(5005), SPENDER, 5), step(ALLOWANCE, long_zero(5005), SPENDER)
    )
    assert found == [(True, words(22)), (True, words(22, 5))]


REFUSED = [
    ((ADDRESS, SPENDER, -1), "NEGATIVE_ALLOWANCE_AMOUNT"),
    ((ADDRESS, SPENDER, -(2**63)), "NEGATIVE_ALLOWANCE_AMOUNT"),
    # The amount is looked at first, the owner before the spender.
    ((UNKNOWN, SPENDER, -1), "NEGATIVE_ALLOWANCE_AMOUNT"),
    ((UNKNOWN, UNKNOWN, 1), "INVALID_ALLOWANCE_OWNER_ID"),
    ((long_zero(NAMED), SPENDER, 1), "INVALID_ALLOWANCE_OWNER_ID"),
    ((long_zero(OTHER_CONTRACT), UNKNOWN, 1), "INVALID_ALLOWANCE_SPENDER_ID"),
    ((ADDRESS, UNKNOWN, 1), "INVALID_ALLOWANCE_SPENDER_ID"),
    ((ADDRESS, NOBODY, 1), "INVALID_ALLOWANCE_SPENDER_ID"),
    ((ADDRESS, ADDRESS, 1), "SPENDER_ACCOUNT_SAME_AS_OWNER"),
]


@pytest.mark.parametrize(("values", "code"), REFUSED)
def test_an_approval_that_the_network_refuses_reverts_with_its_code(ledger, values, code):
    result = ask(APPROVE, *values)
    assert (result.status, result.output, result.child_failures) == (
        *(Status.REVERT, words(CODES[code])),
        (code,),
    )


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ((SPENDER, -1), "NEGATIVE_ALLOWANCE_AMOUNT"),
        ((UNKNOWN, 1), "INVALID_ALLOWANCE_SPENDER_ID"),
        ((ADDRESS, 1), "SPENDER_ACCOUNT_SAME_AS_OWNER"),
    ],
)
def test_the_approval_of_an_account_reverts_with_a_code(ledger, values, code):
    result = ask(OWN_APPROVE, *values, to=ADDRESS)
    assert (result.status, result.output, result.child_failures) == (Status.REVERT, b"", (code,))
    result = ask(REDIRECT, ADDRESS, call_data(OWN_APPROVE, *values))
    assert (result.status, result.output) == (Status.REVERT, words(CODES[code]))


def test_a_missing_spender_may_be_revoked_and_a_missing_owner_is_the_caller(ledger):
    assert ask(APPROVE, ADDRESS, UNKNOWN, 0).output == words(22)
    found = scripted(
        ledger,
        step(REDIRECT, UNKNOWN, call_data(OWN_APPROVE, SPENDER, 6)),
        step(ALLOWANCE, long_zero(5005), SPENDER),
    )
    assert found == [(True, words(22)), (True, words(22, 6))]


def test_an_owner_allows_up_to_a_hundred_spenders(ledger):
    for number in range(99):
        ledger.allowance("crypto", owner=NAMED, spender=6000 + number, amount=1, amount_granted=1)
    assert ask(APPROVE, ADDRESS, SPENDER, 5).output == words(22)
    result = ask(APPROVE, ADDRESS, long_zero(CALLER), 5)
    assert (result.status, result.output) == (Status.REVERT, words(CODES["MAX_ALLOWANCES_EXCEEDED"]))


def test_an_amount_that_no_transaction_can_name_halts(ledger):
    for amount in (2**63, -(2**63) - 1, 2**255 - 1):
        assert ask(APPROVE, ADDRESS, SPENDER, amount).halt is Halt.PRECOMPILE


def test_an_approval_has_its_price_whatever_comes_of_it(ledger):
    for amount in (1, -1):
        assert ask(APPROVE, ADDRESS, SPENDER, amount).execution_gas == 705_424
    assert ask(ALLOWANCE, ADDRESS, SPENDER).execution_gas == 2_607


def test_an_account_answers_through_the_service_as_well(ledger):
    inner = call_data(OWN_ALLOWANCE, SPENDER)
    assert ask(REDIRECT, ADDRESS, inner).output == words(22, 9)
    # Not by its own function at the service's address.
    assert ask(OWN_ALLOWANCE, SPENDER).halt is Halt.PRECOMPILE


HOLLOW, ITS_ADDRESS = 2010, bytes([0x77]) * 20


@pytest.mark.parametrize(
    ("data", "to"),
    [
        (call_data(APPROVE, ITS_ADDRESS, SPENDER, 5), SERVICE),
        (call_data(APPROVE, ITS_ADDRESS, UNKNOWN, 5), SERVICE),
        (call_data(OWN_APPROVE, SPENDER, 5), ITS_ADDRESS),
        (call_data("setUnlimitedAutomaticAssociations(bool)", True), ITS_ADDRESS),
    ],
    ids=["approve", "unknown spender", "at its address", "associations at its address"],
)
def test_an_account_without_a_key_yet_changes_for_itself_alone(ledger, data, to):
    ledger.entity(HOLLOW, key=EMPTY_LIST, evm_address=ITS_ADDRESS, alias=ITS_ADDRESS)
    by_another = run(current(), to, data)
    assert by_another.status is not Status.SUCCESS
    assert (by_another.output, by_another.child_failures) == (b"", ())
    itself = CallRequest(ITS_ADDRESS, to, data, 3_000_000)
    state = current()
    result = registry.engine("pyevm").execute(itself, BLOCK, state, NetworkContracts(state))
    is_known = UNKNOWN not in data
    assert (result.status is Status.SUCCESS, result.output == words(22)) == (is_known, is_known)


def test_an_account_with_an_empty_key_approves_nothing(ledger):
    ledger.entity(HOLLOW, key=EMPTY_LIST)
    result = ask(APPROVE, long_zero(HOLLOW), SPENDER, 5)
    assert (result.status, result.output) == (Status.REVERT, words(CODES["INVALID_ALLOWANCE_OWNER_ID"]))


def test_an_account_with_an_empty_key_keeps_its_associations(ledger):
    ledger.entity(HOLLOW, key=EMPTY_LIST)
    result = run(current(), long_zero(HOLLOW), call_data("setUnlimitedAutomaticAssociations(bool)", True))
    assert (result.status, result.output) == (Status.SUCCESS, words(CODES["INVALID_ACCOUNT_ID"]))
