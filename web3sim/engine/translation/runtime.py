"""The operations of translated code that are more than an expression, and the names it knows them by."""

from typing import Any

from eth.exceptions import OutOfGas, Revert, WriteProtection
from eth.vm.forks.london.storage import GAS_SCHEDULE_EIP3529

from mirror.core.values.hashes import keccak256
from web3sim.engine.translation.calls import call
from web3sim.engine.translation.frame import Frame, execute, push_value
from web3sim.engine.translation.memory import (
    copy_calldata,
    copy_code,
    copy_memory,
    copy_return_data,
    grow,
    pay_words,
)
from web3sim.engine.translation.symbols import MASK, SIGN, WORD

COLD_SLOT, WARM_SLOT = 2100, 100
LOG_TOPIC, LOG_BYTE = 375, 8


# THE STATE


def load(slot: int, gas: int, frame: Frame) -> tuple[int, int]:
    """SLOAD: the value, and the gas left."""
    accounts, address = frame.accounts, frame.storage_address
    if accounts.is_storage_warm(address, slot):
        gas -= WARM_SLOT
    else:
        accounts.mark_storage_warm(address, slot)
        gas -= COLD_SLOT
    if gas < 0:
        raise OutOfGas("Out of gas: SLOAD")
    return accounts.get_storage(address, slot), gas


def store(slot: int, value: int, gas: int, frame: Frame) -> int:
    """SSTORE by EIP-2200, EIP-2929 and EIP-3529. Gives the gas left."""
    if frame.static:
        raise WriteProtection("SSTORE in a static call")
    if gas < frame.state.min_storage_gas:
        raise OutOfGas("Out of gas: SSTORE needs more than the stipend")
    accounts, address = frame.accounts, frame.storage_address
    current = accounts.get_storage(address, slot)
    original = accounts.get_storage(address, slot, from_journal=False)
    price, refund = storage_price(original, current, value)
    gas -= price
    if gas < 0:
        raise OutOfGas("Out of gas: SSTORE")
    if refund:
        frame.meter.refund_gas(refund)
    accounts.set_storage(address, slot, value)
    if not accounts.is_storage_warm(address, slot):
        accounts.mark_storage_warm(address, slot)
        gas -= COLD_SLOT
        if gas < 0:
            raise OutOfGas("Out of gas: SSTORE")
    return gas


def storage_price(original: int, current: int, value: int) -> tuple[int, int]:
    """Return the price of writing a warm slot, and the refund."""
    schedule = GAS_SCHEDULE_EIP3529
    if current == value:
        return schedule.sload_gas, 0
    if original == current:
        if not original:
            return schedule.sstore_set_gas, 0
        return schedule.sstore_reset_gas, 0 if value else schedule.sstore_clears_schedule
    refund = 0
    if original:
        if not current:
            refund -= schedule.sstore_clears_schedule
        if not value:
            refund += schedule.sstore_clears_schedule
    if original == value:
        refund += (schedule.sstore_reset_gas if original else schedule.sstore_set_gas) - schedule.sload_gas
    return schedule.sload_gas, refund


def load_transient(slot: int, frame: Frame) -> int:
    return int.from_bytes(frame.accounts.get_transient_storage(frame.storage_address, slot))


def store_transient(slot: int, value: int, frame: Frame) -> None:
    if frame.static:
        raise WriteProtection("TSTORE in a static call")
    frame.accounts.set_transient_storage(frame.storage_address, slot, value.to_bytes(32))


def log(offset: int, size: int, topics: tuple[int, ...], memory: bytearray, gas: int, frame: Frame) -> int:
    """LOG, whose fixed price has been charged. Gives the gas left."""
    if frame.static:
        raise WriteProtection("LOG in a static call")
    gas -= LOG_BYTE * size + LOG_TOPIC * len(topics)
    if gas < 0:
        raise OutOfGas("Out of gas: LOG")
    if size and len(memory) < offset + size:
        gas = grow(offset + size, memory, gas)
    data = bytes(memory[offset : offset + size])
    frame.computation.add_log_entry(frame.storage_address, topics, data)
    return gas


# THE END


def return_memory(offset: int, size: int, memory: bytearray, gas: int, frame: Frame) -> tuple[int, int]:
    if size and len(memory) < offset + size:
        gas = grow(offset + size, memory, gas)
    frame.computation._output = bytes(memory[offset : offset + size])
    return -1, gas


def revert_with(offset: int, size: int, memory: bytearray, gas: int, frame: Frame) -> tuple[int, int]:
    _, frame.meter.gas_remaining = return_memory(offset, size, memory, gas, frame)
    raise Revert(frame.computation.output)


# SIGNED NUMBERS


def signed(value: int) -> int:
    return value - WORD if value >= SIGN else value


def signed_division(a: int, b: int) -> int:
    if not b:
        return 0
    a, b = signed(a), signed(b)
    quotient = abs(a) // abs(b)
    return (quotient if (a < 0) == (b < 0) else -quotient) & MASK


def signed_remainder(a: int, b: int) -> int:
    if not b:
        return 0
    a, b = signed(a), signed(b)
    return (abs(a) % abs(b) if a >= 0 else -(abs(a) % abs(b))) & MASK


def sign_extended(size: int, value: int) -> int:
    if size > 30:
        return value
    bit = 1 << size * 8 + 7
    return value | (WORD - bit) if value & bit else value & (bit - 1)


def shifted_signed(shift: int, value: int) -> int:
    return signed(value) >> min(shift, 256) & MASK


NAMES: dict[str, Any] = {
    "__builtins__": {"bytes": bytes, "len": len, "pow": pow},
    "M": MASK,
    "N": SIGN,
    "W": WORD,
    "O": OutOfGas,
    "F": int.from_bytes,
    "K": keccak256,
    "X": execute,
    "Q": push_value,
    "G": grow,
    "H": pay_words,
    "CD": copy_calldata,
    "CC": copy_code,
    "CR": copy_return_data,
    "CM": copy_memory,
    "L": load,
    "S": store,
    "TL": load_transient,
    "TS": store_transient,
    "E": log,
    "CA": call,
    "R": return_memory,
    "V": revert_with,
    "SD": signed_division,
    "SM": signed_remainder,
    "SX": sign_extended,
    "SA": shifted_signed,
}


def fold(expression: str) -> int:
    """The value of an expression without locals."""
    return int(eval(expression, NAMES))
