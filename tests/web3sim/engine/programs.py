"""Random programs for the EVM: most of them sensible (loops, calls, storage), some nonsense; from a seed."""

import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

from eth.vm import opcode_values as op

from tests.web3sim.engine.world import SENDER, World
from web3sim.engine.interface import AccountRecord, CallRequest, Profile, delegation_to
from web3sim.engine.versions import LATEST, V070, V077

SELF, OTHER, THIRD, RICH, MISSING = (bytes([number]) * 20 for number in (0xA1, 0xB2, 0xC3, 0xD4, 0x5F))
COMPILED = Path(__file__).parents[2] / "benchmarks" / "evm_contracts" / "compiled.json"

_INTERESTING = (0, 1, 2, 3, 7, 31, 32, 33, 64, 127, 128, 255, 256, 257, 1023, 2**16, 2**64, 2**128)
_EDGES = (2**255 - 1, 2**255, 2**255 + 1, 2**256 - 1, 2**256 - 2, 2**256 - 32, 2**160 - 1)
_PLAIN_BINARY = (
    op.ADD, op.MUL, op.SUB, op.DIV, op.SDIV, op.MOD, op.SMOD, op.EXP, op.SIGNEXTEND, op.LT, op.GT, op.SLT,
    op.SGT, op.EQ, op.AND, op.OR, op.XOR, op.BYTE, op.SHL, op.SHR, op.SAR,
)  # fmt: skip
_VALUES = (
    op.ADDRESS, op.ORIGIN, op.CALLER, op.CALLVALUE, op.CALLDATASIZE, op.CODESIZE, op.GASPRICE,
    op.RETURNDATASIZE, op.COINBASE, op.TIMESTAMP, op.NUMBER, op.DIFFICULTY, op.GASLIMIT, op.CHAINID,
    op.SELFBALANCE, op.BASEFEE, op.BLOBBASEFEE, op.PC, op.MSIZE, op.GAS,
)  # fmt: skip
_OF_ADDRESS = (op.BALANCE, op.EXTCODESIZE, op.EXTCODEHASH)


def program(seed: int) -> tuple[World, CallRequest]:
    """A world with three contracts, and a call of one of them."""
    choose = random.Random(seed)
    kind = choose.random()
    if kind < 0.8:
        codes = [Writer(choose).code() for _ in range(3)]
    elif kind < 0.95:
        codes = [mutated(choose), Writer(choose).code(), Writer(choose).code()]
    else:
        codes = [nonsense(choose) for _ in range(3)]
    accounts = {
        SENDER: AccountRecord(balance=10**18),
        RICH: AccountRecord(balance=5),
        **{
            address: AccountRecord(balance=choose.choice((0, 1000)), nonce=1, code=code)
            for address, code in zip((SELF, OTHER, THIRD), codes, strict=True)
        },
    }
    slots = {
        (address, slot): choose.choice((1, 2**255, choose.getrandbits(256)))
        for address in (SELF, OTHER, THIRD)
        for slot in choose.sample(range(5), 2)
    }
    creates = choose.random() < 0.08
    version = choose.choice((LATEST, LATEST, V070, V077))
    if version is not LATEST:
        accounts[RICH] = AccountRecord(balance=5, code=delegation_to(choose.choice((OTHER, THIRD, RICH))))
    return World(accounts, slots), CallRequest(
        sender=SENDER,
        to=None if creates else SELF,
        data=codes[0] if creates else call_data(choose),
        gas=choose.choice((25_000, 30_000, 60_000, 150_000, 150_000, 400_000)) + choose.randrange(3_000),
        value=choose.choice((0, 0, 0, 1, 17)),
        gas_price=choose.choice((0, 9)),
        profile=choose.choice((Profile.ETHEREUM, Profile.LEDGER)),
        static=choose.random() < 0.05,
        version=version,
    )


@cache
def _compiled() -> list[tuple[bytes, list[bytes]]]:
    contracts = json.loads(COMPILED.read_text())["contracts"].values()
    return [
        (bytes.fromhex(one["runtime"]), [bytes.fromhex(selector) for selector in one["selectors"].values()])
        for one in contracts
    ]


def call_data(choose: random.Random) -> bytes:
    if choose.random() < 0.3:
        return choose.randbytes(choose.randrange(100))
    selector = choose.choice([one for _, selectors in _compiled() for one in selectors])
    return selector + b"".join(number(choose).to_bytes(32, "big") for _ in range(choose.randrange(3)))


