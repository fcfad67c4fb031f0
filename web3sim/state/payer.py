"""The payer of a call: facts about its sender that decide whether the call may begin."""

from dataclasses import dataclass

from mirror.values import entity_id
from web3sim.engine.interface import AccountKind, Address
from web3sim.state.ledger import LedgerState

# The treasury, 0.0.2, pays for calls that name no sender.
_TREASURY_NUM = 2
TREASURY_ADDRESS = entity_id.long_zero(_TREASURY_NUM)
ZERO_ADDRESS = bytes(20)
_TYPES = frozenset({AccountKind.ACCOUNT.name, AccountKind.CONTRACT.name})


@dataclass(frozen=True, slots=True)
class Payer:
    """`address` is how the EVM names it, `balance` the stored one in tinybars."""

    address: Address
    entity_id: int
    is_contract: bool
    balance: int


def find_payer(state: LedgerState, sender: Address | None, *, value: int) -> Payer | None:
    """The account of a sender; None when there is no such account.

    Its long-zero address names it also if it has an address of its own. Without sender, or with the zero
    address, and without value it is the treasury, which then need not be stored.
    """
    if not value and (sender is None or sender == ZERO_ADDRESS):
        found = state.entity_of_any_address(TREASURY_ADDRESS)
        balance = 0 if found is None else found.balance
        treasury = state.encoded(_TREASURY_NUM)
        return Payer(TREASURY_ADDRESS, treasury, is_contract=False, balance=balance)
    found = None if sender is None else state.entity_of_any_address(sender)
    if found is None or found.type not in _TYPES:
        return None
    is_contract = found.type == AccountKind.CONTRACT.name
    return Payer(found.address, found.id, is_contract=is_contract, balance=found.balance)
