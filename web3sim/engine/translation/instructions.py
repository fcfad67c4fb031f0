"""The operations that the translator knows by heart, and what they cost.

An operation is known by heart ("direct") only where the computation's table of opcodes has the very function
of plain Cancun, or a ledger's SSTORE and calls, which differ by limits of the state: whatever else a ledger's
rules replace is called as it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eth.vm import opcode_values as op
from eth.vm.logic.invalid import InvalidOpcode

from web3sim.engine.computation import EngineComputation
from web3sim.engine.ledger.ledger_operations import LEDGER_OPERATIONS, CheckedCall

# What an operation takes from the stack and leaves there.
ARITY: dict[int, tuple[int, int]] = {
    op.STOP: (0, 0),
    **dict.fromkeys((op.ISZERO, op.NOT, op.CALLDATALOAD, op.MLOAD, op.SLOAD, op.TLOAD), (1, 1)),
    **dict.fromkeys(
        (op.ADD, op.MUL, op.SUB, op.DIV, op.SDIV, op.MOD, op.SMOD, op.EXP, op.SIGNEXTEND), (2, 1)
    ),
    **dict.fromkeys((op.LT, op.GT, op.SLT, op.SGT, op.EQ, op.AND, op.OR, op.XOR, op.BYTE), (2, 1)),
    **dict.fromkeys((op.SHL, op.SHR, op.SAR, op.SHA3), (2, 1)),
    **dict.fromkeys((op.ADDMOD, op.MULMOD), (3, 1)),
    **dict.fromkeys((op.ADDRESS, op.CALLER, op.CALLVALUE, op.CALLDATASIZE, op.CODESIZE), (0, 1)),
    **dict.fromkeys((op.RETURNDATASIZE, op.PC, op.MSIZE, op.GAS), (0, 1)),
    **dict.fromkeys((op.CALLDATACOPY, op.CODECOPY, op.RETURNDATACOPY, op.MCOPY), (3, 0)),
    **dict.fromkeys((op.MSTORE, op.MSTORE8, op.SSTORE, op.TSTORE, op.RETURN, op.REVERT, op.JUMPI), (2, 0)),
    **dict.fromkeys((op.POP, op.JUMP), (1, 0)),
    op.JUMPDEST: (0, 0),
    **{op.PUSH0 + size: (0, 1) for size in range(33)},
    **{op.DUP1 + depth: (depth + 1, depth + 2) for depth in range(16)},
    **{op.SWAP1 + depth: (depth + 2, depth + 2) for depth in range(16)},
    **{op.LOG0 + topics: (topics + 2, 0) for topics in range(5)},
    **dict.fromkeys((op.CALL, op.CALLCODE), (7, 1)),
    **dict.fromkeys((op.DELEGATECALL, op.STATICCALL), (6, 1)),
}

# Operations that only push one value and cost a fixed price; their function is called, whatever rules apply.
CONSTANT = frozenset(
    (op.ORIGIN, op.GASPRICE, op.COINBASE, op.TIMESTAMP, op.NUMBER, op.DIFFICULTY, op.GASLIMIT)
    + (op.CHAINID, op.SELFBALANCE, op.BASEFEE, op.BLOBBASEFEE, op.ADDRESS, op.CALLER, op.CALLVALUE)
)


@dataclass(frozen=True)
class Instructions:
    """A computation's opcodes: a function for each byte, the direct and the constant ones, fixed prices."""

    functions: Sequence[Any]
    supported: frozenset[int]
    direct: frozenset[int]
    constant: frozenset[int]
    prices: Mapping[int, int]

    @classmethod
    def from_table(cls, table: Mapping[int, Any]) -> "Instructions":
        direct = frozenset(code for code in ARITY if code in table and _unchanged(table[code], code))
        constant = frozenset(code for code in CONSTANT if hasattr(table.get(code), "logic_fn")) - direct
        prices = {code: table[code].gas_cost for code in direct | constant}
        functions = [table.get(code) or InvalidOpcode(code) for code in range(256)]
        return cls(functions, frozenset(table), direct, constant, prices)


def _unchanged(opcode: Any, code: int) -> bool:
    known: Any = EngineComputation.opcodes[code]
    if isinstance(opcode, CheckedCall) or opcode is LEDGER_OPERATIONS.get(op.SSTORE):
        return True
    return opcode is known or (
        getattr(opcode, "logic_fn", None) is known.logic_fn and opcode.gas_cost == known.gas_cost
    )


def pushed(code: bytes, position: int, size: int) -> int:
    """The value of a push instruction; beyond the end of the code are zeros."""
    return int.from_bytes(code[position + 1 : position + 1 + size].ljust(size, b"\0"), "big")
