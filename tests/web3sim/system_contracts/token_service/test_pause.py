"""Pausing and deleting tokens in a call."""

import pytest

from tests.web3sim.state.states import current, long_zero
from tests.web3sim.system_contracts.calls import SERVICE, data_of, run
from tests.web3sim.system_contracts.token_service.ledger import (
    FOREIGN,
    HOLDER,
    PEOPLE,
    PLAIN,
    REMOVED,
    STRANGER,
    SUCCESS,
    TOKEN,
    TREASURY,
    ask,
    codes,
    explicit,
    people,
    scripted,
    step,
    token,
)
from web3sim.engine.interface import Halt

PAUSE, UNPAUSE, DELETE = "pauseToken(address)", "unpauseToken(address)", "deleteToken(address)"
ASSOCIATE = "associateToken(address,address)"


@pytest.fixture
def ledger(build):
    people(build)
    token(build, TOKEN, total_supply=100)
    build.holding(TOKEN, account=TREASURY, balance=100)
    return build


def test_a_paused_token_can_not_be_used_until_it_is_unpaused(ledger):
    found = scripted(
        ledger,
        step(PAUSE, long_zero(TOKEN)),
        step(PAUSE, long_zero(TOKEN)),
        step(ASSOCIATE, long_zero(STRANGER), long_zero(TOKEN)),
        step(DELETE, long_zero(TOKEN)),
        step(UNPAUSE, long_zero(TOKEN)),
        step(UNPAUSE, long_zero(TOKEN)),
        step(ASSOCIATE, long_zero(STRANGER), long_zero(TOKEN)),
    )
    assert codes(found) == [SUCCESS, SUCCESS, 265, 265, SUCCESS, SUCCESS, SUCCESS]


def test_a_deleted_token_only_answers_views(ledger):
    found = scripted(
        ledger,
        step(DELETE, long_zero(TOKEN)),
        step(DELETE, long_zero(TOKEN)),
        step(PAUSE, long_zero(TOKEN)),
        step(UNPAUSE, long_zero(TOKEN)),
        ask(TOKEN, "name()"),
    )
    assert codes(found) == [SUCCESS, 179, 179, 179, 32]


@pytest.mark.parametrize(
    ("signature", "key", "without"),
    [
        (PAUSE, "pause_key", "TOKEN_HAS_NO_PAUSE_KEY"),
        (UNPAUSE, "pause_key", "TOKEN_HAS_NO_PAUSE_KEY"),
        (DELETE, "admin_key", "TOKEN_IS_IMMUTABLE"),
    ],
)
def test_they_need_a_key_whoever_has_it(ledger, signature, key, without):
    for number, value in ((PLAIN, None), (PLAIN + 1, FOREIGN), (PLAIN + 2, REMOVED)):
        token(ledger, number, **{key: value})
    assert explicit(signature, long_zero(3999)) == "INVALID_TOKEN_ID"
    assert explicit(signature, long_zero(HOLDER)) == "INVALID_TOKEN_ID"
    assert explicit(signature, long_zero(PLAIN)) == without
    for number in (PLAIN + 1, PLAIN + 2):
        assert explicit(signature, long_zero(number)) == "SUCCESS"


def test_a_paused_token_is_not_deleted_even_without_a_key(ledger):
    token(ledger, PLAIN, admin_key=None, pause_status="PAUSED")
    assert explicit(DELETE, long_zero(PLAIN)) == "TOKEN_IS_PAUSED"


def test_a_token_that_was_deleted_before_is_unknown(ledger):
    ledger.entity(PLAIN, type="TOKEN", deleted=True, key=PEOPLE)
    ledger.token(PLAIN, pause_key=PEOPLE)
    for signature in (PAUSE, UNPAUSE, DELETE):
        assert explicit(signature, long_zero(PLAIN)) == "INVALID_TOKEN_ID"


@pytest.mark.parametrize("signature", [PAUSE, UNPAUSE, DELETE])
def test_they_cost_the_canonical_price_and_halt_in_static_frames(ledger, signature):
    data = data_of(signature, long_zero(TOKEN))
    assert run(current(), SERVICE, data).execution_gas == 15_284
    assert run(current(), SERVICE, data, static=True).halt is Halt.PRECOMPILE
    assert run(current(), SERVICE, data[:-1]).halt is Halt.PRECOMPILE
