"""The payer of a call: facts about its sender that decide whether the call may begin."""

from typing import NamedTuple

from mirror.core.values import entity_id
from web3sim.engine.interface import ZERO_ADDRESS, AccountKind, Address, StateReader
from web3sim.state.ledger import LedgerState

# The treasury, 0.0.2, pays for calls that name no sender.
_TREASURY_NUM = 2
TREASURY_ADDRESS = entity_id.long_zero(_TREASURY_NUM)
_KINDS = frozenset({AccountKind.ACCOUNT, AccountKind.CONTRACT})
_TYPES = frozenset(kind.name for kind in _KINDS)


class Payer(NamedTuple):
    """The payer of a call: its address in the EVM, and its balance in tinybars."""

    address: Address
    balance: int


def find_payer(
    state: LedgerState, sender: Address | None, *, value: int, overridden: StateReader | None = None
) -> Payer | None:
    """Return the account of a sender; None when there is no such account.

    Its long-zero address names it also if it has an address of its own. A contract can't call: the treasury
    pays and calls in its place. A call without value that has no sender, or the zero address, is the
    treasury's too, even if that is not stored. `overridden` is the state with the overrides of the request.
    """
    reader = overridden or state
    if not value and (sender is None or sender == ZERO_ADDRESS):
        return _treasury(reader)
    if sender is None:
        return None
    stored = state.entity_at_any_address(sender)
    address = stored.address if stored is not None and stored.type in _TYPES else sender
    account = reader.account(address)
    if account is None or account.kind not in _KINDS:
        return None
    return _treasury(reader) if account.kind is AccountKind.CONTRACT else Payer(address, account.balance)


def _treasury(reader: StateReader) -> Payer:
    account = reader.account(TREASURY_ADDRESS)
    return Payer(TREASURY_ADDRESS, 0 if account is None else account.balance)
