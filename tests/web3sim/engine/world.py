"""What tests of the EVM engines share: a state in memory, and code written as operations."""

from collections.abc import Callable
from dataclasses import dataclass, field

from eth.vm import opcode_values
from eth_typing import Address as canonical

from web3sim.engine.interface import AccountKind, AccountRecord, Address, BlockEnvironment, CallResult
from web3sim.engine.registry import engine
from web3sim.engine.translation.engine import TranslatedEngine

ENGINES = {
    "pyevm": engine("pyevm"),
    "pyevm-blocks": engine("pyevm-blocks"),
    # Translates at once: a case is too short to be translated otherwise.
    "pyevm-blocks, eager": TranslatedEngine(arrivals=0),
}

BLOCK = BlockEnvironment(
    number=1_000,
    timestamp=1_700_000_000,
    coinbase=(98).to_bytes(20, "big"),
    prevrandao=bytes([7]) * 32,
    gas_limit=15_000_000,
    chain_id=298,
)
SENDER, CONTRACT, OTHER, NOBODY = (canonical(bytes([number]) * 20) for number in (0xEE, 0xC0, 0xD0, 0x5F))


def long_zero(number: int) -> Address:
    return number.to_bytes(20, "big")


def code(*operations: str | int | bytes) -> bytes:
    """Operations by name; a number or bytes are pushed, with as few bytes as they need."""
    result = bytearray()
    for operation in operations:
        if isinstance(operation, str):
            result.append(getattr(opcode_values, operation))
        else:
            value = (
                operation
                if isinstance(operation, bytes)
                else operation.to_bytes(max((operation.bit_length() + 7) // 8, 1), "big")
            )
            result += bytes([opcode_values.PUSH1 + len(value) - 1]) + value
    return bytes(result)


def calling(
    to: Address, *, kind: str = "CALL", value: int = 0, gas: int = 1_000_000, data: bytes = b""
) -> tuple[str | int | bytes, ...]:
    """Operations that make a call with up to 32 bytes of data; 1 or 0 is left on the stack."""
    stored = (data.ljust(32, b"\0"), 0, "MSTORE") if data else ()
    with_value = (value,) if kind in ("CALL", "CALLCODE") else ()
    return (*stored, 0, 0, len(data), 0, *with_value, to, gas, kind)


# Ends a frame with the top of the stack as its output.
RETURN_TOP = (0, "MSTORE", 32, 0, "RETURN")


@dataclass
class World:
    """A state in memory; counts how often it is asked."""

    accounts: dict[Address, AccountRecord] = field(default_factory=dict)
    slots: dict[tuple[Address, int], int] = field(default_factory=dict)
    asked: list[object] = field(default_factory=list)

    def account(self, address: Address) -> AccountRecord | None:
        self.asked.append(address)
        return self.accounts.get(address)

    def slot(self, address: Address, slot: int) -> int:
        self.asked.append((address, slot))
        return self.slots.get((address, slot), 0)

    def block_hash(self, number: int) -> bytes:
        self.asked.append(number)
        return number.to_bytes(32, "big")

    def contract(self, address: Address, *operations: str | int | bytes, balance: int = 0) -> None:
        self.accounts[address] = AccountRecord(
            balance=balance, nonce=1, code=code(*operations), kind=AccountKind.CONTRACT
        )


def word(output: bytes) -> int:
    return int.from_bytes(output, "big")


def execution_gas_of(run: Callable[[], CallResult], world: World, *operations: str | int | bytes) -> int:
    """The gas of CONTRACT with this code, without what the message costs."""
    world.contract(CONTRACT, *operations)
    return run().execution_gas


# PRECOMPILED CONTRACTS THAT TAKE LONG: each call takes seconds, or longer than any test.

_PAIR = (
    *(1, 2),
    0x198E9393920D483A7260BFB731FB5D25F1AA493335A9E71297E485B7AEF312C2,
    0x1800DEEF121F1E76426A00665E5C4479674322D4F75EDADD46DEBD5CD992F6ED,
    0x090689D0585FF075EC9E99AD690C3395BC4B313370B38EF355ACDADCD122975B,
    0x12C85EA5DB8C6DEB4AAB71808DCB408FE3D1E7690C43D37B4CE6CC0166FA7DAA,
)
_DOUBLINGS = 12
_STORED_PAIRS = tuple(
    operation for place, number in enumerate(_PAIR) for operation in (number, 32 * place, "MSTORE")
) + tuple(
    operation
    for size in (192 << doubled for doubled in range(_DOUBLINGS))
    for operation in (size, 0, size, "MCOPY")
)
_EXPONENT_SIZE = 2**23


def _static_call(number: int, size: int) -> tuple[str | int | bytes, ...]:
    return 0, 0, size, 0, number, "GAS", "STATICCALL"


LONG_PRECOMPILES: dict[str, tuple[str | int | bytes, ...]] = {
    "pairings": (*_STORED_PAIRS, *_static_call(8, 192 << _DOUBLINGS)),
    "rounds of BLAKE2": (2**256 - 1, 0, "MSTORE", *_static_call(9, 213)),
    "a long exponent": (
        *(1, 0, "MSTORE", _EXPONENT_SIZE, 32, "MSTORE", 16, 64, "MSTORE"),
        *(2**256 - 1, 96, "MSTORE", 2**256 - 1, 97 + _EXPONENT_SIZE, "MSTORE"),
        *_static_call(5, 113 + _EXPONENT_SIZE),
    ),
}
