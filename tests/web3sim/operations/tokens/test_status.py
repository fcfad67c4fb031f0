"""The numbers of tokens that an account is associated with."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.build import START
from tests.web3sim.state.states import at, current, journal, long_zero
from tests.web3sim.system_contracts.token_service.ledger import HOLDER, people, token
from web3sim.operations.tokens.status import associate, dissociate
from web3sim.state.overlay import Overlay

FIRST, COUNT = 3001, 20


@pytest.mark.parametrize("state_of", [current, lambda: at(START + 100)], ids=["now", "then"])
def test_associations_are_counted_without_reading_each_token(build, state_of):
    people(build)
    for number in range(FIRST, FIRST + COUNT):
        token(build, number)
    for number in range(FIRST + 1, FIRST + COUNT):
        build.holding(number, account=HOLDER, automatic_association=number % 2 == 0)
    build.holding(9001, account=HOLDER, associated=False)
    state = state_of()
    ledger = Overlay(state, journal(state))
    associate(ledger, long_zero(HOLDER), [long_zero(FIRST)], None)
    with CaptureQueriesContext(connection) as statements:
        assert ledger.associations(HOLDER) == (20, 10)
    assert len(statements) == 1
    dissociate(ledger, long_zero(HOLDER), [long_zero(number) for number in range(FIRST, FIRST + 4)], None)
    assert ledger.associations(HOLDER) == (16, 8)
