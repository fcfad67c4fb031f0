"""Blocks: straight code that is run before it is translated, by one function for each operation.

A block begins with at most one JUMPDEST, or is a row of them. It ends before another one, or with an
operation that isn't only about the stack. Its gas and its bounds of the stack are checked once: where they
don't hold, one of its operations halts the frame, and the library's own find out which.

The functions have the signature `f(s, g, x)`: stack, gas left when the block began, frame.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from eth.vm import opcode_values as op

from web3sim.engine.translation.frame import STACK_LIMIT, Frame
from web3sim.engine.translation.instructions import ARITY, Instructions, pushed
from web3sim.engine.translation.runtime import NAMES
from web3sim.engine.translation.source import CONSTANTS
from web3sim.engine.translation.symbols import PURE, Symbol
from web3sim.engine.translation.writer import valued

Function = Callable[[list[int], int, Frame], object]

# A block ends after so many operations: what decoding it can cost is bounded.
_MAX_OPERATIONS = 256


class CodeBlock(NamedTuple):
    """It can run with `min_stack` to `max_stack` values on the stack, for `price`.

    `ending` is the operation at `end`: JUMP or JUMPI, which are part of the block; JUMPDEST where another
    block, or nothing, follows; None for an operation of the library. A jump's `target` is None if it is on
    the stack.
    """

    price: int
    min_stack: int
    max_stack: int
    functions: list[Function]
    end: int
    ending: int | None
    target: int | None


def block_at(raw: bytes, position: int, instructions: Instructions) -> CodeBlock:
    functions: list[Function] = []
    price = min_stack = height = growth = count = 0
    ending: int | None = op.JUMPDEST
    pushed_last: int | None = None
    while position < len(raw) and count < _MAX_OPERATIONS:
        code = raw[position]
        is_target = code == op.JUMPDEST
        if code not in instructions.direct or code not in _SIMPLE:
            ending = None
            break
        # A row of JUMPDESTs is a block of its own: those that begin at each of them share no functions.
        if functions if is_target else count > 1 and not functions:
            break
        count += 1
        pops, pushes = ARITY[code]
        # Not by max(), which takes a quarter of the time.
        if pops - height > min_stack:
            min_stack = pops - height
        height += pushes - pops
        if height > growth:
            growth = height
        price += instructions.prices[code]
        if code in (op.JUMP, op.JUMPI):
            ending = code
            if pushed_last is not None:
                functions.pop()
            break
        if op.PUSH0 <= code <= op.PUSH32:
            pushed_last = pushed(raw, position, code - op.PUSH0)
            functions.append(_pushing(pushed_last))
            position += code - op.PUSH0 + 1
            continue
        if code == op.GAS:
            functions.append(_pushing_gas(price))
        elif code in (op.PC, op.CODESIZE):
            functions.append(_pushing(position if code == op.PC else len(raw)))
        elif not is_target:
            functions.append(_FUNCTIONS[code])
        pushed_last = None
        position += 1
    return CodeBlock(price, min_stack, STACK_LIMIT - growth, functions, position, ending, pushed_last)


def _pushing(value: int) -> Function:
    return lambda s, g, x: s.append(value)


def _pushing_gas(spent: int) -> Function:
    return lambda s, g, x: s.append(g - spent)


def _function(*lines: str) -> Function:
    made: dict[str, Any] = {}
    exec("\n ".join(("def f(s, g, x):", *lines)), NAMES, made)
    function: Function = made["f"]
    return function


def _replacing(arity: int, text: str) -> Function:
    """Put a value in the place of operands, which are named by letters, the top first."""
    *others, last = list("abc"[:arity])
    return _function(*(f"{name} = s.pop()" for name in others), f"{last} = s[-1]", f"s[-1] = {text}")


def _pure(code: int) -> Function:
    arity = ARITY[code][0]
    return _replacing(arity, valued(PURE[code](*map(Symbol, "abc"[:arity]))))


_FUNCTIONS: dict[int, Function] = {
    **{code: _pure(code) for code in PURE},
    **{code: _function(f"s.append({value.text})") for code, value in CONSTANTS.items()},
    **{op.DUP1 + depth: _function(f"s.append(s[-{depth + 1}])") for depth in range(16)},
    **{
        op.SWAP1 + depth: _function(f"s[-1], s[-{depth + 2}] = s[-{depth + 2}], s[-1]") for depth in range(16)
    },
    op.POP: _function("s.pop()"),
    op.CALLDATALOAD: _replacing(1, "F(x.data[a:a + 32])"),
}
_SIMPLE = frozenset(
    (*_FUNCTIONS, *range(op.PUSH0, op.PUSH32 + 1), op.GAS, op.PC, op.CODESIZE, op.JUMPDEST, op.JUMP, op.JUMPI)
)
