"""The operations that a ledger network changes: accessing other accounts, SSTORE, and SELFDESTRUCT."""

from typing import Any

from eth import constants
from eth._utils.address import force_bytes_to_address
from eth.abc import ComputationAPI
from eth.exceptions import Halt, OutOfGas
from eth.vm import mnemonics
from eth.vm import opcode_values as op
from eth.vm.forks.berlin.constants import COLD_ACCOUNT_ACCESS_COST, WARM_STORAGE_READ_COST
from eth.vm.forks.byzantium.opcodes import ensure_no_static
from eth.vm.forks.cancun.opcodes import CANCUN_OPCODES
from eth.vm.forks.tangerine_whistle.constants import GAS_SELFDESTRUCT_EIP150
from eth.vm.opcode import as_opcode
from eth_typing import Address

from web3sim.engine import interface
from web3sim.engine.halts import ExceptionalHalt
from web3sim.engine.state import EngineState, LedgerEngineState, long_zero_number
from web3sim.engine.versions import V050

_WORD = 32
CALLS = (op.CALL, op.CALLCODE, op.DELEGATECALL, op.STATICCALL)


def _state(computation: ComputationAPI) -> LedgerEngineState:
    state = computation.state
    assert isinstance(state, LedgerEngineState)
    return state


def _pop_address(computation: ComputationAPI) -> Address:
    return force_bytes_to_address(computation.stack_pop1_bytes())


# ACCESSING ACCOUNTS


def _access(computation: ComputationAPI, address: Address, reason: str, *, hidden: bool) -> None:
    """Charge for accessing an account (EIP-2929): a hidden one never becomes warm."""
    state = computation.state
    _check_access_gas(computation, reason)
    if hidden or not state.is_address_warm(address):
        computation.consume_gas(COLD_ACCOUNT_ACCESS_COST, reason=reason)
    else:
        computation.consume_gas(WARM_STORAGE_READ_COST, reason=reason)
    if not hidden:
        state.mark_address_warm(address)


def _check_access_gas(computation: ComputationAPI, reason: str) -> None:
    """A frame must be able to pay the price of a cold account, also if the account is warm."""
    if computation.get_gas_remaining() < LedgerEngineState.min_access_gas:
        raise OutOfGas(f"Out of gas: {reason}")


def _balance(computation: ComputationAPI) -> None:
    address = _pop_address(computation)
    hidden = _state(computation).is_system_account(address)
    _access(computation, address, mnemonics.BALANCE, hidden=hidden)
    computation.stack_push_int(0 if hidden else computation.state.get_balance(address))


def _extcodesize(computation: ComputationAPI) -> None:
    address = _pop_address(computation)
    computation.stack_push_int(len(_visible_code(computation, address, mnemonics.EXTCODESIZE)))


