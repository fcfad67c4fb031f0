"""The lines of a trace: its symbolic stack, its locals, what it charges, and how it's left."""

from dataclasses import dataclass

from web3sim.engine.translation.frame import STACK_LIMIT
from web3sim.engine.translation.symbols import MASK, Expression, Result, Symbol, Test


@dataclass(frozen=True)
class Loop:
    """A trace that repeats: how deep it reads the stack, and which places (from the top, 1) it changes."""

    depth: int
    changed: frozenset[int]


class Writer:
    """The lines of one trace, and what is known of the stack and the gas where they have come to."""

    def __init__(self, start: int, repeats: Loop | None):
        self.start, self.repeats = start, repeats
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
        if repeats:
            self.extend_to(repeats.depth)

    # THE STACK

    def extend_to(self, depth: int) -> None:
        """Have the symbols of at least so many places of the stack on entry."""
        while self.depth < depth:
            self.depth += 1
            symbol = Symbol(f"i{self.depth}")
            self.entries.append(symbol)
            self.symbols.insert(0, symbol)
            if not self.repeats:
                self.emit(f"i{self.depth} = s[-{self.depth}]")

    def pop(self, count: int = 1) -> list[Symbol]:
        """The uppermost symbols, the top first; each an operand that can be written as it stands."""
        self.require(count)
        taken = self.symbols[: -count - 1 : -1]
        del self.symbols[-count:]
        for symbol in taken:
            self.settle(symbol)
        return taken

    def require(self, count: int) -> None:
        if (missing := count - len(self.symbols)) > 0:
            self.extend_to(self.depth + missing)

    def settle(self, symbol: Symbol) -> None:
        """Store a test as 0 or 1, where it's not used as a test."""
        if symbol.test and not symbol.text:
            symbol.text = self.local(valued(symbol.test))

    def push(self, result: Result) -> None:
        if isinstance(result, Test):
            result = Symbol("", 1, None, result)
        elif isinstance(result, Expression):
            result = Symbol(self.local(result.text), min(result.high, MASK))
        self.symbols.append(result)
        self.growth = max(self.growth, len(self.symbols) - self.depth)

    def local(self, text: str) -> str:
        self.locals += 1
        name = f"t{self.locals}"
        self.emit(f"{name} = {text}")
        return name

    def flush(self, symbols: list[Symbol]) -> list[str]:
        """Lines that make the stack what the symbols say."""
        unchanged = 0
        while unchanged < min(len(symbols), self.depth) and self._is_unchanged(symbols, unchanged):
            unchanged += 1
        dropped, new = self.depth - unchanged, symbols[unchanged:]
        values = [valued(symbol) for symbol in new]
        if not dropped:
            if len(new) > 1:
                return [f"s += {', '.join(values)},"]
            return [f"s.append({text})" for text in values]
        if not new:
            return [f"del s[-{dropped}:]"]
        if len(new) != dropped:
            return [f"s[-{dropped}:] = {', '.join(values)},"]
        indexes = [index for index in range(dropped) if not self._is_unchanged(symbols, unchanged + index)]
        if len(indexes) > 2:
            return [f"s[-{dropped}:] = {', '.join(values)},"]
        return [f"s[-{dropped - index}] = {values[index]}" for index in indexes]

    def _is_unchanged(self, symbols: list[Symbol], index: int) -> bool:
        """Return whether the stack itself already holds the symbol at this index."""
        position = self.depth - index
        changed = self.repeats.changed if self.repeats else frozenset()
        return symbols[index] is self.entries[position - 1] and position not in changed

    # LINES AND GAS

    def emit(self, line: str) -> None:
        self.lines.append(line)
        self.characters += len(line)

    def pay(self, price: int) -> None:
        """Add to what the segment costs; the first price opens it here."""
        if not price:
            return
        if self.charged_at is None:
            self.charged_at, self.cost = len(self.lines), 0
            self.lines.append("")
        self.cost += price

    def close_segment(self) -> None:
        """Charge what has been added up, where the segment began."""
        if self.charged_at is not None:
            self.lines[self.charged_at] = f"g -= {self.cost}\nif g < 0: raise O"
            self.charged_at = None

    def return_to(self, lines: list[str], result: str, indent: str = "") -> None:
        for line in (*lines, f"return {result}"):
            self.emit(indent + line)

    def leave(self, position: int) -> None:
        """End the trace: it continues at a position, which may be its own entry."""
        self.close_segment()
        level = len(self.symbols) == self.depth
        if position == self.start and level and self.repeats:
            changed_symbols = [
                (entry.text, valued(symbol))
                for entry, symbol in zip(reversed(self.entries), self.symbols, strict=True)
                if symbol is not entry
            ]
            if changed_symbols:
                names, values = zip(*changed_symbols, strict=True)
                self.emit(f"{', '.join(names)} = {', '.join(values)}")
            return
        if position == self.start and level:
            items = zip(range(self.depth, 0, -1), reversed(self.entries), self.symbols, strict=True)
            self.loop = Loop(self.depth, frozenset(index for index, entry, now in items if now is not entry))
        self.return_to(self.flush(self.symbols), f"{position}, g")

    def leave_to_interpreter(self, position: int, symbols: list[Symbol], paid: int, indent: str = "") -> None:
        """Let the program interpret on from an instruction whose price has already been charged."""
        self.return_to(self.flush(symbols), f"x.interpret({position}, s, m, g + {paid}, x)", indent)

    def source(self) -> str:
        lines = [line for text in self.lines for line in text.split("\n") if line]
        head = [" n = len(s)"] if self.depth or self.growth else []
        bounds = f"{self.depth} <= n <= {min(self.room, STACK_LIMIT - self.growth)}"
        if head:
            head.append(f" if not {bounds}: return x.interpret({self.start}, s, m, g, x)")
        if not self.repeats:
            return "\n".join(["def f(s, m, g, x):", *head, *(" " + line for line in lines)])
        head += [f" i{index} = s[-{index}]" for index in range(1, self.depth + 1)]
        tail = [f" s[-{index}] = i{index}" for index in sorted(self.repeats.changed)]
        body = ["  " + line for line in lines]
        tail.append(f" return {self.start}, g")
        return "\n".join(["def f(s, m, g, x):", *head, " while g >= x.checkpoint:", *body, *tail])

    def end(self, result: str) -> None:
        self.close_segment()
        self.return_to(self.flush(self.symbols), result)


def valued(result: Result) -> str:
    """A result as an expression."""
    if isinstance(result, Symbol) and result.test and not result.text:
        result = result.test
    return f"(1 if {result} else 0)" if isinstance(result, Test) else result.text
