"""Associations, freezing and KYC in a call."""

import pytest

from tests.build import START
from tests.web3sim.rows import contract
from tests.web3sim.state.states import at, current, long_zero
from tests.web3sim.system_contracts.calls import CALLER, SERVICE, data_of, run, words
from tests.web3sim.system_contracts.scripts import Step, outcomes, script
from tests.web3sim.system_contracts.token_service.ledger import (
    FOREIGN,
    HOLDER,
    INNER,
    OTHER_CONTRACT,
    PEOPLE,
    PLAIN,
    REMOVED,
    SCRIPT,
    STRANGER,
    SUCCESS,
    TOKEN,
    TREASURY,
    UNIQUE,
    answered,
    ask,
    code_word,
    codes,
    explicit,
    people,
    scripted,
    step,
    token,
)
from web3sim.engine.interface import Halt, Status
from web3sim.operations.prices import WITHOUT_FILES
from web3sim.system_contracts.function_signatures import selector_of

ASSOCIATE, DISSOCIATE = "associateToken(address,address)", "dissociateToken(address,address)"
BALANCE_OF = "balanceOf(address)"
STATUS_FUNCTIONS = ("freezeToken", "unfreezeToken", "grantTokenKyc", "revokeTokenKyc")
DELETED, PAUSED = 3004, 3005


@pytest.fixture
def ledger(build):
    people(build)
    token(build, TOKEN, total_supply=100)
    token(build, UNIQUE, type="NON_FUNGIBLE_UNIQUE", total_supply=1)
    token(build, PLAIN, kyc_key=None, freeze_key=REMOVED, pause_key=None, admin_key=None, freeze_status=0)
    token(build, PAUSED, pause_status="PAUSED")
    for number in (TOKEN, UNIQUE, PLAIN):
        build.holding(number, account=TREASURY, balance=40)
    build.holding(TOKEN, account=HOLDER, balance=60)
    build.holding(UNIQUE, account=HOLDER, balance=1)
    build.nft(UNIQUE, 1, account=HOLDER)
    for number in (PLAIN, PAUSED):
        build.holding(number, account=HOLDER)
    return build


def lists(account, *tokens):
    """The data of (address,address[])."""
    return words(long_zero(account), 64, len(tokens), *(long_zero(each) for each in tokens))


def listed(name, account, *tokens):
    data = data_of(f"{name}(address,address[])") + lists(account, *tokens)
    return answered(run(current(), SERVICE, data, gas=3_000_000))


# ASSOCIATE


def test_tokens_are_associated_once(ledger):
    found = scripted(
        ledger,
        step(ASSOCIATE, long_zero(STRANGER), long_zero(TOKEN)),
        step(ASSOCIATE, long_zero(STRANGER), long_zero(TOKEN)),
        step(DISSOCIATE, long_zero(STRANGER), long_zero(TOKEN)),
        step(DISSOCIATE, long_zero(STRANGER), long_zero(TOKEN)),
        step(ASSOCIATE, long_zero(STRANGER), long_zero(TOKEN)),
    )
    assert codes(found) == [SUCCESS, 194, SUCCESS, 184, SUCCESS]


@pytest.mark.parametrize(
    ("account", "tokens", "code"),
    [
        (STRANGER, [TOKEN, UNIQUE, PLAIN], "SUCCESS"),
        (STRANGER, [], "SUCCESS"),
        (2999, [TOKEN, TOKEN], "TOKEN_ID_REPEATED_IN_TOKEN_LIST"),
        (2999, [TOKEN, 0], "INVALID_TOKEN_ID"),
        (2999, [2998], "INVALID_ACCOUNT_ID"),
        (TOKEN, [TOKEN], "INVALID_ACCOUNT_ID"),
        (OTHER_CONTRACT, [TOKEN], "SUCCESS"),
        (HOLDER, [TOKEN, 3999], "INVALID_TOKEN_ID"),
        (HOLDER, [TOKEN, HOLDER], "INVALID_TOKEN_ID"),
        (HOLDER, [TOKEN, PAUSED], "TOKEN_IS_PAUSED"),
        (HOLDER, [TOKEN], "TOKEN_ALREADY_ASSOCIATED_TO_ACCOUNT"),
        # Tokens are looked at by their number.
        (STRANGER, [3999, PAUSED], "TOKEN_IS_PAUSED"),
    ],
)
def test_associating_is_refused_in_the_networks_order(ledger, account, tokens, code):
    assert listed("associateTokens", account, *tokens) == code


def test_nothing_is_associated_when_one_token_is_refused(ledger):
    data = data_of("associateTokens(address,address[])") + lists(STRANGER, TOKEN, PAUSED)
    found = scripted(ledger, Step(SERVICE, data), step(DISSOCIATE, long_zero(STRANGER), long_zero(TOKEN)))
    assert codes(found) == [265, 184]


# DISSOCIATE


