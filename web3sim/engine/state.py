"""The states that computations run on, over the accounts of one call: Cancun's, and a ledger network's."""

import time
from collections.abc import Mapping
from typing import cast

from eth.vm.execution_context import ExecutionContext
from eth.vm.forks.cancun.state import CancunState
from eth_typing import Address, BlockNumber, Hash32

from web3sim.engine.accounts import Accounts
from web3sim.engine.interface import (
    AccountKind,
    AccountRecord,
    BlockEnvironment,
    CallRequest,
    DeadlinePassed,
    Journal,
    StateReader,
    SystemContracts,
    Tracer,
)
from web3sim.engine.versions import LATEST, V038, EvmVersion

_BLOCK_HASH_WINDOW = 256
# The translation allowance of every call, in blocks: a millisecond or two.
TRANSLATION_ALLOWANCE = 15_000


class EngineState(CancunState):
    """Plain Cancun. A state serves one run."""

    #: The gas that a frame must have left to access an account, and to write storage (EIP-2200).
    min_access_gas, min_storage_gas = 0, 2_301
    #: Whether accounts run the code that they delegate to (EIP-7702).
    follows_delegations = False

    def __init__(
        self,
        request: CallRequest,
        block: BlockEnvironment,
        reader: StateReader,
        system: SystemContracts | None,
        tracer: Tracer | None,
    ) -> None:
        # Not the library's constructor: it opens tries and deploys the contracts of Ethereum's beacon chain.
        self.accounts = Accounts(reader)
        self._account_db = self.accounts  # type: ignore[assignment]
        self.execution_context = ExecutionContext(
            coinbase=Address(block.coinbase),
            timestamp=block.timestamp,
            block_number=BlockNumber(block.number),
            difficulty=0,
            mix_hash=Hash32(block.prevrandao),
            gas_limit=block.gas_limit,
            prev_hashes=(),
            chain_id=block.chain_id,
            base_fee_per_gas=block.base_fee,
            excess_blob_gas=0,
        )
        self.system = system
        self.tracer = tracer
        self.deadline = request.deadline
        # The operation that opens the next frame, if there is a tracer.
        self.opening_operation = "CALL"
        # The slots that were written so far; None once another one may have been.
        self.slots_so_far: Mapping[int, int] | None = None
        # The rest of the translation allowance, in blocks.
        self.translatable = TRANSLATION_ALLOWANCE
        self.created: list[Address] = []
        self.child_failures: list[str] = []

    def check_deadline(self) -> None:
        """Errors: DeadlinePassed."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise DeadlinePassed("The call took longer than it may.")

    # CHECKPOINTS: positions in the undo list, not pairs with a state root

    def snapshot(self) -> int:  # type: ignore[override]
        return self.accounts.checkpoint()

    def revert(self, snapshot: int) -> None:  # type: ignore[override]
        self.accounts.revert_to(snapshot)

    def commit(self, snapshot: int) -> None:  # type: ignore[override]
        """Nothing: what is not reverted stays."""

    # READING

    def original(self, address: Address) -> AccountRecord | None:
        """Return the account before the call."""
        return self.accounts.original(address)

    def current(self, address: Address) -> AccountRecord | None:
        """Return what a system contract has added at an address, else the account before the call."""
        return self.accounts.current(address)

    def get_ancestor_hash(self, block_number: int) -> Hash32:
        if not self.block_number - _BLOCK_HASH_WINDOW <= block_number < self.block_number:
            return Hash32(b"")
        return Hash32(self.accounts.block_hash(block_number))

    # TRANSIENT STORAGE: with the accounts, so that one undo list serves all

    def get_transient_storage(self, address: Address, slot: int) -> bytes:
        return self.accounts.get_transient_storage(address, slot)

    def set_transient_storage(self, address: Address, slot: int, value: bytes) -> None:
        self.accounts.set_transient_storage(address, slot, value)


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
