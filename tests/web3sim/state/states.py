"""States for tests, of the rows a test built."""

from typing import cast

from mirror.core.values import entity_id
from web3sim.engine.accounts import Accounts
from web3sim.engine.interface import AccountRecord, Journal
from web3sim.state.blocks import SelectedBlock, StoredBlock
from web3sim.state.database import Reading
from web3sim.state.ledger import LedgerState
from web3sim.state.tables.rows import Token

SOME_BLOCK = StoredBlock(number=10, hash=bytes(range(48)), consensus_start=0, consensus_end=0)


def current() -> LedgerState:
    return LedgerState(SelectedBlock(SOME_BLOCK, None), Reading())


def at(time: int) -> LedgerState:
    return LedgerState(SelectedBlock(SOME_BLOCK, time), Reading())


def journal(state: LedgerState) -> Journal:
    """What a call would change; nothing yet."""
    return cast(Journal, Accounts(state))


def long_zero(num: int) -> bytes:
    return entity_id.long_zero(num)


def account(state: LedgerState, address: bytes) -> AccountRecord:
    """What lives at an address, which must be something."""
    found = state.account(address)
    assert found is not None
    return found


def token(state: LedgerState, number: int) -> Token:
    """A token that must be there."""
    found = state.token(number)
    assert found is not None
    return found
