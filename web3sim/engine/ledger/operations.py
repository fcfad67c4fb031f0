"""The operations that a ledger network changes: reading other accounts, and SELFDESTRUCT."""

from eth import constants
from eth._utils.address import force_bytes_to_address
from eth.abc import ComputationAPI, OpcodeAPI
from eth.exceptions import Halt
from eth.vm import mnemonics, opcode_values
from eth.vm.forks.berlin.constants import COLD_ACCOUNT_ACCESS_COST, WARM_STORAGE_READ_COST
from eth.vm.forks.byzantium.opcodes import ensure_no_static
from eth.vm.forks.tangerine_whistle.constants import GAS_SELFDESTRUCT_EIP150
from eth.vm.opcode import as_opcode
from eth_typing import Address

from web3sim.engine import interface
from web3sim.engine.halts import RuleBroken
from web3sim.engine.ledger.state import LedgerEngineState, is_non_user_account, is_system_account
from web3sim.engine.versions import V038, V050

_WORD = 32


def _state(computation: ComputationAPI) -> LedgerEngineState:
    state = computation.state
    assert isinstance(state, LedgerEngineState)
    return state


def _pop_address(computation: ComputationAPI) -> Address:
    return force_bytes_to_address(computation.stack_pop1_bytes())


def _load(computation: ComputationAPI, address: Address, reason: str) -> None:
    """Charge for reading an account (EIP-2929)."""
    state = computation.state
    price = WARM_STORAGE_READ_COST if state.is_address_warm(address) else COLD_ACCOUNT_ACCESS_COST
    state.mark_address_warm(address)
    computation.consume_gas(price, reason=reason)


def _visible_code(computation: ComputationAPI, address: Address) -> bytes:
    return b"" if is_non_user_account(address) else computation.state.get_code(address)


# READING ACCOUNTS


def _balance(computation: ComputationAPI) -> None:
    address = _pop_address(computation)
    _load(computation, address, mnemonics.BALANCE)
    hidden = is_system_account(address) and _state(computation).version >= V038
    computation.stack_push_int(0 if hidden else computation.state.get_balance(address))


def _extcodesize(computation: ComputationAPI) -> None:
    address = _pop_address(computation)
    _load(computation, address, mnemonics.EXTCODESIZE)
    computation.stack_push_int(len(_visible_code(computation, address)))


def _extcodecopy(computation: ComputationAPI) -> None:
    address = _pop_address(computation)
    target, source, size = computation.stack_pop_ints(3)
    computation.extend_memory(target, size)
    _load(computation, address, mnemonics.EXTCODECOPY)
    computation.consume_gas(constants.GAS_COPY * ((size + _WORD - 1) // _WORD), mnemonics.EXTCODECOPY)
    code = _visible_code(computation, address)[source : source + size]
    computation.memory_write(target, size, code.ljust(size, b"\0"))


def _extcodehash(computation: ComputationAPI) -> None:
    """Zero only without an account; an account without code has the hash of no code, even an empty one."""
    address = _pop_address(computation)
    _load(computation, address, mnemonics.EXTCODEHASH)
    state = computation.state
    hidden = is_non_user_account(address) or not state.account_exists(address)
    computation.stack_push_bytes(b"" if hidden else state.get_code_hash(address))


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
    broken = _self_destruct_halt(state, address, beneficiary, balance)
    if broken is not None:
        raise RuleBroken(broken)
    state.delta_balance(beneficiary, balance)
    state.set_balance(address, 0)
    if address in state.created or state.version < V050:
        computation.register_account_for_deletion(beneficiary)
    raise Halt(mnemonics.SELFDESTRUCT)


def _self_destruct_halt(
    state: LedgerEngineState, address: Address, beneficiary: Address, balance: int
) -> interface.Halt | None:
    missing = not state.account_exists(beneficiary)
    if missing or is_system_account(beneficiary) or state.is_network_owned(beneficiary):
        return interface.Halt.INVALID_ADDRESS
    if beneficiary == address:
        return interface.Halt.SELF_DESTRUCT_TO_SELF
    heir = state.before(beneficiary)
    if state.system is not None and state.system.tied_to_tokens(address, state.journal):
        return interface.Halt.OTHER
    if balance and heir is not None and heir.receiver_signature_required:
        return interface.Halt.INVALID_SIGNATURE
    return None


LEDGER_OPERATIONS: dict[int, OpcodeAPI] = {
    opcode_values.BALANCE: as_opcode(_balance, mnemonics.BALANCE, 0),
    opcode_values.EXTCODESIZE: as_opcode(_extcodesize, mnemonics.EXTCODESIZE, 0),
    opcode_values.EXTCODECOPY: as_opcode(_extcodecopy, mnemonics.EXTCODECOPY, 0),
    opcode_values.EXTCODEHASH: as_opcode(_extcodehash, mnemonics.EXTCODEHASH, 0),
    opcode_values.SELFDESTRUCT: as_opcode(
        ensure_no_static(_selfdestruct), mnemonics.SELFDESTRUCT, GAS_SELFDESTRUCT_EIP150
    ),
}
