"""Code that costs an EVM more than its gas pays for: the traps of `tests.benchmarks.evm`."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.web3sim.engine.world import code
from web3sim.engine.interface import AccountRecord, Address

SENDER, CONTRACT, CALLEE = (bytes([number]) * 20 for number in (0xAA, 0xC0, 0xCA))
CODE_LIMIT, INIT_CODE_LIMIT = 24 * 1024, 48 * 1024
MEGABYTE = 2**20


@dataclass
class Trap:
    """A call of code as it stands; `runs` is how often it's measured. It may end without gas."""

    name: str
    code: bytes
    gas: int = 15_000_000
    runs: int = 3
    others: dict[Address, bytes] = field(default_factory=dict)

    data = b""

    def __post_init__(self) -> None:
        codes = {CONTRACT: self.code, **self.others}
        self.accounts = {address: AccountRecord(nonce=1, code=each) for address, each in codes.items()}
        self.accounts[SENDER] = AccountRecord(balance=10**18)
        self.slots: dict[Address, dict[int, int]] = {}

    def account(self, address: Address) -> AccountRecord | None:
        return self.accounts.get(address)

    def slot(self, address: Address, slot: int) -> int:
        return 0

    def block_hash(self, number: int) -> bytes:
        return bytes(32)


def traps() -> list[Trap]:
    return [*_of_translation(), *_of_calls()]


def _of_translation() -> list[Trap]:
    values = code(*["GAS"] * 12)
    return [
        Trap(
            "computed jumps, none taken",
            rounds(40, values + code("GAS", "CALLVALUE", "CALLDATASIZE", "JUMPI") * 250 + code("POP") * 262),
        ),
        Trap("a loop of 600", rounds(2_000, code("GAS", 3, "ADD", "POP") * 149)),
        Trap("a loop of 600 with branches", rounds(400, _branches(75))),
        Trap("loops in loops", _nested(6, 6)),
        Trap("24 KiB of hops, 50,000 gas", _hops(260, CODE_LIMIT), gas=71_000, runs=9),
        Trap("24 KiB of hops, 600,000 gas", _hops(520, CODE_LIMIT), gas=621_000),
        Trap("24 KiB of paths", rounds(60, _branches(1_800), size=3), gas=3_000_000),
        Trap("creating with 48 KiB of hops", _creating(_hops(520, INIT_CODE_LIMIT)), gas=4_000_000),
        Trap("creating with 48 KiB of targets", _creating(b"\0".rjust(INIT_CODE_LIMIT, b"\x5b"))),
        Trap("creating with 48 KiB, no jump", _creating(b"\0" * INIT_CODE_LIMIT)),
    ]


def _of_calls() -> list[Trap]:
    small = {CALLEE: code(1, 0, "MSTORE", 32, 0, "RETURN")}
    points = code(1, 0, "MSTORE", 2, 32, "MSTORE", 1, 64, "MSTORE", 2, 96, "MSTORE")
    numbers = code(1, 31, "MSTORE8", 1, 63, "MSTORE8", 1, 95, "MSTORE8", 0x030507 << 232, 96, "MSTORE")
    return [
        Trap(
            "calls with 1 MB of input",
            rounds(
                2_000,
                code(0, 0, MEGABYTE, 0, 0, CALLEE, 0xFFFF, "CALL", "POP"),
                code(0, MEGABYTE - 1, "MSTORE8"),
            ),
            others={CALLEE: code(0, "CALLDATALOAD", "POP", "STOP")},
        ),
        Trap("small calls", rounds(5_000, _call(CALLEE, "CALL", 32)), others=small),
        Trap("small static calls", rounds(5_000, _call(CALLEE, "STATICCALL", 32)), others=small),
        Trap("small delegate calls", rounds(5_000, _call(CALLEE, "DELEGATECALL", 32)), others=small),
        Trap("calls of nobody", rounds(5_000, _call(CALLEE, "CALL", 0))),
        Trap("additions on bn128", rounds(5_000, _call(6, "STATICCALL", 128), points)),
        Trap("small powers", rounds(5_000, _call(5, "STATICCALL", 99), numbers)),
        Trap("copies by precompile 4", rounds(5_000, _call(4, "STATICCALL", 32))),
    ]


# CODE


def rounds(count: int, body: bytes | Callable[[int], bytes], before: bytes = b"", size: int = 2) -> bytes:
    """The body so many times; it may depend on where it stands. The counter lies below what it pushes."""
    head = before + code(count, "JUMPDEST")
    start = len(head) - 1
    inner = body if isinstance(body, bytes) else body(len(head))
    return head + inner + code(1, "SWAP1", "SUB", "DUP1", start.to_bytes(size), "JUMPI", "STOP")


def _call(to: Address | int, kind: str, size: int) -> bytes:
    value = (0,) if kind == "CALL" else ()
    return code(32, 128, size, 0, *value, to, 0xFFFF, kind, "POP")


def _branches(count: int) -> Callable[[int], bytes]:
    """Each is taken or not as bits of the counter say."""

    def body(start: int) -> bytes:
        result = b""
        for number in range(count):
            target = start + len(result) + 11
            result += code("DUP1", 1 << number % 7, "AND", target.to_bytes(3), "JUMPI")
            result += code("GAS", "POP", "JUMPDEST")
        return result

    return body


def _nested(depth: int, count: int) -> bytes:
    result = b""
    starts = []
    for _ in range(depth):
        result += code(count, "JUMPDEST")
        starts.append(len(result) - 1)
    for start in reversed(starts):
        result += code("GAS", "POP", 1, "SWAP1", "SUB", "DUP1", start.to_bytes(2), "JUMPI", "POP")
    return result + code("STOP")


def _hops(count: int, size: int) -> bytes:
    """Blocks that lead to each other by computed jumps, always taken; what lies between them never runs."""
    distance = size // count
    result = b""
    for number in range(count):
        following = (number + 1) * 7 % count * distance
        block = code("JUMPDEST", "GAS", following.to_bytes(2), "CALLDATASIZE", "ADD", "JUMPI")
        result += block + code("GAS") * (distance - len(block))
    return result.ljust(size, b"\0")


def _creating(init: bytes) -> bytes:
    """Creates with this init code, with little gas for each, until there is not enough left."""
    head = code(len(init), bytes(2), 0, "CODECOPY", "JUMPDEST")
    loop = code(len(init), 0, 0, "CREATE", "POP", 200_000, "GAS", "GT", (len(head) - 1).to_bytes(2), "JUMPI")
    before = len(head + loop + code("STOP"))
    head = code(len(init), before.to_bytes(2), 0, "CODECOPY", "JUMPDEST")
    return head + loop + code("STOP") + init
