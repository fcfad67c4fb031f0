"""The state before and in a transaction, and the rules of its frames, for py-evm."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from eth.vm.execution_context import ExecutionContext
from eth.vm.forks.cancun.computation import CancunComputation
from eth.vm.forks.cancun.state import CancunState
from eth.vm.forks.shanghai.computation import ShanghaiComputation
from eth_typing import Address, BlockNumber, Hash32

from mirror.core.values import entity_id
from mirror.core.values.hashes import keccak256
from mirror.demo.evm import system_contracts
from mirror.demo.evm.system_contracts import Rate, SystemCallRequest
from mirror.demo.streams.record_files import FEE_COLLECTOR
from mirror.demo.world.accounts import Account
from mirror.demo.world.contracts import Contract, Hook
from mirror.demo.world.tokens import Token
from mirror.demo.world.world import World
from web3sim.engine.interface import AccountKind
from web3sim.state.proxy_code import proxy_code

CHAIN_ID = 298
# The system contract as which hooks run.
HOOK_CONTRACT = 365
HOOK_ADDRESS = entity_id.long_zero(HOOK_CONTRACT)

_CALL = 0xF1
_MISSING: Any = object()


class Ledger:
    """The state before a transaction; an address where nothing lives has 0 and no code."""

    def balance(self, address: bytes) -> int:
        return 0

    def nonce(self, address: bytes) -> int:
        return 0

    def code(self, address: bytes) -> bytes:
        return b""

    def slot(self, address: bytes, slot: int) -> int:
        return 0

    def units(self, token: bytes, holder: bytes) -> int:
        return 0

    def is_associated(self, token: bytes, holder: bytes) -> bool:
        return False


class WorldLedger(Ledger):
    """The world as the EVM sees it. It knows only `accounts`, all that are sent hbars."""

    def __init__(self, world: World, accounts: Iterable[Account]) -> None:
        self._world = world
        self._accounts = {account.address: account for account in accounts}
        # The fees of system contracts have this collector, also where transactions have another one.
        if collector := world.accounts.get(FEE_COLLECTOR):
            self._accounts[collector.address] = collector

    def account(self, address: bytes) -> Account | None:
        account = self._accounts.get(address)
        if account is None:
            number = self._world.contracts.by_address.get(address)
            account = self._world.accounts[number] if number is not None else None
        return account

    def number_at(self, address: bytes) -> int | None:
        account = self.account(address)
        return account.number if account else None

    def balance(self, address: bytes) -> int:
        account = self.account(address)
        return account.balance if account else 0

    def nonce(self, address: bytes) -> int:
        account = self.account(address)
        return account.nonce if account else 0

    def code(self, address: bytes) -> bytes:
        if self._token(address) is not None:
            return proxy_code(AccountKind.TOKEN, address)
        contract = self._contract(address)
        return contract.code if contract else b""

    def slot(self, address: bytes, slot: int) -> int:
        contract = self._contract(address)
        stored = contract.slots.get(slot) if contract else None
        return stored.value if stored else 0

    def units(self, token: bytes, holder: bytes) -> int:
        issued, account = self._token(token), self.account(holder)
        return issued.balance(account.number) if issued and account else 0

    def is_associated(self, token: bytes, holder: bytes) -> bool:
        """Return whether an account is associated with a token; people are looked for among all accounts."""
        issued, account = self._token(token), self._world.account_at(holder)
        return issued is not None and account is not None and account.number in issued.relationships

    def _token(self, address: bytes) -> Token | None:
        return self._world.tokens.issued.get(entity_id.num_of_long_zero(address) or 0)

    def _contract(self, address: bytes) -> Contract | None:
        contracts = self._world.contracts
        return contracts.deployed.get(contracts.by_address.get(address, 0))


class HookLedger(Ledger):
    """The storage and code of a hook, at the address of the system contract that runs hooks."""

    def __init__(self, hook: Hook, code: bytes) -> None:
        self._hook, self._code = hook, code

    def code(self, address: bytes) -> bytes:
        return self._code if address == HOOK_ADDRESS else b""

    def slot(self, address: bytes, slot: int) -> int:
        stored = self._hook.slots.get(slot.to_bytes(32, "big"))
        return int.from_bytes(stored.value, "big") if stored and address == HOOK_ADDRESS else 0


@dataclass(frozen=True, slots=True)
class BlockContext:
    """The block in which a transaction runs. `timestamp` is the second in which it began.

    With `logs_transfers` the node logs the units that contracts move by the token service. `next_number` is
    that of the next entity.
    """

    block_number: int
    timestamp: int
    gas_price: int
    logs_transfers: bool = False
    rate: Rate = Rate(12, 1)
    next_number: int = 0


@dataclass(frozen=True, slots=True)
class Slot:
    """A storage slot that was touched: its value before, and the value written, if any."""

    read: int
    written: int | None


@lru_cache(maxsize=256)
def _positions(code: bytes) -> tuple[set[int], set[int]]:
    """Return the known positions of instructions and of data in code, which runs of it add to."""
    return set(), set()


class Computation(CancunComputation):
    _precompiles = {
        **CancunComputation._precompiles,
        **{
            Address(entity_id.long_zero(service)): partial(system_contracts.run, service=service)
            for service in system_contracts.SERVICES
        },
    }
    # The opcode that opened the frame; CALL for the outermost one.
    operation = _CALL
    children: list[Any]

    def __init__(self, *arguments: Any) -> None:
        # Skips the constructor that warms the coinbase.
        super(ShanghaiComputation, self).__init__(*arguments)
        # Saves a call for each instruction.
        self.consume_gas = self._gas_meter.consume_gas  # type: ignore[method-assign]
        code: Any = self.code
        code.valid_positions, code.invalid_positions = _positions(self.msg.code)

    def apply_child_computation(self, child_msg: Any) -> Any:
        operation = self.code[self.code.program_counter - 1]
        child: Any = super().apply_child_computation(child_msg)
        child.operation = operation
        return child


class State(CancunState):
    """The ledger with the writes of a transaction above it, and a list of writes to undo them."""

    computation_class: Any = Computation

    def __init__(self, ledger: Ledger, block_context: BlockContext, gas_limit: int) -> None:
        self.execution_context = ExecutionContext(
            coinbase=Address(entity_id.long_zero(FEE_COLLECTOR)),
            timestamp=block_context.timestamp,
            block_number=BlockNumber(block_context.block_number),
            difficulty=0,
            mix_hash=Hash32(bytes(32)),
            gas_limit=gas_limit,
            prev_hashes=(),
            chain_id=CHAIN_ID,
            base_fee_per_gas=0,
            excess_blob_gas=0,
        )
        self.block_context = block_context
        self.ledger = ledger
        self._undo: list[tuple[dict[Any, Any], Any, Any]] = []
        self.balances: dict[bytes, int] = {}
        self.nonces: dict[bytes, int] = {}
        self.codes: dict[bytes, bytes] = {}
        self.requests: dict[int, SystemCallRequest] = {}
        self._written: dict[tuple[bytes, int], int] = {}
        self._original: dict[tuple[bytes, int], int] = {}
        self._transient: dict[tuple[bytes, int], bytes] = {}
        self._warm: dict[Any, bool] = {}

    def slots(self) -> dict[bytes, dict[int, Slot]]:
        """Return the slots that were touched, by address."""
        touched: dict[bytes, dict[int, Slot]] = {}
        for (address, slot), read in self._original.items():
            touched.setdefault(address, {})[slot] = Slot(read, self._written.get((address, slot)))
        return touched

    # SNAPSHOTS

    def snapshot(self) -> Any:
        return len(self._undo)

    def commit(self, snapshot: Any) -> None:
        pass

    def revert(self, snapshot: Any) -> None:
        while len(self._undo) > snapshot:
            values, key, before = self._undo.pop()
            if before is _MISSING:
                del values[key]
            else:
                values[key] = before

    def _set(self, values: dict[Any, Any], key: Any, value: Any) -> None:
        self._undo.append((values, key, values.get(key, _MISSING)))
        values[key] = value

    # TOKENS

    def note(self, request: SystemCallRequest) -> None:
        self._set(self.requests, len(self.requests), request)

    # ACCOUNTS

    def get_balance(self, address: bytes) -> int:
        balance = self.balances.get(address)
        return self.ledger.balance(address) if balance is None else balance

    def set_balance(self, address: bytes, balance: int) -> None:
        self._set(self.balances, address, balance)

    def get_nonce(self, address: bytes) -> int:
        nonce = self.nonces.get(address)
        return self.ledger.nonce(address) if nonce is None else nonce

    def set_nonce(self, address: bytes, nonce: int) -> None:
        self._set(self.nonces, address, nonce)

    def increment_nonce(self, address: bytes) -> None:
        self.set_nonce(address, self.get_nonce(address) + 1)

    def get_code(self, address: bytes) -> bytes:
        code = self.codes.get(address)
        return self.ledger.code(address) if code is None else code

    def set_code(self, address: bytes, code: bytes) -> None:
        self._set(self.codes, address, code)

    def get_code_hash(self, address: bytes) -> Any:
        return keccak256(self.get_code(address))

    def has_code_or_nonce(self, address: bytes) -> bool:
        return bool(self.get_nonce(address) or self.get_code(address))

    def account_exists(self, address: bytes) -> bool:
        return not self.account_is_empty(address)

    def account_is_empty(self, address: bytes) -> bool:
        return not (self.get_balance(address) or self.has_code_or_nonce(address))

    def touch_account(self, address: bytes) -> None:
        pass

    def delete_storage(self, address: bytes) -> None:
        """Do nothing: contracts are created where there never was one."""

    # STORAGE

    def get_storage(self, address: bytes, slot: int, from_journal: bool = True) -> int:
        key = (address, slot)
        if from_journal:
            written = self._written.get(key)
            if written is not None:
                return written
        original = self._original.get(key)
        if original is None:
            original = self._original[key] = self.ledger.slot(address, slot)
        return original

    def set_storage(self, address: bytes, slot: int, value: int) -> None:
        self._set(self._written, (address, slot), value)

    def get_transient_storage(self, address: bytes, slot: int) -> bytes:
        return self._transient.get((address, slot), b"")

    def set_transient_storage(self, address: bytes, slot: int, value: bytes) -> None:
        self._set(self._transient, (address, slot), value)

    # WARMTH (EIP-2929)

    def is_address_warm(self, address: bytes) -> bool:
        return address in self._warm or address in CancunComputation._precompiles

    def mark_address_warm(self, address: bytes) -> None:
        self._set(self._warm, address, True)

    def is_storage_warm(self, address: bytes, slot: int) -> bool:
        return (address, slot) in self._warm

    def mark_storage_warm(self, address: bytes, slot: int) -> None:
        self._set(self._warm, (address, slot), True)
