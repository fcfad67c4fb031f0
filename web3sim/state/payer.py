"""The payer of a call: facts about its sender that decide whether the call may begin."""

from dataclasses import dataclass

from mirror.values import entity_id
from web3sim.engine.interface import AccountKind, Address, StateReader
from web3sim.state.ledger import LedgerState

# The treasury, 0.0.2, pays for calls that name no sender.
_TREASURY_NUM = 2
TREASURY_ADDRESS = entity_id.long_zero(_TREASURY_NUM)
ZERO_ADDRESS = bytes(20)
_KINDS = frozenset({AccountKind.ACCOUNT, AccountKind.CONTRACT})
_TYPES = frozenset(kind.name for kind in _KINDS)


@dataclass(frozen=True, slots=True)
class Payer:
    """`address` is how the EVM names it, `balance` that in tinybars."""

    address: Address
    balance: int


def find_payer(
    state: LedgerState, sender: Address | None, *, value: int, overridden: StateReader | None = None
) -> Payer | None:
    """The account of a sender; None when there is no such account.

    Its long-zero address names it also if it has an address of its own. For a contract the treasury pays,
    and calls: no contract can. So does it without sender, or with the zero address, and without value; then
    it need not be stored. `overridden` is the state with what the request itself says about accounts.
    """
    reader = overridden or state
    if not value and (sender is None or sender == ZERO_ADDRESS):
        return _treasury(reader)
    if sender is None:
        return None
    stored = state.entity_of_any_address(sender)
    address = stored.address if stored is not None and stored.type in _TYPES else sender
    found = reader.account(address)
    if found is None or found.kind not in _KINDS:
        return None
    return _treasury(reader) if found.kind is AccountKind.CONTRACT else Payer(address, found.balance)


def _treasury(reader: StateReader) -> Payer:
    found = reader.account(TREASURY_ADDRESS)
    return Payer(TREASURY_ADDRESS, 0 if found is None else found.balance)
