"""Memory of translated code: growing, copying to it, and what hashing it costs."""

from eth.constants import GAS_MEMORY, GAS_MEMORY_QUADRATIC_DENOMINATOR
from eth.exceptions import OutOfBoundsRead, OutOfGas

from web3sim.engine.translation.frame import Frame

_COPY_WORD = 3


def grow(end: int, memory: bytearray, gas: int) -> int:
    """Extend memory to hold `end` bytes, in words. Gives the gas left."""
    words, before = (end + 31) // 32, len(memory) // 32
    gas -= (words - before) * GAS_MEMORY
    gas -= words**2 // GAS_MEMORY_QUADRATIC_DENOMINATOR - before**2 // GAS_MEMORY_QUADRATIC_DENOMINATOR
    if gas < 0:
        raise OutOfGas("Out of gas: memory")
    memory.extend(bytes((words - before) * 32))
    return gas


def pay_words(offset: int, size: int, price: int, memory: bytearray, gas: int) -> int:
    """Charge for memory that is copied to or hashed, at `price` a word; return the gas left."""
    if size and len(memory) < offset + size:
        gas = grow(offset + size, memory, gas)
    gas -= (size + 31) // 32 * price
    if gas < 0:
        raise OutOfGas("Out of gas: copy or hash")
    return gas


def copy_calldata(to: int, source: int, size: int, memory: bytearray, gas: int, frame: Frame) -> int:
    gas = pay_words(to, size, _COPY_WORD, memory, gas)
    if size:
        data = frame.message.data[source : source + size]
        memory[to : to + size] = data if len(data) == size else bytes(data).ljust(size, b"\0")
    return gas


def copy_code(to: int, source: int, size: int, memory: bytearray, gas: int, frame: Frame) -> int:
    gas = pay_words(to, size, _COPY_WORD, memory, gas)
    if size:
        memory[to : to + size] = frame.raw[source : source + size].ljust(size, b"\0")
    return gas


def copy_return_data(to: int, source: int, size: int, memory: bytearray, gas: int, frame: Frame) -> int:
    data = frame.computation.return_data
    if source + size > len(data):
        raise OutOfBoundsRead(f"Return data has {len(data)} bytes, not {source + size}.")
    gas = pay_words(to, size, _COPY_WORD, memory, gas)
    if size:
        memory[to : to + size] = data[source : source + size]
    return gas


def copy_memory(to: int, source: int, size: int, memory: bytearray, gas: int, frame: Frame) -> int:
    gas = pay_words(max(to, source), size, _COPY_WORD, memory, gas)
    if size:
        memory[to : to + size] = memory[source : source + size]
    return gas
