"""Automatic associations of an account, by itself."""

import pytest

from tests.web3sim.state.states import long_zero
from tests.web3sim.system_contracts.account_service.accounts import (
    ADDRESS,
    CODES,
    NAMED,
    TOKEN,
    ask,
    call_data,
    people,
    scripted,
    step,
)
from tests.web3sim.system_contracts.calls import SERVICE as TOKEN_SERVICE
from tests.web3sim.system_contracts.calls import words
from tests.web3sim.system_contracts.token_service.ledger import FOREIGN, PEOPLE
from web3sim.engine.interface import Halt, Status

SET = "setUnlimitedAutomaticAssociations(bool)"
TRANSFER = "transferToken(address,address,address,int64)"


@pytest.fixture
def ledger(build):
    people(build, key=PEOPLE, max_automatic_token_associations=0)
    build.entity(1001, key=PEOPLE)
    build.holding(TOKEN, account=1001, balance=10)
    return build


def send(amount):
    values = long_zero(TOKEN), long_zero(1001), ADDRESS, amount
    return step(TRANSFER, *values, to=TOKEN_SERVICE)


def set_unlimited(unlimited):
    return step("redirectForAccount(address,bytes)", ADDRESS, call_data(SET, unlimited))


def test_an_account_that_takes_any_token_is_associated_by_a_transfer(ledger):
    found = scripted(ledger, send(1), set_unlimited(True), send(2), set_unlimited(False))
    assert [outcome.output for outcome in found] == [
        words(CODES["TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"]),
        words(22),
        words(22),
        # It has one by now.
        words(CODES["EXISTING_AUTOMATIC_ASSOCIATIONS_EXCEED_GIVEN_LIMIT"]),
    ]
    assert all(outcome.succeeded for outcome in found)


def test_an_account_may_take_none_any_more(ledger):
    found = scripted(ledger, set_unlimited(True), set_unlimited(False), send(1))
    codes = [words(22), words(22), words(CODES["TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"])]
    assert [outcome.output for outcome in found] == codes


def test_who_has_been_associated_automatically_can_not_take_none(ledger):
    ledger.holding(TOKEN, account=NAMED, automatic_association=True)
    result = ask(SET, False, to=ADDRESS)
    code = "EXISTING_AUTOMATIC_ASSOCIATIONS_EXCEED_GIVEN_LIMIT"
    assert (result.status, result.output, result.child_failures) == (
        *(Status.SUCCESS, words(CODES[code])),
        (code,),
    )


def test_any_key_of_the_account_counts_as_signed(ledger):
    ledger.entity(2005, key=FOREIGN)
    assert ask(SET, True, to=long_zero(2005)).output == words(22)


def test_an_unknown_account_is_refused(ledger):
    data = bytes.fromhex("f5677e99") + words(1)
    result = ask("redirectForAccount(address,bytes)", long_zero(2999), data)
    assert (result.status, result.output) == (Status.SUCCESS, words(CODES["ACCOUNT_ID_DOES_NOT_EXIST"]))


def test_it_has_its_price_and_no_place_in_a_static_frame(ledger):
    through_service = ask("redirectForAccount(address,bytes)", ADDRESS, bytes.fromhex("f5677e99") + words(1))
    assert (through_service.output, through_service.execution_gas) == (words(22), 4_298)
    static = ask(
        "redirectForAccount(address,bytes)", ADDRESS, bytes.fromhex("f5677e99") + words(1), static=True
    )
    assert static.halt is Halt.PRECOMPILE
