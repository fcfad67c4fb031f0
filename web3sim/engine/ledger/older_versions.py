"""The ledger's rules in older versions of its EVM: the current ones without later additions.

Frames of these versions are not translated, as only long past blocks have them.
"""

from functools import cache
from typing import Any

from eth.abc import ComputationAPI, MessageAPI, OpcodeAPI
from eth.vm import opcode_values as op
from eth.vm.stack import to_int
from eth_typing import Address

from web3sim.engine.computation import EngineComputation
from web3sim.engine.halts import ExceptionalHalt
from web3sim.engine.interface import Halt
from web3sim.engine.ledger.computation import LedgerComputation
from web3sim.engine.ledger.ledger_operations import CALLS
from web3sim.engine.precompiles import PRECOMPILES
from web3sim.engine.state import LedgerEngineState, long_zero_number
from web3sim.engine.versions import V034, V038, V046, EvmVersion

_CANCUN = (op.BLOBHASH, op.BLOBBASEFEE, op.TLOAD, op.TSTORE, op.MCOPY)
_KZG = Address((10).to_bytes(20, "big"))

# Operations that read an account or call it: its address is on top of the stack, or second, below the gas.
_READS = (op.BALANCE, op.EXTCODESIZE, op.EXTCODECOPY, op.EXTCODEHASH)
# Where CALL finds its value, from the top of the stack.
_VALUE = 3
_ADDRESS_MASK = 2**160 - 1


class OlderComputation(LedgerComputation):
    """A frame of an older version. `older_computation` makes a subclass for each version."""

    version: EvmVersion

    @classmethod
    def call_halt(cls, state: LedgerEngineState, message: MessageAPI) -> Halt | None:
        halt = super().call_halt(state, message)
        if halt is None and cls.version < V046 and message.depth == 0:
            sends = cls.version >= V034 and message.value > 0
            return Halt.INVALID_CONTRACT if is_missing(cls, state, message.code_address, sends) else None
        return halt


def is_missing(
    computation: type[EngineComputation], state: LedgerEngineState, address: Address, sends: bool
) -> bool:
    """Return whether there is nothing to call at an address; a transfer makes an account for an alias."""
    if state.is_system_account(address) or state.account_exists(address):
        return False
    if computation.is_precompiled(state, address):
        return False
    return not sends or long_zero_number(address) is not None


class _ExistingAccountOperation:
    """An operation that halts where nothing exists at its address."""

    def __init__(self, operation: Any, value: int, version: EvmVersion) -> None:
        self._operation, self._version = operation, version
        self.mnemonic: str = operation.mnemonic
        self._calls, self._sends = value in CALLS, value == op.CALL
        self._address_position = 2 if self._calls else 1

    def __call__(self, computation: ComputationAPI) -> Any:
        values = computation._stack.values  # type: ignore[attr-defined]
        if len(values) >= self._address_position:
            address = Address((to_int(values[-self._address_position]) & _ADDRESS_MASK).to_bytes(20, "big"))
            if self._halts(computation, address, values):
                raise ExceptionalHalt(Halt.INVALID_ADDRESS)
        return self._operation.__call__(computation=computation)

    def _halts(self, computation: Any, address: Address, values: list[Any]) -> bool:
        state = computation.state
        if not self._calls:
            return not (state.is_system_account(address) or state.account_exists(address))
        has_value = self._sends and len(values) > _VALUE and to_int(values[-_VALUE]) > 0
        return is_missing(type(computation), state, address, has_value and self._version >= V034)


@cache
def older_computation(version: EvmVersion) -> type[EngineComputation]:
    """The frames of a version before 0.50."""
    opcodes: dict[int, Any] = dict(LedgerComputation.opcodes)
    precompiles: dict[Address, Any] = dict(PRECOMPILES)
    for value in _CANCUN:
        del opcodes[value]
    del precompiles[_KZG]
    if version < V046:
        for value in (*_READS, *CALLS):
            opcodes[value] = _ExistingAccountOperation(opcodes[value], value, version)
    if version < V038:
        del opcodes[op.PUSH0]
    table: dict[int, OpcodeAPI] = opcodes
    name = f"V{version.major}{version.minor:03}"
    state = type(f"{name}State", (LedgerEngineState,), {"version": version})
    return type(
        f"{name}Computation",
        (OlderComputation,),
        {"version": version, "opcodes": table, "_precompiles": precompiles, "state_class": state},
    )
