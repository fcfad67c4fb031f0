"""The state of a call whose request overrides the stored values of some accounts."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from mirror.core.values import entity_id
from web3sim.engine.interface import AccountKind, AccountRecord, Address

if TYPE_CHECKING:
    from web3sim.state.ledger import LedgerState


class Override(NamedTuple):
    """Values to assume for an account; None stands for the stored value. The balance is in tinybars.

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

    An override counts for its address. One with another address of a stored account also counts for the
    address by which the EVM knows that account. A missing account is created for the call.
    """

    def __init__(self, ledger: "LedgerState", overrides: Sequence[Override]) -> None:
        self._ledger = ledger
        self._overrides = {each.address: each for each in overrides}

    def account(self, address: Address) -> AccountRecord | None:
        stored, override = self._ledger.account(address), self._override_of(address)
        return stored if override is None else _overridden(stored, override)

    def slot(self, address: Address, slot: int) -> int:
        override = self._override_of(address)
        if override is not None and override.slots is not None:
            value = override.slots.get(slot)
            if value is not None:
                return value
            if override.is_whole_storage:
                return 0
        return self._ledger.slot(address, slot)

    def block_hash(self, number: int) -> bytes:
        return self._ledger.block_hash(number)

    def _override_of(self, address: Address) -> Override | None:
        names: tuple[Address | None, ...] = (address,)
        if address not in self._overrides and (entity := self._ledger.entity_at(address)) is not None:
            names = (entity_id.long_zero(entity.id), entity.alias, entity.evm_address)
        return next((self._overrides[name] for name in names if name in self._overrides), None)


def _overridden(stored: AccountRecord | None, override: Override) -> AccountRecord:
    if stored is None:
        stored = AccountRecord(kind=AccountKind.CONTRACT if override.code else AccountKind.ACCOUNT)
    return stored._replace(
        balance=stored.balance if override.balance is None else override.balance,
        nonce=stored.nonce if override.nonce is None else override.nonce,
        code=stored.code if override.code is None else override.code,
    )