def _extcodecopy(computation: ComputationAPI) -> None:
    address = _pop_address(computation)
    target, source, size = computation.stack_pop_ints(3)
    computation.extend_memory(target, size)
    code = _visible_code(computation, address, mnemonics.EXTCODECOPY)[source : source + size]
    computation.consume_gas(constants.GAS_COPY * ((size + _WORD - 1) // _WORD), mnemonics.EXTCODECOPY)
    computation.memory_write(target, size, code.ljust(size, b"\0"))


def _visible_code(computation: ComputationAPI, address: Address, reason: str) -> bytes:
    state = _state(computation)
    hidden = state.hides_code(address)
    _access(computation, address, reason, hidden=hidden)
    if long_zero_number(address) is None:
        # The network loads an account for its code only by an address of its own.
        state.accounts.fund(address)
    return b"" if hidden else state.get_code(address)


def _extcodehash(computation: ComputationAPI) -> None:
    """Zero without an account, and for one without balance, nonce and code (EIP-1052)."""
    address = _pop_address(computation)
    state = _state(computation)
    hidden = state.hides_code(address)
    _access(computation, address, mnemonics.EXTCODEHASH, hidden=hidden)
    is_zero = hidden or not state.account_exists(address) or state.account_is_empty(address)
    computation.stack_push_bytes(b"" if is_zero else state.get_code_hash(address))


class CheckedCall:
    """An operation of the library that calls, in a frame that must be able to pay for a cold account."""

    def __init__(self, operation: Any) -> None:
        self._operation = operation
        self.mnemonic: str = operation.mnemonic
        self.gas_cost: int = operation.gas_cost

    def __call__(self, computation: ComputationAPI) -> Any:
        _check_access_gas(computation, self.mnemonic)
        return self._operation.__call__(computation=computation)


# STORAGE


def _sstore(computation: ComputationAPI) -> None:
    """The library's, without the least gas that EIP-2200 demands."""
    allowance, meter = EngineState.min_storage_gas, computation.get_gas_meter()
    meter.gas_remaining += allowance
    try:
        _LIBRARY_SSTORE(computation=computation)
    finally:
        remaining = meter.gas_remaining - allowance
        meter.gas_remaining = max(remaining, 0)
    if remaining < 0:
        raise OutOfGas(f"Out of gas: {mnemonics.SSTORE}")


_LIBRARY_SSTORE: Any = CANCUN_OPCODES[op.SSTORE]


# SELFDESTRUCT


def _selfdestruct(computation: ComputationAPI) -> None:
    """Send everything to a beneficiary, and delete the contract.

    From version 0.50 on it is deleted only if this call created it (EIP-6780).
    """
    state = _state(computation)
    address = computation.msg.storage_address
    beneficiary = _pop_address(computation)
    balance = state.get_balance(address)
    if not state.is_address_warm(beneficiary):
        state.mark_address_warm(beneficiary)
        computation.consume_gas(COLD_ACCOUNT_ACCESS_COST, reason=mnemonics.SELFDESTRUCT)
    if balance and state.account_is_empty(beneficiary):
        computation.consume_gas(constants.GAS_SELFDESTRUCT_NEWACCOUNT, reason=mnemonics.SELFDESTRUCT)
    is_deleted = address in state.created or state.version < V050
    halt = _self_destruct_halt(state, address, beneficiary, is_deleted=is_deleted)
    if halt is not None:
        raise ExceptionalHalt(halt)
    state.delta_balance(beneficiary, balance)
    state.set_balance(address, 0)
    if is_deleted:
        computation.register_account_for_deletion(beneficiary)
    raise Halt(mnemonics.SELFDESTRUCT)


def _self_destruct_halt(
    state: LedgerEngineState, address: Address, beneficiary: Address, *, is_deleted: bool
) -> interface.Halt | None:
    missing = not state.account_exists(beneficiary)
    if missing or state.is_system_account(beneficiary) or state.is_network_owned(beneficiary):
        return interface.Halt.INVALID_ADDRESS
    is_self = beneficiary == address
    only_as_treasury = is_self and not is_deleted
    if state.system and state.system.tied_to_tokens(
        address, state.journal, only_as_treasury=only_as_treasury
    ):
        return interface.Halt.OTHER
    if is_self:
        return interface.Halt.SELF_DESTRUCT_TO_SELF
    account = state.original(beneficiary)
    if state.get_balance(address) and account is not None and account.receiver_signature_required:
        return interface.Halt.INVALID_SIGNATURE
    return None


LEDGER_OPERATIONS: dict[int, Any] = {
    op.BALANCE: as_opcode(_balance, mnemonics.BALANCE, 0),
    op.EXTCODESIZE: as_opcode(_extcodesize, mnemonics.EXTCODESIZE, 0),
    op.EXTCODECOPY: as_opcode(_extcodecopy, mnemonics.EXTCODECOPY, 0),
    op.EXTCODEHASH: as_opcode(_extcodehash, mnemonics.EXTCODEHASH, 0),
    op.SSTORE: as_opcode(_sstore, mnemonics.SSTORE, 0),
    op.SELFDESTRUCT: as_opcode(
        ensure_no_static(_selfdestruct), mnemonics.SELFDESTRUCT, GAS_SELFDESTRUCT_EIP150
    ),
    **{value: CheckedCall(CANCUN_OPCODES[value]) for value in CALLS},
}
