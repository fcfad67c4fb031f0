"""From code to Python source: one function per trace.

A trace is straight code from one entry: it goes on through jumps whose target is known, and at a conditional
jump the way that was taken last; the other way leaves. Meanwhile the stack is symbolic: it is read when a
value is first needed, and written where the trace is left. A trace that comes back to its own entry with as
many values on the stack becomes a loop that keeps them in locals.

Gas is charged per segment: a segment ends where somebody could see the gas, or see that anything happened
(storage, logs, leaving). Inside of one it doesn't matter which of its instructions runs out of gas: the halt
takes everything. Whatever else is wrong (stack bounds, bad jumps, unknown operations) is left to the
library's own operations, which go on in front of the instruction in question.

The functions have the signature `f(s, m, g, x)`: stack, memory, gas left, frame; they give the next position
and the gas left.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from eth.vm import opcode_values as op

from web3sim.engine.translation_code import ARITY, Instructions, pushed
from web3sim.engine.translation_runtime import STACK_LIMIT, fold
from web3sim.engine.translation_symbols import MASK, PURE, Expression, Result, Symbol, Test, constant, literal

# A trace ends after so many instructions or characters: what one translation can cost is bounded.
INSTRUCTION_LIMIT, CHARACTER_LIMIT = 400, 8_000
WORD_BYTES = 32

# What is the same throughout a frame, read once per trace; and lengths, which grow.
_CONSTANTS = {
    op.ADDRESS: Expression("F(x.storage_address)", 2**160 - 1),
    op.CALLER: Expression("F(x.message.sender)", 2**160 - 1),
    op.CALLVALUE: Expression("x.message.value"),
    op.CALLDATASIZE: Expression("x.size", 2**64),
}
_LENGTHS = {
    op.RETURNDATASIZE: Expression("len(x.computation.return_data)", 2**64),
    op.MSIZE: Expression("len(m)", 2**64),
}
_COPIES = {op.CALLDATACOPY: "CD", op.CODECOPY: "CC", op.RETURNDATACOPY: "CR", op.MCOPY: "CM"}


@dataclass(frozen=True)
class Loop:
    """How deep a trace that repeats looks into the stack, and which places (from the top, 1) it changes."""

    depth: int
    changed: frozenset[int]


@dataclass
class Code:
    """What there is to know of a code: `taken` says which way a conditional jump went last."""

    raw: bytes
    instructions: Instructions
    destinations: frozenset[int]
    taken: Mapping[int, bool] = field(default_factory=dict)


def trace_source(code: Code, start: int) -> str:
    """The source of the trace that starts at a position."""
    first = _Trace(code, start, None)
    first.translate()
    if first.loop is None:
        return first.source()
    second = _Trace(code, start, first.loop)
    second.translate()
    return second.source()


class _Trace:
    def __init__(self, code: Code, start: int, repeats: Loop | None):
        self.code, self.start, self.repeats = code, start, repeats
        self.loop: Loop | None = None
        self.lines: list[str] = []
        self.characters = 0
        self.locals = 0
        # The symbolic stack: its lowest `depth` symbols stood for the uppermost places on entry.
        self.symbols: list[Symbol] = []
        self.entries: list[Symbol] = []
        self.depth = 0
        self.growth = 0
        self.room = STACK_LIMIT
        # The segment being charged: where, and how much so far.
        self.charged_at: int | None = None
        self.cost = 0
        # What is known of memory: words at constant offsets, and its least length.
        self.words: dict[int, Symbol] = {}
        self.constants: dict[int, Symbol] = {}
        self.length = 0
        if repeats:
            self._reach(repeats.depth)

    # THE STACK

    def _reach(self, depth: int) -> None:
        """Have the symbols of at least so many places of the stack on entry."""
        while self.depth < depth:
            self.depth += 1
            symbol = Symbol(f"i{self.depth}")
            self.entries.append(symbol)
            self.symbols.insert(0, symbol)
            if not self.repeats:
                self._emit(f"i{self.depth} = s[-{self.depth}]")

    def _pop(self, count: int = 1) -> list[Symbol]:
        """The uppermost symbols, the top first; each an operand that can be written as it stands."""
        self._want(count)
        taken = self.symbols[: -count - 1 : -1]
        del self.symbols[-count:]
        for symbol in taken:
            self._settle(symbol)
        return taken

    def _want(self, count: int) -> None:
        if (missing := count - len(self.symbols)) > 0:
            self._reach(self.depth + missing)

    def _settle(self, symbol: Symbol) -> None:
        """Store a test as 0 or 1, where it's not used as a test."""
        if symbol.test and not symbol.text:
            symbol.text = self._local(str(_valued(symbol.test)))

    def _push(self, result: Result) -> None:
        if isinstance(result, Test):
            result = Symbol("", 1, None, result)
        elif isinstance(result, Expression):
            result = Symbol(self._local(result.text), min(result.high, MASK))
        self.symbols.append(result)
        self.growth = max(self.growth, len(self.symbols) - self.depth)

    def _local(self, text: str) -> str:
        self.locals += 1
        name = f"t{self.locals}"
        self._emit(f"{name} = {text}")
        return name

    def _flush(self, symbols: list[Symbol]) -> list[str]:
        """Lines that make the stack what the symbols say."""
        kept = 0
        while kept < min(len(symbols), self.depth) and self._stands(symbols, kept):
            kept += 1
        drop, new = self.depth - kept, symbols[kept:]
        values = [symbol.text or str(_valued(symbol.test)) for symbol in new]
        if not drop:
            return (
                [f"s += {', '.join(values)},"] if len(new) > 1 else [f"s.append({text})" for text in values]
            )
        if not new:
            return [f"del s[-{drop}:]"]
        if len(new) != drop:
            return [f"s[-{drop}:] = {', '.join(values)},"]
        places = [place for place in range(drop) if not self._stands(symbols, kept + place)]
        if len(places) > 2:
            return [f"s[-{drop}:] = {', '.join(values)},"]
        return [f"s[-{drop - place}] = {values[place]}" for place in places]

    def _stands(self, symbols: list[Symbol], index: int) -> bool:
        """Whether the stack itself already holds the symbol at this index."""
        place = self.depth - index
        changed = self.repeats.changed if self.repeats else frozenset()
        return symbols[index] is self.entries[place - 1] and place not in changed

    # LINES AND GAS

    def _emit(self, line: str) -> None:
        self.lines.append(line)
        self.characters += len(line)

    def _pay(self, price: int) -> None:
        """Add to what the segment costs; the first price opens it here."""
        if not price:
            return
        if self.charged_at is None:
            self.charged_at, self.cost = len(self.lines), 0
            self.lines.append("")
        self.cost += price

    def _close_segment(self) -> None:
        """Charge what has been added up, where the segment began."""
        if self.charged_at is not None:
            self.lines[self.charged_at] = f"g -= {self.cost}\nif g < 0: raise O"
            self.charged_at = None

    def _return(self, lines: list[str], result: str, indent: str = "") -> None:
        for line in (*lines, f"return {result}"):
            self._emit(indent + line)

    def _leave(self, position: int) -> None:
        """End the trace: it goes on at a position, which may be its own entry."""
        self._close_segment()
        level = len(self.symbols) == self.depth
        if position == self.start and level and self.repeats:
            moved = [
                (entry.text, symbol.text or str(_valued(symbol.test)))
                for entry, symbol in zip(reversed(self.entries), self.symbols, strict=True)
                if symbol is not entry
            ]
            if moved:
                names, values = zip(*moved, strict=True)
                self._emit(f"{', '.join(names)} = {', '.join(values)}")
            return
        if position == self.start and level:
            places = zip(range(self.depth, 0, -1), reversed(self.entries), self.symbols, strict=True)
            self.loop = Loop(self.depth, frozenset(place for place, entry, now in places if now is not entry))
        self._return(self._flush(self.symbols), f"{position}, g")

    def _leave_to_library(self, position: int, symbols: list[Symbol], paid: int, indent: str = "") -> None:
        """Let the library's loop run on from an instruction whose price has already been charged."""
        self._return(self._flush(symbols), f"P({position}, s, m, g + {paid}, x)", indent)

    def source(self) -> str:
        lines = [line for text in self.lines for line in text.split("\n") if line]
        head = [" n = len(s)"] if self.depth or self.growth else []
        bounds = f"{self.depth} <= n <= {min(self.room, STACK_LIMIT - self.growth)}"
        if head:
            head.append(f" if not {bounds}: return P({self.start}, s, m, g, x)")
        if not self.repeats:
            return "\n".join(["def f(s, m, g, x):", *head, *(" " + line for line in lines)])
        head += [f" i{place} = s[-{place}]" for place in range(1, self.depth + 1)]
        tail = [f" s[-{place}] = i{place}" for place in sorted(self.repeats.changed)]
        body = ["  " + line for line in lines]
        tail.append(f" return {self.start}, g")
        return "\n".join(["def f(s, m, g, x):", *head, " while g >= x.checkpoint:", *body, *tail])

    # INSTRUCTIONS

    def translate(self) -> None:
        raw, instructions = self.code.raw, self.code.instructions
        position: int | None = self.start
        seen: set[int] = set()
        for _ in range(INSTRUCTION_LIMIT):
            if position is None:
                return None
            if position in seen or self.characters > CHARACTER_LIMIT:
                break
            if position >= len(raw):
                return self._end("-1, g")
            code = raw[position]
            if code == op.JUMPDEST or position == self.start:
                seen.add(position)
            if code in instructions.direct:
                self._pay(instructions.prices[code])
                position = self._direct(position, code)
            elif code in instructions.asked:
                self._pay(instructions.prices[code])
                self.room = STACK_LIMIT - 1
                self._push(Expression(f"Q({code}, x)"))
                position += 1
            elif code in instructions.table:
                return self._end(f"X({position}, x, g)")
            else:
                self._close_segment()
                return self._leave_to_library(position, self.symbols, 0)
        if position is not None:
            self._leave(position)
        return None

    def _end(self, result: str) -> None:
        self._close_segment()
        self._return(self._flush(self.symbols), result)

    def _direct(self, position: int, code: int) -> int | None:
        """Translate one instruction; gives where the trace goes on, None where it ends."""
        if op.PUSH0 <= code <= op.PUSH32:
            size = code - op.PUSH0
            self._push(constant(pushed(self.code.raw, position, size)))
            return position + 1 + size
        if code in PURE:
            self._pure(code)
        elif op.DUP1 <= code <= op.DUP16:
            self._want(code - op.DUP1 + 1)
            self._push(self.symbols[op.DUP1 - code - 1])
        elif op.SWAP1 <= code <= op.SWAP16:
            self._want(code - op.SWAP1 + 2)
            other = op.SWAP1 - code - 2
            self.symbols[-1], self.symbols[other] = self.symbols[other], self.symbols[-1]
        elif code == op.POP:
            self._want(1)
            self.symbols.pop()
        elif code == op.JUMP:
            return self._jump(position)
        elif code == op.JUMPI:
            return self._jump_if(position)
        elif code in _ENDS:
            self._finish(code)
            return None
        elif code in _CONSTANTS:
            if code not in self.constants:
                self._push(_CONSTANTS[code])
                self.constants[code] = self.symbols.pop()
            self._push(self.constants[code])
        elif code in _LENGTHS:
            self._push(_LENGTHS[code])
        elif op.LOG0 <= code <= op.LOG4:
            self._log(code - op.LOG0)
        elif code in _COPIES:
            self._copy(code)
        else:
            _OTHERS[code](self, position)
        return position + 1

    def _pure(self, code: int) -> None:
        operation = PURE[code]
        if code == op.ISZERO:
            # The one operation that takes a test as it is.
            self._want(1)
            operands = [self.symbols.pop()]
            if not operands[0].test:
                self._settle(operands[0])
        else:
            operands = self._pop(ARITY[code][0])
        result = operation(*operands)
        if isinstance(result, Symbol):
            self._push(result)
        elif all(operand.constant is not None for operand in operands):
            self._push(constant(fold(str(_valued(result)))))
        else:
            self._push(result)

    # JUMPS

    def _jump(self, position: int) -> int | None:
        (target,) = self._pop()
        price = self.code.instructions.prices[op.JUMP]
        before = [*self.symbols, target]
        if target.constant in self.code.destinations:
            return target.constant
        self._close_segment()
        if target.constant is None:
            self._emit(f"if {target.text} in D:")
            self._return(self._flush(self.symbols), f"{target.text}, g", " ")
        self._leave_to_library(position, before, price)
        return None

    def _jump_if(self, position: int) -> int | None:
        self._want(2)
        (target,) = self._pop()
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
            self._close_segment()
            self._leave_if(target, position, [*self.symbols, condition, target], price, "")
            return None
        self._close_segment()
        test = condition.test or Test(condition.text, "!=")
        if valid and self.code.taken.get(position, backward):
            self._emit(f"if {test.opposite()}:")
            self._return(self._flush(self.symbols), f"{position + 1}, g", " ")
            return target.constant
        self._emit(f"if {test}:")
        if valid:
            self._return(self._flush(self.symbols), f"{target.constant}, g", " ")
        else:
            self._leave_if(target, position, [*self.symbols, condition, target], price, " ")
        return position + 1

    def _leave_if(self, target: Symbol, position: int, before: list[Symbol], price: int, indent: str) -> None:
        """Jump to where the stack says, if one can."""
        if target.constant is None:
            self._emit(f"{indent}if {target.text} in D:")
            self._return(self._flush(self.symbols), f"{target.text}, g", indent + " ")
        self._leave_to_library(position, before, price, indent)

    def _finish(self, code: int) -> None:
        if code == op.STOP:
            self._end("-1, g")
        else:
            offset, size = self._pop(2)
            function = "R" if code == op.RETURN else "V"
            self._end(f"{function}({offset.text}, {size.text}, m, g, x)")

    # MEMORY

    def _touch(self, offset: Symbol, size: int) -> str:
        """Have the bytes at an offset, and say which slice they are."""
        if offset.constant is not None:
            end = offset.constant + size
            if end > self.length:
                self._emit(f"if len(m) < {end}: g = G({end}, m, g)")
                self.length = (end + WORD_BYTES - 1) // WORD_BYTES * WORD_BYTES
            return f"{offset.text}:{literal(end)}"
        end_name = self._local(f"{offset.text} + {size}")
        self._emit(f"if len(m) < {end_name}: g = G({end_name}, m, g)")
        return f"{offset.text}:{end_name}"

    def _forget(self, offset: Symbol, size: int) -> None:
        """Bytes at an offset are overwritten."""
        first = offset.constant
        if first is None:
            self.words.clear()
        else:
            for known in [word for word in self.words if first - WORD_BYTES < word < first + size]:
                del self.words[known]

    def _mload(self, position: int) -> None:
        (offset,) = self._pop()
        if offset.constant is not None and offset.constant in self.words:
            return self._push(self.words[offset.constant])
        self._push(Expression(f"F(m[{self._touch(offset, WORD_BYTES)}])"))
        if offset.constant is not None:
            self.words[offset.constant] = self.symbols[-1]
        return None

    def _mstore(self, position: int) -> None:
        offset, value = self._pop(2)
        where = self._touch(offset, WORD_BYTES)
        self._emit(f"m[{where}] = ({value.text}).to_bytes({WORD_BYTES})")
        self._forget(offset, WORD_BYTES)
        if offset.constant is not None:
            self.words[offset.constant] = value

    def _mstore8(self, position: int) -> None:
        offset, value = self._pop(2)
        self._touch(offset, 1)
        self._emit(f"m[{offset.text}] = {value.text} & 255")
        self._forget(offset, 1)

    def _sha3(self, position: int) -> None:
        offset, size = self._pop(2)
        if size.constant == 0:
            where = "0:0"
        elif size.constant is not None:
            self._pay(6 * ((size.constant + WORD_BYTES - 1) // WORD_BYTES))
            where = self._touch(offset, size.constant)
        else:
            self._emit(f"g = H({offset.text}, {size.text}, m, g)")
            where = f"{offset.text}:{offset.text} + {size.text}"
        self._push(Expression(f"F(K(m[{where}]).digest())"))

    def _copy(self, code: int) -> None:
        to, source, size = self._pop(3)
        if code == op.RETURNDATACOPY:
            # Bytes that aren't there halt the frame, which is not the same as being out of gas.
            self._close_segment()
        self._emit(f"g = {_COPIES[code]}({to.text}, {source.text}, {size.text}, m, g, x)")
        if size.constant is None:
            self.words.clear()
        elif size.constant:
            self._forget(to, size.constant)

    def _log(self, topics: int) -> None:
        offset, size, *words = self._pop(topics + 2)
        listed = "".join(f"{word.text}, " for word in words)
        self._close_segment()
        self._emit(f"g = E({offset.text}, {size.text}, ({listed}), m, g, x)")

    # STATE, AND THE REST

    def _calldataload(self, position: int) -> None:
        (offset,) = self._pop()
        end = str(offset.constant + WORD_BYTES) if offset.constant is not None else f"{offset.text} + 32"
        self._push(Expression(f"F(x.data[{offset.text}:{end}])"))

    def _sload(self, position: int) -> None:
        (slot,) = self._pop()
        self._close_segment()
        self.locals += 1
        name = f"t{self.locals}"
        self._emit(f"{name}, g = L({slot.text}, g, x)")
        self._push(Symbol(name))

    def _sstore(self, position: int) -> None:
        slot, value = self._pop(2)
        self._close_segment()
        self._emit(f"g = S({slot.text}, {value.text}, g, x)")

    def _tload(self, position: int) -> None:
        (slot,) = self._pop()
        self._push(Expression(f"TL({slot.text}, x)"))

    def _tstore(self, position: int) -> None:
        slot, value = self._pop(2)
        self._close_segment()
        self._emit(f"TS({slot.text}, {value.text}, x)")

    def _exp(self, position: int) -> None:
        base, exponent = self._pop(2)
        if exponent.constant is None:
            self._emit(f"g -= ({exponent.text}.bit_length() + 7 >> 3) * 50")
            self._emit("if g < 0: raise O")
        else:
            self._pay((exponent.constant.bit_length() + 7) // 8 * 50)
        text = f"pow({base.text}, {exponent.text}, W)"
        if base.constant is not None and exponent.constant is not None:
            self._push(constant(fold(text)))
        elif base.constant == 2:
            self._push(Expression(f"1 << {exponent.text} if {exponent.text} < 256 else 0"))
        else:
            self._push(Expression(text))

    def _gas(self, position: int) -> None:
        self._close_segment()
        self._push(Expression("g"))

    def _codesize(self, position: int) -> None:
        self._push(constant(len(self.code.raw)))

    def _pc(self, position: int) -> None:
        self._push(constant(position))

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
    op.CODESIZE: _Trace._codesize,
    op.PC: _Trace._pc,
    op.JUMPDEST: _Trace._jumpdest,
}


def _valued(result: Test | Expression | None) -> str:
    """A pure result as an expression."""
    if isinstance(result, Test):
        return f"(1 if {result} else 0)"
    return result.text if result else ""
