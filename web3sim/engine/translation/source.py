"""From code to Python source: one function per trace.

A trace is straight code from one entry: it continues through jumps whose target is known, and on the branch
of a conditional jump that was taken last; the other branch leaves. The stack is symbolic: it is read when a
value is first needed, and written where the trace is left. A trace that comes back to its own entry with as
many values on the stack becomes a loop with these in locals. It ends at a computed jump, where another loop
begins that has a trace, and, when it is long, at any jump back.

Gas is charged per segment, which ends where the gas, or an effect, is visible (storage, logs, leaving).
Within a segment it makes no difference which instruction runs out of gas: the halt takes everything. All
other failures (stack bounds, bad jumps, unknown operations) are left to the interpreter, which continues in
front of the instruction.

The functions have the signature `f(s, m, g, x)`: stack, memory, gas left, frame; they return the next
position and the gas left.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field

from eth.vm import opcode_values as op

from web3sim.engine.translation.frame import STACK_LIMIT
from web3sim.engine.translation.instructions import ARITY, Instructions, pushed
from web3sim.engine.translation.runtime import fold
from web3sim.engine.translation.symbols import MASK, PURE, Expression, Symbol, Test, constant, literal
from web3sim.engine.translation.writer import Loop, Writer, valued

# A trace ends after so many instructions or characters: what one translation can cost is bounded.
INSTRUCTION_LIMIT, CHARACTER_LIMIT = 400, 8_000
# A trace of so many instructions ends at a jump back.
LOOP_LIMIT = 100
WORD_BYTES, _HASH_WORD = 32, 6

# What is the same throughout a frame, read once per trace; and lengths, which grow.
CONSTANTS = {
    op.ADDRESS: Expression("F(x.storage_address)", 2**160 - 1),
    op.CALLER: Expression("F(x.message.sender)", 2**160 - 1),
    op.CALLVALUE: Expression("x.message.value"),
    op.CALLDATASIZE: Expression("x.size", 2**64),
}
_LENGTHS = {
    op.RETURNDATASIZE: Expression("len(x.computation.return_data)", 2**64),
    op.MSIZE: Expression("len(m)", 2**64),
}
_CALLS = (op.CALL, op.CALLCODE, op.DELEGATECALL, op.STATICCALL)
_COPIES = {op.CALLDATACOPY: "CD", op.CODECOPY: "CC", op.RETURNDATACOPY: "CR", op.MCOPY: "CM"}


@dataclass
class CodeProfile:
    """The facts about a code that translation uses: `taken` says which way a conditional jump went last.

    Jumps back to positions in `traced` end a trace, since others begin there; with `short` it ends at all of
    them, and at conditional jumps, so that hardly anything is translated twice.
    """

    raw: bytes
    instructions: Instructions
    destinations: frozenset[int]
    taken: Mapping[int, bool] = field(default_factory=dict)
    traced: Container[int] = ()
    short: bool = False


def trace_source(code: CodeProfile, start: int) -> str:
    """The source of the trace that starts at a position."""
    first = _Trace(code, start, None)
    first.translate()
    if first.loop is None:
        return first.source()
    second = _Trace(code, start, first.loop)
    second.translate()
    return second.source()


class _Trace(Writer):
    def __init__(self, code: CodeProfile, start: int, repeats: Loop | None):
        super().__init__(start, repeats)
        self.code = code
        # What is known of memory: words at constant offsets, and its least length; and of the frame.
        self.words: dict[int, Symbol] = {}
        self.length = 0
        self.constants: dict[int, Symbol] = {}

    # INSTRUCTIONS

    def translate(self) -> None:
        raw, instructions = self.code.raw, self.code.instructions
        position: int | None = self.start
        seen: set[int] = set()
        short, traced = self.code.short, self.code.traced
        previous = -1
        for count in range(INSTRUCTION_LIMIT):
            if position is None:
                return None
            if position in seen or self.characters > CHARACTER_LIMIT:
                break
            if position != self.start:
                if (short or position <= previous) and position in traced:
                    break
                if position <= previous and count > LOOP_LIMIT:
                    break
            previous = position
            if position >= len(raw):
                return self.end("-1, g")
            code = raw[position]
            if code == op.JUMPDEST or position == self.start:
                seen.add(position)
            if code in instructions.direct:
                self.pay(instructions.prices[code])
                position = self._direct(position, code)
            elif code in instructions.constant:
                self.pay(instructions.prices[code])
                self.room = STACK_LIMIT - 1
                self.push(Expression(f"Q({code}, x)"))
                position += 1
            elif code in instructions.supported:
                return self.end(f"X({position}, x, g)")
            else:
                self.close_segment()
                return self.leave_to_interpreter(position, self.symbols, 0)
        if position is not None:
            self.leave(position)
        return None

    def _direct(self, position: int, code: int) -> int | None:
        """Translate one instruction; return where the trace continues, None where it ends."""
        if op.PUSH0 <= code <= op.PUSH32:
            size = code - op.PUSH0
            self.push(constant(pushed(self.code.raw, position, size)))
            return position + 1 + size
        if code in PURE:
            self._pure(code)
        elif op.DUP1 <= code <= op.DUP16:
            self.require(code - op.DUP1 + 1)
            self.push(self.symbols[op.DUP1 - code - 1])
        elif op.SWAP1 <= code <= op.SWAP16:
            self.require(code - op.SWAP1 + 2)
            other = op.SWAP1 - code - 2
            self.symbols[-1], self.symbols[other] = self.symbols[other], self.symbols[-1]
        elif code == op.POP:
            self.require(1)
            self.symbols.pop()
        elif code == op.JUMP:
            return self._jump(position)
        elif code == op.JUMPI:
            return self._jump_if(position)
        elif code in _ENDS:
            self._finish(code)
            return None
        elif code in CONSTANTS:
            if code not in self.constants:
                self.push(CONSTANTS[code])
                self.constants[code] = self.symbols.pop()
            self.push(self.constants[code])
        elif code in (op.CODESIZE, op.PC):
            self.push(constant(position if code == op.PC else len(self.code.raw)))
        elif code in _LENGTHS:
            self.push(_LENGTHS[code])
        elif op.LOG0 <= code <= op.LOG4:
            self._log(code - op.LOG0)
        elif code in _COPIES:
            self._copy(code)
        elif code in _CALLS:
            self._call(code)
        else:
            _OTHERS[code](self, position)
        return position + 1

    def _pure(self, code: int) -> None:
        operation = PURE[code]
        if code == op.ISZERO:
            # The one operation that takes a test as it is.
            self.require(1)
            operands = [self.symbols.pop()]
            if not operands[0].test:
                self.settle(operands[0])
        else:
            operands = self.pop(ARITY[code][0])
        result = operation(*operands)
        if isinstance(result, Symbol):
            self.push(result)
        elif all(operand.constant is not None for operand in operands):
            self.push(constant(fold(valued(result))))
        else:
            self.push(result)

    # JUMPS

    def _jump(self, position: int) -> int | None:
        (target,) = self.pop()
        price = self.code.instructions.prices[op.JUMP]
        symbols = [*self.symbols, target]
        if target.constant in self.code.destinations:
            return target.constant
        self.close_segment()
        if target.constant is None:
            self.emit(f"if {target.text} in D:")
            self.return_to(self.flush(self.symbols), f"{target.text}, g", " ")
        self.leave_to_interpreter(position, symbols, price)
        return None

    def _jump_if(self, position: int) -> int | None:
        self.require(2)
        (target,) = self.pop()
        condition = self.symbols.pop()
        price = self.code.instructions.prices[op.JUMPI]
        valid = target.constant in self.code.destinations
        # Where nothing is known, a jump back is a loop's.
        backward = target.constant is not None and target.constant <= position
        if condition.constant is not None:
            if not condition.constant:
                return position + 1
            if valid:
                return target.constant
        self.close_segment()
        test = condition.test or Test(condition.text, "!=")
        if not valid:
            # Computed, or wrong: that way isn't known, so the trace ends with the other.
            self.emit(f"if {test}:")
            if target.constant is None:
                self.emit(f" if {target.text} in D:")
                self.return_to(self.flush(self.symbols), f"{target.text}, g", "  ")
            self.leave_to_interpreter(position, [*self.symbols, condition, target], price, " ")
            self.return_to(self.flush(self.symbols), f"{position + 1}, g")
            return None
        if self.code.taken.get(position, backward):
            self.emit(f"if {test.opposite()}:")
            self.return_to(self.flush(self.symbols), f"{position + 1}, g", " ")
            return self._after_branch(target.constant)
        self.emit(f"if {test}:")
        self.return_to(self.flush(self.symbols), f"{target.constant}, g", " ")
        return self._after_branch(position + 1)

    def _after_branch(self, position: int | None) -> int | None:
        if not self.code.short or position is None or position == self.start:
            return position
        self.leave(position)
        return None

    def _finish(self, code: int) -> None:
        if code == op.STOP:
            self.end("-1, g")
        else:
            offset, size = self.pop(2)
            function = "R" if code == op.RETURN else "V"
            self.end(f"{function}({offset.text}, {size.text}, m, g, x)")

    # MEMORY

    def _touch(self, offset: Symbol, size: int) -> str:
        """Have the bytes at an offset, and say which slice they are."""
        if offset.constant is not None:
            end = offset.constant + size
            if end > self.length:
                self.emit(f"if len(m) < {end}: g = G({end}, m, g)")
                self.length = (end + WORD_BYTES - 1) // WORD_BYTES * WORD_BYTES
            return f"{offset.text}:{literal(end)}"
        end_name = self.local(f"{offset.text} + {size}")
        self.emit(f"if len(m) < {end_name}: g = G({end_name}, m, g)")
        return f"{offset.text}:{end_name}"

    def _invalidate(self, offset: Symbol, size: int) -> None:
        """Bytes at an offset are overwritten."""
        first = offset.constant
        if first is None:
            self.words.clear()
        else:
            for known in [word for word in self.words if first - WORD_BYTES < word < first + size]:
                del self.words[known]

    def _mload(self, position: int) -> None:
        (offset,) = self.pop()
        if offset.constant is not None and offset.constant in self.words:
            return self.push(self.words[offset.constant])
        self.push(Expression(f"F(m[{self._touch(offset, WORD_BYTES)}])"))
        if offset.constant is not None:
            self.words[offset.constant] = self.symbols[-1]
        return None

    def _mstore(self, position: int) -> None:
        offset, value = self.pop(2)
        where = self._touch(offset, WORD_BYTES)
        self.emit(f"m[{where}] = ({value.text}).to_bytes({WORD_BYTES})")
        self._invalidate(offset, WORD_BYTES)
        if offset.constant is not None:
            self.words[offset.constant] = value

    def _mstore8(self, position: int) -> None:
        offset, value = self.pop(2)
        self._touch(offset, 1)
        self.emit(f"m[{offset.text}] = {value.text} & 255")
        self._invalidate(offset, 1)

    def _sha3(self, position: int) -> None:
        offset, size = self.pop(2)
        if size.constant == 0:
            where = "0:0"
        elif size.constant is not None:
            self.pay(_HASH_WORD * ((size.constant + WORD_BYTES - 1) // WORD_BYTES))
            where = self._touch(offset, size.constant)
        else:
            self.emit(f"g = H({offset.text}, {size.text}, {_HASH_WORD}, m, g)")
            where = f"{offset.text}:{offset.text} + {size.text}"
        self.push(Expression(f"F(K(bytes(m[{where}])))"))

    def _copy(self, code: int) -> None:
        to, source, size = self.pop(3)
        if code == op.RETURNDATACOPY:
            # Bytes that aren't there halt the frame, which is not the same as being out of gas.
            self.close_segment()
        self.emit(f"g = {_COPIES[code]}({to.text}, {source.text}, {size.text}, m, g, x)")
        if size.constant is None:
            self.words.clear()
        elif size.constant:
            self._invalidate(to, size.constant)

    def _log(self, topics: int) -> None:
        offset, size, *words = self.pop(topics + 2)
        listed = "".join(f"{word.text}, " for word in words)
        self.close_segment()
        self.emit(f"g = E({offset.text}, {size.text}, ({listed}), m, g, x)")

    def _call(self, code: int) -> None:
        gas, to, *value, start, size, out, room = (symbol.text for symbol in self.pop(ARITY[code][0]))
        places = f"({start}, {size}, {out}, {room})"
        self.close_segment()
        self._push_with_gas(f"CA({code}, ({gas}, {to}, {value[0] if value else 0}), {places}, g, x)", 1)
        self.words.clear()

    def _push_with_gas(self, text: str, high: int = MASK) -> None:
        """Push the first value of an expression, whose second one is the gas left."""
        self.locals += 1
        self.emit(f"t{self.locals}, g = {text}")
        self.push(Symbol(f"t{self.locals}", high))

    # STATE, AND THE REST

    def _calldataload(self, position: int) -> None:
        (offset,) = self.pop()
        end = str(offset.constant + WORD_BYTES) if offset.constant is not None else f"{offset.text} + 32"
        self.push(Expression(f"F(x.data[{offset.text}:{end}])"))

    def _sload(self, position: int) -> None:
        (slot,) = self.pop()
        self.close_segment()
        self._push_with_gas(f"L({slot.text}, g, x)")

    def _sstore(self, position: int) -> None:
        slot, value = self.pop(2)
        self.close_segment()
        self.emit(f"g = S({slot.text}, {value.text}, g, x)")

    def _tload(self, position: int) -> None:
        (slot,) = self.pop()
        self.push(Expression(f"TL({slot.text}, x)"))

    def _tstore(self, position: int) -> None:
        slot, value = self.pop(2)
        self.close_segment()
        self.emit(f"TS({slot.text}, {value.text}, x)")

    def _exp(self, position: int) -> None:
        base, exponent = self.pop(2)
        if exponent.constant is None:
            self.emit(f"g -= ({exponent.text}.bit_length() + 7 >> 3) * 50")
            self.emit("if g < 0: raise O")
        else:
            self.pay((exponent.constant.bit_length() + 7) // 8 * 50)
        text = f"pow({base.text}, {exponent.text}, W)"
        if base.constant is not None and exponent.constant is not None:
            self.push(constant(fold(text)))
        elif base.constant == 2:
            self.push(Expression(f"1 << {exponent.text} if {exponent.text} < 256 else 0"))
        else:
            self.push(Expression(text))

    def _gas(self, position: int) -> None:
        self.close_segment()
        self.push(Expression("g"))

    def _jumpdest(self, position: int) -> None:
        pass


_ENDS = frozenset((op.STOP, op.RETURN, op.REVERT))
_OTHERS = {
    op.MLOAD: _Trace._mload,
    op.MSTORE: _Trace._mstore,
    op.MSTORE8: _Trace._mstore8,
    op.SHA3: _Trace._sha3,
    op.CALLDATALOAD: _Trace._calldataload,
    op.SLOAD: _Trace._sload,
    op.SSTORE: _Trace._sstore,
    op.TLOAD: _Trace._tload,
    op.TSTORE: _Trace._tstore,
    op.EXP: _Trace._exp,
    op.GAS: _Trace._gas,
    op.JUMPDEST: _Trace._jumpdest,
}
