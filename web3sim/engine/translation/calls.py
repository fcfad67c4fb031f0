"""CALL, CALLCODE, DELEGATECALL and STATICCALL of translated code.

The rules are the library's (EIP-150, EIP-161, EIP-2929), in its order: memory, looking at the account, value,
the gas that is handed on. Input that is long is not copied: the frame that answers reads the caller's memory.
"""

from eth.constants import GAS_CALLSTIPEND, GAS_CALLVALUE, GAS_NEWACCOUNT, STACK_DEPTH_LIMIT
from eth.exceptions import OutOfGas, WriteProtection
from eth.vm.forks.berlin.constants import COLD_ACCOUNT_ACCESS_COST, WARM_STORAGE_READ_COST
from eth_typing import Address

from web3sim.engine.messages import KnownMessage
from web3sim.engine.translation.frame import Frame
from web3sim.engine.translation.memory import grow

_ADDRESS_MASK = 2**160 - 1
# Below so many bytes a copy is cheaper than a view.
_COPIED = 1_024

# What was asked for: start and size of the input, start and size of the room for output.
_Places = tuple[int, int, int, int]


def call(
    wanted: int, to: int, value: int, start: int, size: int, out: int, room: int,
    memory: bytearray, gas: int, frame: Frame,
) -> tuple[int, int]:  # fmt: skip
    """CALL: 1 or 0, and the gas left."""
    if value and frame.static:
        raise WriteProtection("CALL with a value in a static call")
    address, places = _address(to), (start, size, out, room)
    gas, code = _looked_at(address, places, memory, gas, frame)
    price = 0
    if value:
        state = frame.state
        dead = not state.account_exists(address) or state.account_is_empty(address)
        price = GAS_CALLVALUE + (GAS_NEWACCOUNT if dead else 0)
    given, gas = _handed_on(wanted, price, gas)
    given += GAS_CALLSTIPEND if value else 0
    if _impossible(value, frame):
        return 0, gas + given
    here = frame.storage_address
    message = KnownMessage(
        given, address, here, value, b"", code, address, depth=frame.message.depth + 1, static=frame.static
    )
    return _answered(message, places, memory, gas, frame)


def call_code(
    wanted: int, to: int, value: int, start: int, size: int, out: int, room: int,
    memory: bytearray, gas: int, frame: Frame,
) -> tuple[int, int]:  # fmt: skip
    """CALLCODE: 1 or 0, and the gas left."""
    address, places = _address(to), (start, size, out, room)
    gas, code = _looked_at(address, places, memory, gas, frame)
    given, gas = _handed_on(wanted, GAS_CALLVALUE if value else 0, gas)
    given += GAS_CALLSTIPEND if value else 0
    if _impossible(value, frame):
        return 0, gas + given
    here = frame.storage_address
    message = KnownMessage(
        given, here, here, value, b"", code, address, depth=frame.message.depth + 1, static=frame.static
    )
    return _answered(message, places, memory, gas, frame)


def delegate_call(
    wanted: int, to: int, start: int, size: int, out: int, room: int,
    memory: bytearray, gas: int, frame: Frame,
) -> tuple[int, int]:  # fmt: skip
    """DELEGATECALL: 1 or 0, and the gas left."""
    address, places = _address(to), (start, size, out, room)
    gas, code = _looked_at(address, places, memory, gas, frame)
    given, gas = _handed_on(wanted, 0, gas)
    if _impossible(0, frame):
        return 0, gas + given
    own = frame.message
    message = KnownMessage(
        given, own.storage_address, own.sender, own.value, b"", code, address,
        depth=own.depth + 1, transfers=False, static=frame.static,
    )  # fmt: skip
    return _answered(message, places, memory, gas, frame)


def static_call(
    wanted: int, to: int, start: int, size: int, out: int, room: int,
    memory: bytearray, gas: int, frame: Frame,
) -> tuple[int, int]:  # fmt: skip
    """STATICCALL: 1 or 0, and the gas left."""
    address, places = _address(to), (start, size, out, room)
    gas, code = _looked_at(address, places, memory, gas, frame)
    given, gas = _handed_on(wanted, 0, gas)
    if _impossible(0, frame):
        return 0, gas + given
    message = KnownMessage(
        given, address, frame.storage_address, 0, b"", code, address,
        depth=frame.message.depth + 1, transfers=False, static=True,
    )  # fmt: skip
    return _answered(message, places, memory, gas, frame)


def _address(number: int) -> Address:
    return Address((number & _ADDRESS_MASK).to_bytes(20))


def _looked_at(
    address: Address, places: _Places, memory: bytearray, gas: int, frame: Frame
) -> tuple[int, bytes]:
    """Have the memory, and look at the account whose code answers. Gives the gas left, and the code."""
    start, size, out, room = places
    if size and len(memory) < start + size:
        gas = grow(start + size, memory, gas)
    if room and len(memory) < out + room:
        gas = grow(out + room, memory, gas)
    state = frame.state
    if state.is_address_warm(address):
        gas -= WARM_STORAGE_READ_COST
    else:
        state.mark_address_warm(address)
        gas -= COLD_ACCOUNT_ACCESS_COST
    if gas < 0:
        raise OutOfGas("Out of gas: looking at an account")
    return gas, frame.accounts.get_code(address)


def _handed_on(wanted: int, price: int, gas: int) -> tuple[int, int]:
    """The gas of the message (EIP-150), and the gas left when that and the price have been paid."""
    gas -= price
    if gas < 0:
        raise OutOfGas("Out of gas: value")
    given = min(wanted, gas - gas // 64)
    return given, gas - given


def _impossible(value: int, frame: Frame) -> bool:
    """Return whether a call fails before it begins: too little to send, or too deep."""
    poor = value and frame.accounts.get_balance(frame.storage_address) < value
    if not poor and frame.message.depth < STACK_DEPTH_LIMIT:
        return False
    frame.computation.return_data = b""
    return True


def _answered(
    message: KnownMessage, places: _Places, memory: bytearray, gas: int, frame: Frame
) -> tuple[int, int]:
    """Run the frame of a message and take what it leaves: 1 or 0, and the gas left."""
    start, size, out, room = places
    if size < _COPIED:
        message.data = bytes(memory[start : start + size])
        child = frame.computation.apply_child_computation(message)
    else:
        with memoryview(memory) as whole, whole[start : start + size] as view:
            message.data = view
            child = frame.computation.apply_child_computation(message)
            message.data = b""
    output = child.output
    if output and room:
        written = min(room, len(output))
        memory[out : out + written] = output[:written]
    return (0 if child.is_error else 1), gas + child.get_gas_remaining()