@pytest.mark.parametrize(
    ("account", "tokens", "code"),
    [
        (HOLDER, [PLAIN], "SUCCESS"),
        (HOLDER, [], "SUCCESS"),
        (2999, [TOKEN, TOKEN], "TOKEN_ID_REPEATED_IN_TOKEN_LIST"),
        (2999, [TOKEN, 0], "INVALID_TOKEN_ID"),
        (2999, [2998], "INVALID_ACCOUNT_ID"),
        (HOLDER, [TOKEN, 3999], "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
        (STRANGER, [PAUSED], "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
        (HOLDER, [TOKEN, PAUSED], "TOKEN_IS_PAUSED"),
        (TREASURY, [TOKEN], "ACCOUNT_IS_TREASURY"),
        (HOLDER, [TOKEN], "TRANSACTION_REQUIRES_ZERO_TOKEN_BALANCES"),
        (HOLDER, [PLAIN, UNIQUE], "ACCOUNT_STILL_OWNS_NFTS"),
    ],
)
def test_dissociating_is_refused_in_the_networks_order(ledger, account, tokens, code):
    assert listed("dissociateTokens", account, *tokens) == code
    if len(tokens) == 1:
        assert explicit(DISSOCIATE, long_zero(account), long_zero(tokens[0])) == code


def test_a_frozen_account_can_not_dissociate(ledger):
    found = scripted(
        ledger,
        step("freezeToken(address,address)", long_zero(TOKEN), long_zero(HOLDER)),
        step(DISSOCIATE, long_zero(HOLDER), long_zero(TOKEN)),
    )
    assert codes(found) == [SUCCESS, 165]


@pytest.mark.parametrize("state_of", [current, lambda: at(START + 100)], ids=["now", "then"])
def test_what_an_account_has_of_a_deleted_token_is_lost(ledger, state_of):
    ledger.entity(DELETED, type="TOKEN", deleted=True, key=PEOPLE)
    ledger.token(DELETED)
    ledger.holding(DELETED, account=HOLDER, balance=9, freeze_status=1)
    for signature, expected in ((ASSOCIATE, "INVALID_TOKEN_ID"), (DISSOCIATE, "SUCCESS")):
        data = data_of(signature, long_zero(HOLDER), long_zero(DELETED))
        assert answered(run(state_of(), SERVICE, data)) == expected


def test_a_token_that_the_call_deletes_lets_its_holders_go(ledger):
    found = scripted(
        ledger,
        step("deleteToken(address)", long_zero(TOKEN)),
        step(ASSOCIATE, long_zero(STRANGER), long_zero(TOKEN)),
        step(DISSOCIATE, long_zero(HOLDER), long_zero(TOKEN)),
        step(DISSOCIATE, long_zero(HOLDER), long_zero(TOKEN)),
        step(DISSOCIATE, long_zero(TREASURY), long_zero(TOKEN)),
        ask(TOKEN, BALANCE_OF, long_zero(HOLDER)),
    )
    assert codes(found) == [SUCCESS, 179, SUCCESS, 184, SUCCESS, 0]


# THROUGH THE TOKEN


def test_a_token_associates_and_dissociates_its_caller(ledger):
    found = scripted(
        ledger,
        ask(TOKEN, "dissociate()"),
        ask(TOKEN, "associate()"),
        ask(TOKEN, "associate()"),
        ask(TOKEN, "dissociate()"),
        ask(PAUSED, "associate()"),
        ask(OTHER_CONTRACT, "dissociate()"),
    )
    assert codes(found)[:5] == [184, SUCCESS, 194, SUCCESS, 265]
    ledger.holding(TOKEN, account=CALLER, balance=3)
    result = run(current(), long_zero(TOKEN), data_of("dissociate()"))
    expected = code_word("TRANSACTION_REQUIRES_ZERO_TOKEN_BALANCES")
    assert (result.status, result.output) == (Status.SUCCESS, expected)


@pytest.mark.parametrize("signature", [ASSOCIATE, DISSOCIATE])
def test_an_account_without_a_usable_key_can_not_sign_for_another(ledger, signature):
    """What the network calls hollow halts: an account with an address of its own that has no key yet."""
    hollow = bytes([7]) * 20
    ledger.entity(2005, key=REMOVED, evm_address=hollow)
    ledger.entity(2006, key=REMOVED)
    ledger.entity(2007, key=b"no key")
    ledger.entity(800)
    assert run(current(), SERVICE, data_of(signature, hollow, long_zero(TOKEN))).halt is Halt.PRECOMPILE
    for number in (800, 2006, 2007):
        assert explicit(signature, long_zero(number), long_zero(TOKEN)) == "INVALID_ACCOUNT_ID"
        expected = "SUCCESS" if signature == ASSOCIATE else "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"
        assert explicit(signature, long_zero(number), long_zero(TOKEN), sender=number) == expected


@pytest.mark.parametrize("signature", ["associate()", "dissociate()"])
def test_there_is_no_relationship_with_what_is_no_token(ledger, signature):
    redirected = data_of("redirectForToken(address,bytes)", long_zero(HOLDER), 64, 4)
    data = redirected + selector_of(signature) + bytes(28)
    assert run(current(), SERVICE, data).halt is Halt.PRECOMPILE


def test_each_associated_token_has_its_price(ledger):
    data = data_of("associateTokens(address,address[])") + lists(STRANGER, TOKEN, PLAIN)
    assert run(current(), SERVICE, data, gas=3_000_000).execution_gas == WITHOUT_FILES.gas_of(10**9)


def test_a_frame_that_reverts_takes_back_its_association(ledger):
    """And only its own."""
    inner = contract(
        ledger,
        INNER,
        script(
            step(ASSOCIATE, long_zero(STRANGER), long_zero(TOKEN)),
            step(DISSOCIATE, long_zero(HOLDER), long_zero(PLAIN)),
            reverts=True,
        ),
    )
    found = scripted(
        ledger,
        step(ASSOCIATE, long_zero(STRANGER), long_zero(UNIQUE)),
        Step(long_zero(inner), b""),
        step(ASSOCIATE, long_zero(STRANGER), long_zero(TOKEN)),
        step(ASSOCIATE, long_zero(STRANGER), long_zero(UNIQUE)),
        step(DISSOCIATE, long_zero(HOLDER), long_zero(PLAIN)),
    )
    assert [outcome.succeeded for outcome in found] == [True, False, True, True, True]
    assert codes([found[0], *found[2:]]) == [SUCCESS, SUCCESS, 194, SUCCESS]


# FREEZE AND KYC


@pytest.mark.parametrize("name", STATUS_FUNCTIONS)
def test_statuses_of_relationships_can_be_set(ledger, name):
    assert explicit(f"{name}(address,address)", long_zero(TOKEN), long_zero(HOLDER)) == "SUCCESS"


KEYS = {"freezeToken": "FREEZE", "unfreezeToken": "FREEZE", "grantTokenKyc": "KYC", "revokeTokenKyc": "KYC"}


@pytest.mark.parametrize("name", STATUS_FUNCTIONS)
def test_setting_a_status_is_refused_in_the_networks_order(ledger, name):
    token(ledger, DELETED, freeze_key=FOREIGN, kyc_key=FOREIGN, pause_status="PAUSED")

    def code(token_number, account):
        return explicit(f"{name}(address,address)", long_zero(token_number), long_zero(account))

    assert code(3999, 2999) == "INVALID_TOKEN_ID"
    token(ledger, 3010, freeze_key=None, kyc_key=None)
    assert code(3010, 2999) == f"TOKEN_HAS_NO_{KEYS[name]}_KEY"
    # Freezing looks at the token before the account.
    assert code(PAUSED, 2999) == ("TOKEN_IS_PAUSED" if KEYS[name] == "FREEZE" else "INVALID_ACCOUNT_ID")
    assert code(PAUSED, HOLDER) == "TOKEN_IS_PAUSED"
    assert code(TOKEN, 2999) == "INVALID_ACCOUNT_ID"
    assert code(TOKEN, STRANGER) == "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"


@pytest.mark.parametrize(
    ("name", "code"), [("freezeToken", 165), ("unfreezeToken", SUCCESS), ("grantTokenKyc", 165),
        ("revokeTokenKyc", 165)],
)  # fmt: skip
def test_a_frozen_account_can_only_be_unfrozen(ledger, name, code):
    arguments = long_zero(TOKEN), long_zero(HOLDER)
    found = scripted(
        ledger, step("freezeToken(address,address)", *arguments), step(f"{name}(address,address)", *arguments)
    )
    assert codes(found) == [SUCCESS, code]


def test_statuses_of_a_deleted_token_can_not_be_set(ledger):
    found = scripted(
        ledger,
        step("deleteToken(address)", long_zero(TOKEN)),
        *(step(f"{name}(address,address)", long_zero(TOKEN), long_zero(HOLDER)) for name in STATUS_FUNCTIONS),
    )
    assert codes(found) == [SUCCESS, 179, 179, 179, 179]


# WHAT IS COMMON TO ALL


WRITES = [
    (ASSOCIATE, STRANGER, TOKEN, 705_424),
    (DISSOCIATE, HOLDER, PLAIN, 705_424),
    *((f"{name}(address,address)", TOKEN, HOLDER, 15_284) for name in STATUS_FUNCTIONS),
]


@pytest.mark.parametrize(("signature", "first", "second", "gas"), WRITES)
def test_they_cost_the_canonical_price_and_halt_in_static_frames(ledger, signature, first, second, gas):
    data = data_of(signature, long_zero(first), long_zero(second))
    result = run(current(), SERVICE, data)
    assert result.execution_gas == gas
    assert gas in (WITHOUT_FILES.gas_of(500_000_000), WITHOUT_FILES.gas_of(10_000_000))
    assert run(current(), SERVICE, data, static=True).halt is Halt.PRECOMPILE
    assert run(current(), SERVICE, data[:-32], gas=900_000).halt is Halt.PRECOMPILE
    assert run(current(), SERVICE, data, gas=result.gas_used - 1).halt is Halt.OUT_OF_GAS
    contract(ledger, SCRIPT, script(Step(SERVICE, data, "DELEGATECALL"), Step(SERVICE, data, "STATICCALL")))
    found = outcomes(run(current(), long_zero(SCRIPT), b"", gas=12_000_000))
    assert [outcome.succeeded for outcome in found] == [False, False]
