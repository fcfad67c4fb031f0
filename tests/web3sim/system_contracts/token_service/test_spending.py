"""Transfers out of allowances, by the functions of a token itself, by contracts; what they cost."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.build import START
from tests.web3sim.rows import contract
from tests.web3sim.state.states import at, current, long_zero
from tests.web3sim.system_contracts.calls import SERVICE, data_of, run, words
from tests.web3sim.system_contracts.simulation import (
    Simulation,
    Step,
    calling_contract,
    encoded_call,
    logged,
    outcomes,
)
from tests.web3sim.system_contracts.test_statements import MORE_IN_THE_PAST
from tests.web3sim.system_contracts.token_service.moving import (
    ALICE,
    BOB,
    CAROL,
    CODES,
    CONTRACT,
    DAVE,
    NEW_ADDRESS,
    OTHER_CONTRACT,
    PAUSED,
    TOKEN,
    TRANSFER_FROM,
    TRANSFER_FROM_NFT,
    TRANSFER_NFT,
    TRANSFER_TOKEN,
    TREASURY,
    UNIQUE,
    V1,
    V2,
    contract_key,
    people_and_tokens,
    units,
    zero,
)
from web3sim.engine.interface import Halt, Status
from web3sim.operations.prices import WITHOUT_FILES


@pytest.fixture
def ledger(build):
    return people_and_tokens(build)


# ALLOWANCES


@pytest.fixture
def spender(ledger):
    for owner in (ALICE, OTHER_CONTRACT):
        ledger.allowance("token", owner=owner, spender=CONTRACT, token_id=TOKEN, amount=5, amount_granted=5)
    ledger.allowance("nft", owner=OTHER_CONTRACT, spender=CONTRACT, token_id=UNIQUE)
    return Simulation(sender=CONTRACT)


def test_an_allowance_is_spent(spender):
    assert spender.code(TRANSFER_FROM, *zero(TOKEN, ALICE, BOB), 3) == "SUCCESS"
    assert spender.balances(TOKEN, ALICE, BOB) == [7, 3]
    assert spender.overlay.token_allowance(TOKEN, ALICE, CONTRACT) == 2
    assert spender.code(TRANSFER_FROM, *zero(TOKEN, ALICE, BOB), 3) == "AMOUNT_EXCEEDS_ALLOWANCE"
    assert spender.code(TRANSFER_FROM, *zero(TOKEN, ALICE, BOB), 2) == "SUCCESS"
    assert spender.code(TRANSFER_FROM, *zero(TOKEN, ALICE, BOB), 1) == "SPENDER_DOES_NOT_HAVE_ALLOWANCE"


def test_the_owner_too_needs_an_allowance_to_spend_from_one(spender):
    code = spender.code(TRANSFER_FROM, *zero(TOKEN, CONTRACT, BOB), 1)
    assert code == "SPENDER_DOES_NOT_HAVE_ALLOWANCE"


def test_transfer_token_spends_no_allowance_of_another_contract(spender):
    assert spender.code(TRANSFER_TOKEN, *zero(TOKEN, OTHER_CONTRACT, BOB), 6) == "SUCCESS"
    assert spender.overlay.token_allowance(TOKEN, OTHER_CONTRACT, CONTRACT) == 5
    assert spender.code(TRANSFER_NFT, *zero(UNIQUE, OTHER_CONTRACT, BOB), 4) == "SUCCESS"


def test_an_account_without_the_token_is_refused_before_its_allowance(spender):
    assert spender.code(TRANSFER_FROM, *zero(TOKEN, CAROL, BOB), 1) == "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"
    assert spender.code(TRANSFER_FROM_NFT, *zero(UNIQUE, CAROL, BOB), 1) == "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"


def test_a_serial_is_moved_by_its_spender_once(ledger):
    calls = Simulation(sender=CAROL)
    assert calls.code(TRANSFER_FROM_NFT, *zero(UNIQUE, ALICE, BOB), 1) == "SUCCESS"
    code = calls.code(TRANSFER_FROM_NFT, *zero(UNIQUE, BOB, ALICE), 1)
    assert code == "SPENDER_DOES_NOT_HAVE_ALLOWANCE"


def test_a_serial_is_moved_by_whoever_is_approved_for_all(spender):
    assert spender.code(TRANSFER_FROM_NFT, *zero(UNIQUE, OTHER_CONTRACT, BOB), 4) == "SUCCESS"
    assert spender.code(TRANSFER_FROM_NFT, *zero(UNIQUE, ALICE, BOB), 1) == "SPENDER_DOES_NOT_HAVE_ALLOWANCE"


# ITS OWN ADDRESS

ERC_TRANSFER, ERC_TRANSFER_FROM = "transfer(address,uint256)", "transferFrom(address,address,uint256)"


def test_a_token_moves_units_of_the_caller(ledger):
    calls = Simulation(sender=ALICE)
    answer = calls.ask(ERC_TRANSFER, long_zero(BOB), 4, token=TOKEN)
    assert (answer.output, answer.reverted) == (words(1), False)
    assert calls.balances(TOKEN, ALICE, BOB) == [6, 4]
    assert [logged(log) for log in answer.logs] == [(TOKEN, ALICE, BOB, 4)]
    nothing = calls.ask(ERC_TRANSFER, long_zero(BOB), 0, token=TOKEN)
    assert [logged(log) for log in nothing.logs] == [(TOKEN, ALICE, BOB, 0)]


def test_a_token_moves_units_out_of_an_allowance(spender):
    answer = spender.ask(ERC_TRANSFER_FROM, *zero(ALICE, BOB), 5, token=TOKEN)
    assert answer.output == words(1)
    assert spender.balances(TOKEN, ALICE, BOB) == [5, 5]
    refused = spender.ask(ERC_TRANSFER_FROM, *zero(ALICE, BOB), 1, token=TOKEN)
    assert (refused.reverted, refused.output) == (True, words(CODES["SPENDER_DOES_NOT_HAVE_ALLOWANCE"]))


@pytest.mark.parametrize("sender", [ALICE, CAROL], ids=["owner", "spender"])
def test_a_unique_token_moves_a_serial_and_answers_nothing(ledger, sender):
    calls = Simulation(sender=sender)
    answer = calls.ask(ERC_TRANSFER_FROM, *zero(ALICE, BOB), 1, token=UNIQUE)
    assert (answer.output, answer.reverted) == (b"", False)
    assert calls.owner(UNIQUE, 1) == BOB
    assert [logged(log) for log in answer.logs] == [(UNIQUE, ALICE, BOB, 1)]


@pytest.mark.parametrize(
    ("token", "signature", "arguments", "code"),
    [
        (TOKEN, ERC_TRANSFER, (long_zero(BOB), 11), "INSUFFICIENT_TOKEN_BALANCE"),
        (TOKEN, ERC_TRANSFER, (long_zero(CAROL), 1), "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
        (TOKEN, ERC_TRANSFER, (long_zero(ALICE), 1), "ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS"),
        (TOKEN, ERC_TRANSFER, (long_zero(2999), 1), "INVALID_ALIAS_KEY"),
        (PAUSED, ERC_TRANSFER, (long_zero(BOB), 1), "TOKEN_IS_PAUSED"),
        (TOKEN, ERC_TRANSFER_FROM, (*zero(2999, BOB), 1), "INVALID_ACCOUNT_ID"),
        (UNIQUE, ERC_TRANSFER_FROM, (*zero(TREASURY, BOB), 2), "SPENDER_DOES_NOT_HAVE_ALLOWANCE"),
        (UNIQUE, ERC_TRANSFER_FROM, (*zero(BOB, TREASURY), 1), "SENDER_DOES_NOT_OWN_NFT_SERIAL_NO"),
        (UNIQUE, ERC_TRANSFER_FROM, (*zero(ALICE, BOB), 9), "INVALID_NFT_ID"),
    ],
)
def test_a_token_reverts_with_the_number_of_the_code(ledger, token, signature, arguments, code):
    answer = Simulation(sender=ALICE).ask(signature, *arguments, token=token)
    assert (answer.reverted, answer.output, answer.child) == (True, words(CODES[code]), code)


def test_token_halts_at_functions_of_the_other_type(ledger):
    calls = Simulation(sender=ALICE)
    unknown = calls.ask(ERC_TRANSFER, long_zero(BOB), 1, token=UNIQUE)
    assert (unknown.halt, unknown.output, unknown.gas, unknown.child) == (None, b"", 0, None)
    assert calls.ask(ERC_TRANSFER, long_zero(BOB), 1 << 63, token=TOKEN).halt is Halt.PRECOMPILE
    for token in (TOKEN, UNIQUE):
        answer = calls.ask(ERC_TRANSFER_FROM, *zero(ALICE, BOB), 1 << 63, token=token)
        assert answer.halt is Halt.PRECOMPILE


def test_transfer_of_a_missing_token_halts(ledger):
    data = encoded_call(ERC_TRANSFER, long_zero(BOB), 1)
    answer = Simulation(sender=ALICE).ask("redirectForToken(address,bytes)", long_zero(2999), data)
    assert answer.halt is Halt.PRECOMPILE


# GAS


def gas_of(dollars_in_millionths):
    return WITHOUT_FILES.gas_of(dollars_in_millionths * 10_000)


def test_each_change_has_its_price(ledger):
    of_units = units(TOKEN, (ALICE, -2), (BOB, 1), (OTHER_CONTRACT, 1))
    calls = Simulation()
    assert calls.ask(TRANSFER_TOKEN, *zero(TOKEN, ALICE, BOB), 1).gas == gas_of(1_000) == 15_284
    assert calls.ask(TRANSFER_NFT, *zero(UNIQUE, ALICE, BOB), 1).gas == gas_of(1_000)
    assert calls.ask(V1, [of_units]).gas == gas_of(1_500)
    hbar = ([(long_zero(ALICE), -5, False), (long_zero(BOB), 5, False)],)
    assert calls.ask(V2, hbar, []).gas == gas_of(100)
    # A refusal too.
    assert calls.ask(TRANSFER_TOKEN, *zero(TOKEN, ALICE, CAROL), 1).gas == gas_of(1_000)
    missing = units(TOKEN, (ALICE, -1), (2999, 1))
    assert calls.ask(V1, [missing]).gas == gas_of(1_000)


def test_associations_and_new_accounts_cost_more(ledger):
    calls = Simulation()
    association = WITHOUT_FILES.gas_of(500_000_000)
    assert calls.ask(TRANSFER_TOKEN, *zero(TOKEN, ALICE, DAVE), 1).gas == gas_of(1_000) + association
    answer = calls.ask(TRANSFER_TOKEN, *zero(TOKEN, ALICE), NEW_ADDRESS, 1)
    assert answer.gas == gas_of(1_000 + 50_220) + association
    assert calls.ask(TRANSFER_TOKEN, *zero(TOKEN, ALICE), NEW_ADDRESS, 1).gas == gas_of(1_000)


def test_custom_fees_double_the_price_of_tokens(ledger):
    ledger.custom_fee(TOKEN, fixed_fees=[fixed_fee(1)])
    hbar = ([(long_zero(ALICE), -5, False), (long_zero(BOB), 5, False)],)
    tokens: list[object] = [
        (long_zero(TOKEN), [(long_zero(ALICE), -1, False), (long_zero(BOB), 1, False)], [])
    ]
    assert Simulation().ask(V2, hbar, tokens).gas == gas_of(100 + 2 * 1_000)


def fixed_fee(amount):
    return {
        "all_collectors_are_exempt": False,
        "amount": amount,
        "collector_account_id": TREASURY,
        "denominating_token_id": None,
    }


# STATEMENTS


@pytest.mark.parametrize("state_of", [current, lambda: at(START + 100)], ids=["now", "then"])
@pytest.mark.parametrize(
    ("signature", "arguments", "token"),
    [
        (TRANSFER_TOKEN, (*zero(TOKEN, ALICE, BOB), 1), None),
        (TRANSFER_NFT, (*zero(UNIQUE, ALICE, BOB), 1), None),
        (ERC_TRANSFER, (long_zero(BOB), 1), TOKEN),
        (ERC_TRANSFER_FROM, (*zero(ALICE, BOB), 1), UNIQUE),
    ],
)
def test_a_transfer_reads_accounts_the_token_and_two_relationships(
    ledger, state_of, signature, arguments, token
):
    ledger.transaction(START + 50, tokens=[(TOKEN, ALICE, 50)])
    # What is called at its own address is looked at for its code.
    few = 4 + MORE_IN_THE_PAST * (state_of is not current)
    for most in (few if token is None else few + 1, 0):
        calls = Simulation(sender=ALICE, state=state_of())
        calls.overlay.address_of(ALICE)
        with CaptureQueriesContext(connection) as statements:
            assert calls.ask(signature, *arguments, token=token).child == "SUCCESS"
        assert len(statements) <= most


# CALLS BY CONTRACTS


def balance_of(account):
    return Step(long_zero(TOKEN), data_of("balanceOf(address)", long_zero(account)))


def paying(amount, kind="CALL", gas=3_000_000):
    data = encoded_call(TRANSFER_TOKEN, *zero(TOKEN, 6001, BOB), amount)
    return Step(SERVICE, data, kind, gas)


def run_contract(ledger, *steps, then="RETURN", number=6001):
    contract(ledger, number, calling_contract(*steps, then=then), key=contract_key(number))


def test_later_steps_of_a_call_see_what_a_contract_has_moved(ledger):
    run_contract(ledger, paying(4), balance_of(6001), balance_of(BOB), paying(7))
    ledger.holding(TOKEN, account=6001, balance=10)
    result = run(current(), long_zero(6001), b"", gas=10_000_000)
    assert result.status is Status.SUCCESS
    assert outcomes(result.output) == [
        (True, 22),
        (True, 6),
        (True, 4),
        (True, CODES["INSUFFICIENT_TOKEN_BALANCE"]),
    ]
    assert [logged(log) for log in result.logs] == [(TOKEN, 6001, BOB, 4)]
    assert result.child_failures == ("INSUFFICIENT_TOKEN_BALANCE",)
    # Another call begins with what is stored.
    assert run(current(), long_zero(TOKEN), balance_of(BOB).data).output == words(0)


def test_without_the_gas_for_it_nothing_is_moved(ledger):
    run_contract(ledger, paying(4, gas=15_283), balance_of(BOB), paying(4, gas=15_284), balance_of(BOB))
    ledger.holding(TOKEN, account=6001, balance=10)
    result = run(current(), long_zero(6001), b"", gas=10_000_000)
    assert outcomes(result.output) == [(False, 0), (True, 0), (True, 22), (True, 4)]


def test_a_contract_can_not_have_the_service_run_as_itself(ledger):
    run_contract(ledger, paying(4, "DELEGATECALL"), balance_of(BOB))
    ledger.holding(TOKEN, account=6001, balance=10)
    result = run(current(), long_zero(6001), b"", gas=10_000_000)
    assert outcomes(result.output) == [(False, 0), (True, 0)]


def test_an_account_calls_a_token_directly(ledger):
    data = data_of(ERC_TRANSFER, long_zero(BOB), 4)
    result = run(current(), long_zero(TOKEN), data, sender=ALICE)
    assert (result.status, result.output) == (Status.SUCCESS, words(1))
    assert [logged(log) for log in result.logs] == [(TOKEN, ALICE, BOB, 4)]
    refused = run(current(), long_zero(TOKEN), data, sender=CAROL)
    assert (refused.status, refused.output) == (Status.REVERT, b"")
    assert refused.child_failures == ("TOKEN_NOT_ASSOCIATED_TO_ACCOUNT",)
    static = run(current(), long_zero(TOKEN), data, sender=ALICE, static=True)
    assert (static.status, static.output) == (Status.REVERT, b"")
