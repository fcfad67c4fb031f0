"""The state a computation runs on by the rules of a ledger network."""

from typing import cast

from eth_typing import Address, Hash32

from web3sim.engine.interface import AccountKind, Journal
from web3sim.engine.state import EngineState
from web3sim.engine.versions import LATEST, V038, EvmVersion

# The last numbers of the network's own accounts, by their long-zero addresses.
_LAST_SYSTEM_ACCOUNT = 750
_LAST_HIDDEN_CODE = 1000


class LedgerEngineState(EngineState):
    """Cancun's state with what a ledger network changes about accounts and blocks."""

    min_access_gas, min_storage_gas = 2_600, 0
    version: EvmVersion = LATEST
    #: The child records that system contracts have left, also of frames that were reverted.
    child_records = 0
    runs_scheduled = False

    @property
    def journal(self) -> Journal:
        """What this run has changed, by addresses that the library gives a name of its own."""
        return cast(Journal, self.accounts)

    def get_ancestor_hash(self, block_number: int) -> Hash32:
        """Any block up to the current one, without a window."""
        if block_number > self.block_number or self.block_number == 0:
            return Hash32(b"")
        return Hash32(self.accounts.block_hash(block_number))

    def is_network_owned(self, address: Address) -> bool:
        """Token or schedule: neither holds hbar."""
        record = self.current(address)
        return record is not None and record.kind in (AccountKind.TOKEN, AccountKind.SCHEDULE)

    def is_system_account(self, address: Address) -> bool:
        """Return whether an account is the network's own, by its long-zero address."""
        return self._is_numbered(address, _LAST_SYSTEM_ACCOUNT)

    def hides_code(self, address: Address) -> bool:
        return self._is_numbered(address, _LAST_HIDDEN_CODE)

    def _is_numbered(self, address: Address, last: int) -> bool:
        number = long_zero_number(address)
        return number is not None and number <= last and self.version >= V038


def long_zero_number(address: Address) -> int | None:
    """The entity number in a long-zero address; None for any other address."""
    return int.from_bytes(address[12:], "big") if not any(address[:12]) else None
