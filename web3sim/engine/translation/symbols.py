"""Values of the stack while a trace is translated, and the Python expressions of pure operations on them.

Expressions hold only numbers, names of locals that are assigned once, and the names that
`translation.runtime` provides: M (2**256 - 1), N (2**255), W (2**256) and a few functions. A symbol's `high`
is the largest value it can have; where a result can't leave 256 bits it isn't masked.
"""

from collections.abc import Callable
from dataclasses import dataclass

from eth.vm import opcode_values as op

MASK = 2**256 - 1
SIGN = 2**255
WORD = 2**256

_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


@dataclass(frozen=True, slots=True)
class Test:
    """A condition: a comparison, or with an empty right side whether the left one is zero or not."""

    left: str
    operator: str
    right: str = "0"

    def opposite(self) -> "Test":
        return Test(self.left, _OPPOSITE[self.operator], self.right)

    def __str__(self) -> str:
        if self.right != "0" or self.operator not in ("==", "!="):
            return f"{self.left} {self.operator} {self.right}"
        return self.left if self.operator == "!=" else f"not {self.left}"


@dataclass(slots=True)
class Symbol:
    """A value: a constant, a local, or a test not yet stored as 0 or 1. `text` is an operand as it stands."""

    text: str
    high: int = MASK
    constant: int | None = None
    test: Test | None = None


@dataclass(frozen=True, slots=True)
class Expression:
    text: str
    high: int = MASK


Result = Symbol | Expression | Test


def constant(value: int) -> Symbol:
    return Symbol(literal(value), value, value)


def literal(value: int) -> str:
    return str(value) if value < 1000 else hex(value)


def _power_of_two(value: int | None) -> int | None:
    """The exponent, when it is one."""
    return value.bit_length() - 1 if value and not value & (value - 1) else None


def _filled(value: int) -> int:
    """The largest number with as many bits."""
    return (1 << value.bit_length()) - 1


def _masked(text: str, high: int) -> Expression:
    """Return an expression with this largest value, masked if that is beyond a word."""
    return Expression(text, high) if high <= MASK else Expression(f"({text}) & M")


# ARITHMETIC


def _add(a: Symbol, b: Symbol) -> Result:
    if a.constant == 0 or b.constant == 0:
        return b if a.constant == 0 else a
    return _masked(f"{a.text} + {b.text}", a.high + b.high)


def _sub(a: Symbol, b: Symbol) -> Result:
    if b.constant == 0:
        return a
    if a.constant is not None and b.high <= a.constant:
        return Expression(f"{a.text} - {b.text}", a.constant)
    return Expression(f"({a.text} - {b.text}) & M")


