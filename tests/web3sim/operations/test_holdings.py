"""What accounts hold, changed in the overlay of a call."""

import pytest

from tests.web3sim.state.states import current, journal, long_zero, token
from web3sim.operations.holdings import (
    add_tinybars,
    adjust_balance,
    move_nft,
    owner_of,
    usable_relationship,
    usable_token,
)
from web3sim.operations.rejections import Rejected
from web3sim.state.overlay import Overlay

OWNER, OTHER, TOKEN, UNIQUE = 2001, 2002, 3001, 3002


@pytest.fixture
def ledger(build):
    for number in (1001, OWNER, OTHER):
        build.entity(number, balance=100)
    for number in (TOKEN, UNIQUE):
        build.entity(number, type="TOKEN")
    build.token(TOKEN, total_supply=10)
    build.token(UNIQUE, type="NON_FUNGIBLE_UNIQUE")
    build.holding(TOKEN, account=OWNER, balance=10)
    build.holding(TOKEN, account=OTHER)
    build.holding(UNIQUE, account=1001, balance=1)
    build.holding(UNIQUE, account=OTHER)
    build.nft(UNIQUE, 1, account=1001, spender=OWNER, delegating_spender=OTHER)
    return build


def overlay():
    state = current()
    return Overlay(state, journal(state))


def code_of(operation, *arguments, **named):
    with pytest.raises(Rejected) as refused:
        operation(*arguments, **named)
    return refused.value.code


def test_a_token_is_usable_unless_it_is_missing_or_paused(ledger):
    ledger.entity(3003, type="TOKEN")
    ledger.token(3003, pause_status="PAUSED")
    assert usable_token(overlay(), TOKEN).id == TOKEN
    assert code_of(usable_token, overlay(), 2999) == "INVALID_TOKEN_ID"
    assert code_of(usable_token, overlay(), 3003) == "TOKEN_IS_PAUSED"


@pytest.mark.parametrize(
    ("of_token", "of_account", "code"),
    [
        ({"freeze_status": 1}, {}, "ACCOUNT_FROZEN_FOR_TOKEN"),
        ({"freeze_status": 1, "kyc_status": 2}, {"freeze_status": 2}, "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN"),
        ({"freeze_status": 2, "kyc_status": 1}, {"kyc_status": 2}, "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN"),
        (
            {"freeze_status": 2, "kyc_status": 2},
            {"freeze_status": 1, "kyc_status": 2},
            "ACCOUNT_FROZEN_FOR_TOKEN",
        ),
        ({"freeze_status": 1, "kyc_status": 2}, {"freeze_status": 2, "kyc_status": 1}, None),
        ({}, {}, None),
    ],
)
def test_a_relationship_is_looked_at_for_freezing_and_then_for_kyc(ledger, of_token, of_account, code):
    ledger.entity(3003, type="TOKEN")
    ledger.token(3003, **of_token)
    ledger.holding(3003, account=OWNER, **of_account)
    view = overlay()
    if code is None:
        assert usable_relationship(view, token(view.state, 3003), OWNER).account_id == OWNER
    else:
        assert code_of(usable_relationship, view, token(view.state, 3003), OWNER) == code


def test_a_relationship_has_to_be_there(ledger):
    view = overlay()
    code = code_of(usable_relationship, view, token(view.state, TOKEN), 1001)
    assert code == "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"


def test_units_move_between_accounts_that_have_enough(ledger):
    view = overlay()
    gold = token(view.state, TOKEN)
    assert code_of(adjust_balance, view, gold, OWNER, -11) == "INSUFFICIENT_TOKEN_BALANCE"
    assert (
        code_of(adjust_balance, view, gold, OWNER, -11, code="INVALID_WIPING_AMOUNT")
        == "INVALID_WIPING_AMOUNT"
    )
    adjust_balance(view, gold, OWNER, -4)
    adjust_balance(view, gold, OTHER, 4)
    assert [view.token_balance(gold, account) for account in (OWNER, OTHER)] == [6, 4]
    adjust_balance(view, gold, OWNER, -6)
    assert view.token_balance(gold, OWNER) == 0
    assert [view.associations(account) for account in (OWNER, OTHER)] == [(1, 0), (2, 0)]


def test_a_serial_moves_and_loses_its_spender(ledger):
    view = overlay()
    pictures = token(view.state, UNIQUE)
    move_nft(view, pictures, 1, OTHER)
    nft = view.nft(UNIQUE, 1)
    assert (owner_of(pictures, nft), nft.spender, nft.delegating_spender) == (OTHER, None, None)
    assert [view.token_balance(pictures, account) for account in (1001, OTHER)] == [0, 1]


def test_hbar_does_not_become_negative(ledger):
    view = overlay()
    assert code_of(add_tinybars, view, OWNER, -101) == "INSUFFICIENT_ACCOUNT_BALANCE"
    add_tinybars(view, OWNER, -100)
    add_tinybars(view, OTHER, 100)
    balances = [view.journal.get_balance(long_zero(account)) for account in (OWNER, OTHER)]
    assert balances == [0, 200]
