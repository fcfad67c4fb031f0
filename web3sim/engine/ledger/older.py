"""The ledger's rules in older versions of its EVM: the current ones without later additions.

Frames of these versions are not translated, as only long past blocks have them.
"""

from functools import cache
from typing import Any

from eth.abc import ComputationAPI, MessageAPI, OpcodeAPI
from eth.vm import mnemonics
from eth.vm import opcode_values as op
from eth.vm.forks.london.opcodes import LONDON_OPCODES
from eth.vm.stack import to_int
from eth_typing import Address

from web3sim.engine.computation import EngineComputation
from web3sim.engine.halts import RuleBroken
from web3sim.engine.interface import Halt, Journal, SystemAnswer, SystemCall, SystemContracts
from web3sim.engine.ledger.computation import LedgerComputation
from web3sim.engine.ledger.state import LedgerEngineState, is_system_account, long_zero_number
from web3sim.engine.precompiles import PRECOMPILES
from web3sim.engine.state import EngineState
from web3sim.engine.versions import V034, V038, V046, V050, V051, EvmVersion

_CANCUN = (op.BLOBHASH, op.BLOBBASEFEE, op.TLOAD, op.TSTORE, op.MCOPY)
_KZG = Address((10).to_bytes(20, "big"))
# The account and the schedule service.
_LATER_SYSTEM = frozenset(number.to_bytes(20, "big") for number in (0x16A, 0x16B))

# Operations that read an account or call it: its address is on top of the stack, or second, below the gas.
_CALLS = (mnemonics.CALL, mnemonics.CALLCODE, mnemonics.DELEGATECALL, mnemonics.STATICCALL)
_ON_EXISTING = (
    *(op.BALANCE, op.EXTCODESIZE, op.EXTCODECOPY, op.EXTCODEHASH),
    *(op.CALL, op.CALLCODE, op.DELEGATECALL, op.STATICCALL),
)
# Where CALL finds its value, from the top of the stack.
_VALUE = 3
_ADDRESS_MASK = 2**160 - 1


class _EarlierSystem:
    """The SystemContracts before the account service and the schedule service."""

    def __init__(self, system: SystemContracts) -> None:
        self._system = system

    def at(self, address: Address) -> bool:
        return address not in _LATER_SYSTEM and self._system.at(address)

    def account_code(self, address: Address, data: bytes) -> bytes:
        return b""

    def tied_to_tokens(self, address: Address, journal: Journal) -> bool:
        return self._system.tied_to_tokens(address, journal)

    def call(self, call: SystemCall, journal: Journal) -> SystemAnswer:
        return self._system.call(call, journal)


class OlderState(LedgerEngineState):
    def __init__(self, request: Any, block: Any, reader: Any, system: Any, tracer: Any) -> None:
        if system is not None and self.version < V051:
            system = _EarlierSystem(system)
        super().__init__(request, block, reader, system, tracer)


class OlderComputation(LedgerComputation):
    """A frame of an older version. `computation_of` makes a subclass for each version."""

    version: EvmVersion

    @classmethod
    def validate_create_message(cls, message: MessageAPI) -> None:
        """Init code has a limit since EIP-3860."""
        if cls.version >= V046:
            super().validate_create_message(message)

    @classmethod
    def call_halt(cls, state: LedgerEngineState, message: MessageAPI) -> Halt | None:
        broken = super().call_halt(state, message)
        if broken is None and cls.version < V046 and message.depth == 0:
            sends = cls.version >= V034 and message.value > 0
            return Halt.INVALID_CONTRACT if is_missing(cls, state, message.code_address, sends) else None
        return broken


def is_missing(
    computation: type[EngineComputation], state: EngineState, address: Address, sends: bool
) -> bool:
    """Return whether there is nothing to call at an address; a transfer makes an account for an alias."""
    if is_system_account(address) or state.account_exists(address):
        return False
    if computation.answers_without_code(state, address):
        return False
    return not sends or long_zero_number(address) is not None


class _OnExisting:
    """An operation that halts where nothing exists at its address."""

    def __init__(self, operation: Any, version: EvmVersion) -> None:
        self._operation, self._version = operation, version
        self.mnemonic: str = operation.mnemonic
        self._place = 2 if self.mnemonic in _CALLS else 1

    def __call__(self, computation: ComputationAPI) -> Any:
        values = computation._stack.values  # type: ignore[attr-defined]
        if len(values) >= self._place:
            address = Address((to_int(values[-self._place]) & _ADDRESS_MASK).to_bytes(20, "big"))
            if self._halts(computation, address, values):
                raise RuleBroken(Halt.INVALID_ADDRESS)
        return self._operation(computation=computation)

    def _halts(self, computation: Any, address: Address, values: list[Any]) -> bool:
        if self.mnemonic not in _CALLS:
            return not (is_system_account(address) or computation.state.account_exists(address))
        has_value = self.mnemonic == mnemonics.CALL and len(values) > _VALUE and to_int(values[-_VALUE]) > 0
        sends = self._version >= V034 and has_value
        return is_missing(type(computation), computation.state, address, sends)


@cache
def computation_of(version: EvmVersion) -> type[EngineComputation]:
    """The frames of a version before 0.51."""
    opcodes: dict[int, Any] = dict(LedgerComputation.opcodes)
    precompiles: dict[Address, Any] = dict(PRECOMPILES)
    if version < V050:
        for value in _CANCUN:
            del opcodes[value]
        del precompiles[_KZG]
    if version < V046:
        for value in (op.CREATE, op.CREATE2):
            opcodes[value] = LONDON_OPCODES[value]
        for value in _ON_EXISTING:
            opcodes[value] = _OnExisting(opcodes[value], version)
    if version < V038:
        del opcodes[op.PUSH0]
    table: dict[int, OpcodeAPI] = opcodes
    name = f"V{version.major}{version.minor:03}"
    state = type(f"{name}State", (OlderState,), {"version": version})
    return type(
        f"{name}Computation",
        (OlderComputation,),
        {"version": version, "opcodes": table, "_precompiles": precompiles, "state_class": state},
    )
