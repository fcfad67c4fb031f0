"""The ledger as a call has changed it."""

import time

import pytest

from tests.web3sim.state.states import SOME_BLOCK, journal
from web3sim.engine.interface import DeadlinePassed
from web3sim.state.blocks import SelectedBlock
from web3sim.state.database import Reading
from web3sim.state.ledger import LedgerState
from web3sim.state.overlay import Overlay


def test_own_rows_are_not_read_after_the_deadline(ledger_tables):
    """A long list whose rows are all known would be worked on to its end."""
    state = LedgerState(SelectedBlock(SOME_BLOCK, None), Reading(time.monotonic() - 1))
    overlay = Overlay(state, journal(state))
    overlay.put_newest_serial(3001, 5)
    with pytest.raises(DeadlinePassed):
        overlay.newest_serial(3001)