def mutated(choose: random.Random) -> bytes:
    """A compiled contract with a few bytes changed, taken out or put in."""
    code = bytearray(choose.choice(_compiled())[0])
    for _ in range(choose.randrange(4)):
        at, how = choose.randrange(len(code)), choose.random()
        if how < 0.6:
            code[at] = choose.choice((choose.randrange(256), op.JUMPDEST, op.DUP1, op.POP, op.GAS))
        elif how < 0.8:
            del code[at]
        else:
            code[at:at] = choose.randbytes(choose.randrange(1, 4))
    return bytes(code)


def nonsense(choose: random.Random) -> bytes:
    """Bytes at random, more of them small pushes."""
    return b"".join(
        bytes([op.PUSH1, choose.randrange(64)]) if choose.random() < 0.5 else choose.randbytes(1)
        for _ in range(choose.randrange(1, 120))
    )


def number(choose: random.Random) -> int:
    kind = choose.random()
    if kind < 0.6:
        return choose.choice(_INTERESTING)
    return choose.choice(_EDGES) if kind < 0.8 else choose.getrandbits(choose.choice((8, 16, 32, 160, 256)))


class Writer:
    """Writes code that mostly keeps its stack in order: `height` is what it believes to have there."""

    def __init__(self, choose: random.Random):
        self.choose = choose
        self.out = bytearray()
        self.height = 0
        self.depth = 0
        # Positions of two bytes that a label's position goes to.
        self.references: list[tuple[int, int]] = []
        self.labels: dict[int, int] = {}
        self.functions: list[tuple[int, int]] = []

    def code(self) -> bytes:
        for _ in range(self.choose.randrange(2, 14)):
            self.statement()
        self.end()
        for label, height in self.functions:
            self.place(label)
            self.height, self.depth = height, 3
            for _ in range(self.choose.randrange(1, 4)):
                self.statement()
            self.level(height)
            self.emit(op.JUMP)
        for at, label in self.references:
            self.out[at : at + 2] = self.labels.get(label, 0xFFFF).to_bytes(2, "big")
        return bytes(self.out)

    # PIECES

    def emit(self, *operations: int) -> None:
        self.out += bytes(operations)

    def push(self, value: int) -> None:
        size = max((value.bit_length() + 7) // 8, self.choose.choice((0, 0, 1, 1, 2, 20, 32)) if value else 0)
        self.emit(op.PUSH0 + size)
        self.out += value.to_bytes(size, "big")
        self.height += 1

    def push_label(self, label: int) -> None:
        self.emit(op.PUSH2)
        self.references.append((len(self.out), label))
        self.emit(0, 0)
        self.height += 1
        if self.choose.random() < 0.02:
            # Known only at run time; wrong where the call has a value.
            self.emit(op.CALLVALUE, op.ADD)

    def place(self, label: int) -> None:
        self.labels[label] = len(self.out)
        self.emit(op.JUMPDEST)

    def label(self) -> int:
        return self.choose.getrandbits(64)

    def need(self, count: int) -> None:
        while self.height < count or self.choose.random() < 0.2:
            self.push(number(self.choose))

    def offset(self) -> None:
        """Mostly where memory is cheap."""
        kind = self.choose.random()
        if kind < 0.85:
            self.push(self.choose.choice((0, 1, 31, 32, 33, 64, 96, 128, self.choose.randrange(300))))
        elif kind < 0.97 and self.height:
            self.emit(op.DUP1)
            self.height += 1
            self.push(255)
            self.emit(op.AND)
            self.height -= 1
        else:
            self.push(number(self.choose))

    def level(self, height: int) -> None:
        while self.height > height:
            self.emit(op.POP)
            self.height -= 1
        while self.height < height:
            self.push(number(self.choose))

    def statement(self) -> None:
        choices: list[tuple[int, Callable[[], None]]] = [
            (8, self.binary), (3, self.ternary), (4, self.unary), (5, self.value), (5, self.shuffle),
            (7, self.memory), (6, self.storage), (3, self.hash), (3, self.copy), (2, self.log),
            (2, self.look), (2, self.odd),
        ]  # fmt: skip
        if self.depth < 3:
            choices += [
                (4, self.loop),
                (5, self.branch),
                (4, self.function),
                (4, self.call),
                (1, self.create),
            ]
        self.choose.choices([one for _, one in choices], [weight for weight, _ in choices])[0]()

    # STATEMENTS

    def binary(self) -> None:
        self.need(2)
        if self.choose.random() < 0.05:
            self.push(2)
            self.emit(op.EXP)
        else:
            self.emit(self.choose.choice(_PLAIN_BINARY))
        self.height -= 1

    def ternary(self) -> None:
        self.need(3)
        self.emit(self.choose.choice((op.ADDMOD, op.MULMOD)))
        self.height -= 2

    def unary(self) -> None:
        self.need(1)
        self.emit(self.choose.choice((op.ISZERO, op.ISZERO, op.NOT, op.CALLDATALOAD)))

    def value(self) -> None:
        self.emit(self.choose.choice(_VALUES))
        self.height += 1

    def shuffle(self) -> None:
        self.need(2)
        depth = self.choose.randrange(min(self.height, 16))
        if self.choose.random() < 0.5:
            self.emit(op.DUP1 + depth)
            self.height += 1
        elif depth:
            self.emit(op.SWAP1 + depth - 1)
        else:
            self.emit(op.POP)
            self.height -= 1

    def memory(self) -> None:
        kind = self.choose.random()
        if kind < 0.45:
            self.need(1)
            self.offset()
            self.emit(self.choose.choice((op.MSTORE, op.MSTORE, op.MSTORE8)))
            self.height -= 2
        else:
            self.offset()
            self.emit(op.MLOAD)

    def storage(self) -> None:
        load, store = self.choose.choice(
            ((op.SLOAD, op.SSTORE), (op.SLOAD, op.SSTORE), (op.TLOAD, op.TSTORE))
        )
        if store == op.SSTORE and self.choose.random() < 0.3:
            slot = self.choose.randrange(5)
            for _ in range(self.choose.randrange(1, 4)):
                self.push(self.choose.choice((0, 0, 1, 2, 2**255)))
                self.push(slot)
                self.emit(store)
                self.height -= 2
        elif self.choose.random() < 0.5:
            self.need(1)
            self.push(self.choose.randrange(5))
            self.emit(store)
            self.height -= 2
        else:
            self.push(self.choose.randrange(5))
            self.emit(load)

    def hash(self) -> None:
        self.size()
        self.offset()
        self.emit(op.SHA3)
        self.height -= 1

    def size(self) -> None:
        if self.choose.random() < 0.15:
            self.emit(self.choose.choice((op.CALLDATASIZE, op.MSIZE)))
            self.height += 1
            return
        self.push(self.choose.choice((0, 0, 1, 31, 32, 33, 64, 64, 100)))

    def copy(self) -> None:
        operation = self.choose.choice((op.CALLDATACOPY, op.CODECOPY, op.RETURNDATACOPY, op.MCOPY))
        if operation == op.RETURNDATACOPY and self.choose.random() < 0.7:
            self.emit(op.RETURNDATASIZE, op.PUSH0)
            self.height += 2
        else:
            self.size()
            self.offset()
        self.offset()
        self.emit(operation)
        self.height -= 3

    def log(self) -> None:
        topics = self.choose.randrange(5)
        self.need(topics)
        self.size()
        self.offset()
        self.emit(op.LOG0 + topics)
        self.height -= topics + 2

    def address(self) -> None:
        known = (SELF, OTHER, THIRD, RICH, MISSING, SENDER)
        if self.choose.random() < 0.75:
            self.push(int.from_bytes(self.choose.choice(known), "big"))
        else:
            self.push(self.choose.choice((1, 2, 3, 4, 5, 6, 9, 10, 98, 0x167, 800, 1001)))

    def look(self) -> None:
        self.address()
        kind = self.choose.random()
        if kind < 0.7:
            self.emit(self.choose.choice(_OF_ADDRESS))
        elif kind < 0.85:
            self.emit(op.BLOCKHASH)
        else:
            self.emit(op.POP)
            self.size()
            self.offset()
            self.offset()
            self.address()
            self.emit(op.EXTCODECOPY)
            self.height -= 5

    def odd(self) -> None:
        """What breaks rules, most of the time."""
        kind = self.choose.random()
        if kind < 0.05:
            # Grows the stack until it is full, or the gas gone.
            label = self.label()
            self.place(label)
            self.emit(self.choose.choice((op.MSIZE, op.TIMESTAMP, op.CALLVALUE)), op.GAS)
            self.push_label(label)
            self.emit(op.JUMPI)
            self.height -= 1
        elif kind < 0.3:
            self.emit(op.PUSH0 + self.choose.randrange(1, 33))
            self.out += self.choose.randbytes(self.choose.randrange(3))
        elif kind < 0.5:
            self.emit(self.choose.randrange(256))
        elif kind < 0.7:
            self.push(self.choose.randrange(len(self.out) + 20))
            self.emit(op.JUMP)
            self.height -= 1
        else:
            self.emit(self.choose.choice((op.SWAP16, op.DUP16, op.BLOBHASH, op.ADDMOD)))

    def loop(self) -> None:
        """So many rounds, counted on the stack; the body leaves the stack as high as it found it."""
        if self.choose.random() < 0.5:
            self.loop_that_asks_first()
            return
        label = self.label()
        self.push(self.choose.choice((1, 2, 3, 10, 40)))
        self.place(label)
        height = self.height
        self.body(height)
        self.push(1)
        self.emit(op.SWAP1, op.SUB, op.DUP1)
        self.push_label(label)
        self.emit(op.JUMPI)
        self.height = height

    def loop_that_asks_first(self) -> None:
        """The same as compilers write it; values below the counter may change places in each round."""
        head, end = self.label(), self.label()
        self.need(2)
        self.push(self.choose.choice((1, 2, 3, 10, 40)))
        height = self.height
        self.place(head)
        self.emit(op.DUP1, op.ISZERO)
        self.height += 1
        self.push_label(end)
        self.emit(op.JUMPI)
        self.height = height
        self.body(height)
        if self.choose.random() < 0.3:
            self.emit(op.SWAP1, op.SWAP2, op.SWAP1)
        self.push(1)
        self.emit(op.SWAP1, op.SUB)
        self.push_label(head)
        self.emit(op.JUMP)
        self.place(end)
        self.height = height

    def body(self, height: int) -> None:
        self.depth += 1
        for _ in range(self.choose.randrange(1, 5)):
            self.statement()
        self.depth -= 1
        self.level(height)

    def branch(self) -> None:
        label = self.label()
        self.need(1)
        self.push_label(label)
        self.emit(op.JUMPI)
        self.height -= 2
        self.body(self.height)
        self.place(label)

    def function(self) -> None:
        """A jump to code that jumps back to where the stack says."""
        if self.functions and self.choose.random() < 0.6:
            target, height = self.choose.choice(self.functions)
        else:
            target, height = self.label(), self.choose.randrange(1, 4)
            self.functions.append((target, height))
        back, before = self.label(), self.height
        self.level(before)
        self.push_label(back)
        for _ in range(height - 1):
            self.push(number(self.choose))
        if height > 1:
            # The way back lies on top when the function ends.
            self.emit(op.SWAP1 + height - 2)
        self.push_label(target)
        self.emit(op.JUMP)
        self.place(back)
        self.height = before + height - 1

    def call(self) -> None:
        kind = self.choose.choice((op.CALL, op.CALL, op.STATICCALL, op.DELEGATECALL, op.CALLCODE))
        self.size()
        self.offset()
        self.size()
        self.offset()
        if kind in (op.CALL, op.CALLCODE):
            self.push(self.choose.choice((0, 0, 0, 1, 2000)))
            self.height -= 1
        self.address()
        if self.choose.random() < 0.5:
            self.emit(op.GAS)
        else:
            self.push(self.choose.choice((0, 2300, 5000, 20_000, 100_000)))
            self.height -= 1
        self.emit(kind)
        self.height -= 4

    def create(self) -> None:
        """Init code of at most 32 bytes, by a word in memory."""
        init = bytes(
            [
                op.PUSH1,
                42,
                op.PUSH1,
                1,
                op.SSTORE,
                op.PUSH1,
                9,
                op.PUSH1,
                self.choose.randrange(64),
                op.RETURN,
            ]
        )
        word = init if self.choose.random() < 0.8 else self.choose.randbytes(12)
        self.push(int.from_bytes(word.ljust(32, b"\0"), "big"))
        self.emit(op.PUSH0, op.MSTORE)
        self.height -= 1
        if two := self.choose.random() < 0.5:
            self.push(self.choose.randrange(2))
        self.push(len(word))
        self.push(0)
        self.push(self.choose.choice((0, 0, 1)))
        self.emit(op.CREATE2 if two else op.CREATE)
        self.height -= 3 if two else 2

    def end(self) -> None:
        kind = self.choose.random()
        if kind < 0.7:
            # Show what is on the stack and in memory.
            for place in range(min(self.height, 4)):
                self.push(32 * place)
                self.emit(op.MSTORE)
                self.height -= 2
            self.push(self.choose.choice((0, 32, 128, 200)))
            self.push(0)
            self.emit(op.RETURN)
        elif kind < 0.85:
            self.push(64)
            self.push(0)
            self.emit(op.REVERT)
        elif kind < 0.9:
            self.address()
            self.emit(op.SELFDESTRUCT)
        else:
            self.emit(self.choose.choice((op.STOP, 0xFE)))