def _div(a: Symbol, b: Symbol) -> Result:
    if b.constant == 0:
        return constant(0)
    if (shift := _power_of_two(b.constant)) is not None:
        return Expression(f"{a.text} >> {shift}", a.high >> shift)
    if b.constant is not None:
        return Expression(f"{a.text} // {b.text}", a.high // b.constant)
    return Expression(f"{a.text} // {b.text} if {b.text} else 0", a.high)


def _mod(a: Symbol, b: Symbol) -> Result:
    if b.constant == 0:
        return constant(0)
    if _power_of_two(b.constant) is not None and b.constant is not None:
        return Expression(f"{a.text} & {literal(b.constant - 1)}", b.constant - 1)
    if b.constant is not None:
        return Expression(f"{a.text} % {b.text}", b.constant - 1)
    return Expression(f"{a.text} % {b.text} if {b.text} else 0", b.high)


# COMPARISON


def _signed(operator: str) -> Callable[[Symbol, Symbol], Result]:
    def compare(a: Symbol, b: Symbol) -> Result:
        if a.high < SIGN and b.high < SIGN:
            return Test(a.text, operator, b.text)
        return Test(_flipped(a), operator, _flipped(b))

    return compare


def _flipped(a: Symbol) -> str:
    """Two's complement numbers compare as their unsigned values do with the sign bit inverted."""
    return literal(a.constant ^ SIGN) if a.constant is not None else f"({a.text} ^ N)"


def _eq(a: Symbol, b: Symbol) -> Result:
    if a.constant == 0:
        return Test(b.text, "==")
    return Test(a.text, "==", b.text)


def _iszero(a: Symbol) -> Result:
    return a.test.opposite() if a.test else Test(a.text, "==")


# BITS


def _and(a: Symbol, b: Symbol) -> Result:
    for mask, value in ((a, b), (b, a)):
        known = mask.constant
        if known is not None and known & (known + 1) == 0 and value.high <= known:
            return value
    return Expression(f"{a.text} & {b.text}", min(a.high, b.high))


def _or(a: Symbol, b: Symbol) -> Result:
    if a.constant == 0 or b.constant == 0:
        return b if a.constant == 0 else a
    return Expression(f"{a.text} | {b.text}", _filled(a.high | b.high))


def _byte(position: Symbol, a: Symbol) -> Result:
    if position.constant is None:
        return Expression(f"{a.text} >> 248 - 8 * {position.text} & 255 if {position.text} < 32 else 0", 255)
    if position.constant > 31:
        return constant(0)
    return Expression(f"{a.text} >> {248 - 8 * position.constant} & 255", 255)


def _shl(shift: Symbol, a: Symbol) -> Result:
    if shift.constant is None:
        return Expression(f"({a.text} << {shift.text}) & M if {shift.text} < 256 else 0")
    if shift.constant > 255:
        return constant(0)
    return _masked(f"{a.text} << {shift.constant}", a.high << shift.constant)


def _shr(shift: Symbol, a: Symbol) -> Result:
    if shift.constant is None:
        return Expression(f"{a.text} >> {shift.text} if {shift.text} < 256 else 0", a.high)
    if shift.constant > 255:
        return constant(0)
    return Expression(f"{a.text} >> {shift.constant}", a.high >> shift.constant)


def _sar(shift: Symbol, a: Symbol) -> Result:
    return _shr(shift, a) if a.high < SIGN else Expression(f"SA({shift.text}, {a.text})")


def _signextend(size: Symbol, a: Symbol) -> Result:
    if size.constant is not None and size.constant > 30:
        return a
    return Expression(f"SX({size.text}, {a.text})")


# The first argument is the top of the stack.
PURE: dict[int, Callable[..., Result]] = {
    op.ADD: _add,
    op.MUL: lambda a, b: _masked(f"{a.text} * {b.text}", a.high * b.high),
    op.SUB: _sub,
    op.DIV: _div,
    op.SDIV: lambda a, b: Expression(f"SD({a.text}, {b.text})"),
    op.MOD: _mod,
    op.SMOD: lambda a, b: Expression(f"SM({a.text}, {b.text})"),
    op.ADDMOD: lambda a, b, c: Expression(f"({a.text} + {b.text}) % {c.text} if {c.text} else 0", c.high),
    op.MULMOD: lambda a, b, c: Expression(f"{a.text} * {b.text} % {c.text} if {c.text} else 0", c.high),
    op.SIGNEXTEND: _signextend,
    op.LT: lambda a, b: Test(a.text, "<", b.text),
    op.GT: lambda a, b: Test(a.text, ">", b.text),
    op.SLT: _signed("<"),
    op.SGT: _signed(">"),
    op.EQ: _eq,
    op.ISZERO: _iszero,
    op.AND: _and,
    op.OR: _or,
    op.XOR: lambda a, b: Expression(f"{a.text} ^ {b.text}", _filled(a.high | b.high)),
    op.NOT: lambda a: Expression(f"{a.text} ^ M"),
    op.BYTE: _byte,
    op.SHL: _shl,
    op.SHR: _shr,
    op.SAR: _sar,
}
