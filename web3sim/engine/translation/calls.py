"""CALL, CALLCODE, DELEGATECALL and STATICCALL of translated code.

The rules are the library's (EIP-150, EIP-161, EIP-2929), in its order: memory, looking at the account, value,
the gas that is handed on. Input that is long is not copied: the frame that answers reads the caller's memory.
"""

from eth.constants import GAS_CALLSTIPEND, GAS_CALLVALUE, GAS_NEWACCOUNT, STACK_DEPTH_LIMIT
from eth.exceptions import OutOfGas, WriteProtection
from eth.vm import opcode_values as op
from eth.vm.forks.berlin.constants import COLD_ACCOUNT_ACCESS_COST, WARM_STORAGE_READ_COST
from eth_typing import Address

from web3sim.engine.interface import get_delegate
from web3sim.engine.translation.frame import Frame
from web3sim.engine.translation.memory import grow
from web3sim.engine.unchecked_message import UncheckedMessage

_ADDRESS_MASK = 2**160 - 1
# Below so many bytes a copy is cheaper than a view.
_COPIED = 1_024

# The gas that is wanted for the frame, its address as a number, the value.
_Terms = tuple[int, int, int]
# Start and size of the input, start and size of the room for output.
_Places = tuple[int, int, int, int]


def call(operation: int, terms: _Terms, places: _Places, gas: int, frame: Frame) -> tuple[int, int]:
    """Run CALL, CALLCODE, DELEGATECALL or STATICCALL; return 1 or 0, and the gas left."""
    requested_gas, to, value = terms
    state, here, own = frame.state, frame.storage_address, frame.message
    # A frame must be able to pay for access to an account before anything else.
    if gas < state.min_access_gas:
        raise OutOfGas("Out of gas: looking at an account")
    if value and operation == op.CALL and frame.static:
        raise WriteProtection("CALL with a value in a static call")
    address = Address((to & _ADDRESS_MASK).to_bytes(20))
    gas, code = _access(address, places, gas, frame)
    price = GAS_CALLVALUE if value else 0
    if operation == op.CALL:
        if value and (not state.account_exists(address) or state.account_is_empty(address)):
            price += GAS_NEWACCOUNT
        message = UncheckedMessage(0, address, here, value, code, address)
    elif operation == op.STATICCALL:
        message = UncheckedMessage(0, address, here, 0, code, address)
        message.should_transfer_value, message.is_static = False, True
    elif operation == op.DELEGATECALL:
        message = UncheckedMessage(0, here, own.sender, own.value, code, address)
        message.should_transfer_value = False
    else:
        message = UncheckedMessage(0, here, here, value, code, address)
    return _answer(message, requested_gas, price, places, gas, frame)


def _access(address: Address, places: _Places, gas: int, frame: Frame) -> tuple[int, bytes]:
    """Pay for the memory and for access to the account at `address`; return the gas left, and its code."""
    start, size, out, room = places
    memory = frame.memory
    if size and len(memory) < start + size:
        gas = grow(start + size, memory, gas)
    if room and len(memory) < out + room:
        gas = grow(out + room, memory, gas)
    gas = _pay_access(address, gas, frame)
    code = frame.accounts.get_code(address)
    if frame.state.follows_delegations and (delegate := get_delegate(code)) is not None:
        gas = _pay_access(Address(delegate), gas, frame)
    return gas, code


def _pay_access(address: Address, gas: int, frame: Frame) -> int:
    state = frame.state
    if state.is_address_warm(address):
        gas -= WARM_STORAGE_READ_COST
    else:
        state.mark_address_warm(address)
        gas -= COLD_ACCOUNT_ACCESS_COST
    if gas < 0:
        raise OutOfGas("Out of gas: looking at an account")
    return gas


def _answer(
    message: UncheckedMessage, requested_gas: int, price: int, places: _Places, gas: int, frame: Frame
) -> tuple[int, int]:
    """Pay the price, run the frame of a message with its gas (EIP-150): 1 or 0, and the gas left."""
    gas -= price
    if gas < 0:
        raise OutOfGas("Out of gas: value")
    message.gas = min(requested_gas, gas - gas // 64)
    gas -= message.gas
    message.depth = frame.message.depth + 1
    too_poor = False
    if message.should_transfer_value and message.value:
        message.gas += GAS_CALLSTIPEND
        too_poor = frame.accounts.get_balance(frame.storage_address) < message.value
    computation = frame.computation
    if too_poor or message.depth > STACK_DEPTH_LIMIT:
        computation.return_data = b""
        return 0, gas + message.gas
    if frame.static:
        message.is_static = True
    start, size, out, room = places
    memory = frame.memory
    if size < _COPIED:
        message.data = bytes(memory[start : start + size])
        child = computation.apply_child_computation(message)
    else:
        with memoryview(memory) as child_output, child_output[start : start + size] as view:
            message.data = view
            child = computation.apply_child_computation(message)
            message.data = b""
    output = child.output
    if output and room:
        written = min(room, len(output))
        memory[out : out + written] = output[:written]
    return (0 if child.is_error else 1), gas + child.get_gas_remaining()
