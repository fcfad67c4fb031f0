"""The state of a call with what its request says about some accounts in place of what is stored."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from mirror.values import entity_id
from web3sim.engine.interface import AccountKind, AccountRecord, Address
from web3sim.state.ledger import LedgerState


class Override(NamedTuple):
    """What to assume about an account; None is what is stored. The balance is in tinybars.

    `slots` are values of its storage: all of it if it `is_whole_storage`, else those that differ.
    """

    address: Address
    balance: int | None = None
    code: bytes | None = None
    nonce: int | None = None
    slots: Mapping[int, int] | None = None
    is_whole_storage: bool = False


class OverriddenState:
    """A StateReader for one request: overrides, and the ledger behind them. Errors: as LedgerState.

    An override counts for the address it gives; a long-zero one, or any other that the table has, also for
    the address by which the EVM knows the same account. Where nothing lives an account is made up.
    """

    def __init__(self, ledger: LedgerState, overrides: Sequence[Override]) -> None:
        self._ledger = ledger
        self._given = {each.address: each for each in overrides}
        self._found: dict[Address, Override | None] = {}

    def account(self, address: Address) -> AccountRecord | None:
        stored, override = self._ledger.account(address), self._of(address)
        return stored if override is None else _overridden(stored, override)

    def slot(self, address: Address, slot: int) -> int:
        override = self._of(address)
        if override is not None and override.slots is not None:
            value = override.slots.get(slot)
            if value is not None:
                return value
            if override.is_whole_storage:
                return 0
        return self._ledger.slot(address, slot)

    def block_hash(self, number: int) -> bytes:
        return self._ledger.block_hash(number)

    def _of(self, address: Address) -> Override | None:
        if address not in self._found:
            self._found[address] = self._given.get(address) or self._of_other_address(address)
        return self._found[address]

    def _of_other_address(self, address: Address) -> Override | None:
        entity = self._ledger.entity_at(address)
        if entity is None:
            return None
        others = (entity_id.long_zero(entity.id), entity.alias, entity.evm_address)
        return next((self._given[other] for other in others if other in self._given), None)


def _overridden(stored: AccountRecord | None, override: Override) -> AccountRecord:
    if stored is None:
        stored = AccountRecord(kind=AccountKind.CONTRACT if override.code else AccountKind.ACCOUNT)
    return replace(
        stored,
        balance=stored.balance if override.balance is None else override.balance,
        nonce=stored.nonce if override.nonce is None else override.nonce,
        code=stored.code if override.code is None else override.code,
    )
