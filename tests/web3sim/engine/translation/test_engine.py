"""The translating engine where random programs seldom look: each amount of gas, edges, a tracer."""

from dataclasses import replace

import pytest

from tests.benchmarks import evm as benchmark
from tests.web3sim.engine.world import BLOCK, CONTRACT, ENGINES, OTHER, SENDER, World, calling, code
from web3sim.engine.interface import (
    AccountRecord,
    CallRequest,
    CallResult,
    Halt,
    Profile,
    StateReader,
    Status,
)

MANY = code(*["CALLVALUE"] * 1_023)


def _same(world: StateReader, request: CallRequest) -> CallResult:
    """Both engines' result; the translating one runs it twice, as its first run translates."""
    expected = ENGINES["pyevm"].execute(request, BLOCK, world)
    for _ in range(2):
        assert ENGINES["pyevm-blocks, eager"].execute(request, BLOCK, world) == expected
    return expected


def _of(raw: bytes, **given) -> CallResult:
    world = World({SENDER: AccountRecord(balance=10**6), CONTRACT: AccountRecord(nonce=1, code=raw)})
    request = CallRequest(SENDER, CONTRACT, b"", 10**6, profile=Profile.ETHEREUM)
    return _same(world, request._replace(**given))


# GAS


@pytest.mark.parametrize(("name", "most"), [("Points.transfer", 53_000), ("Points.balanceOf", 25_000)])
def test_a_call_runs_out_of_gas_at_the_same_place(name, most):
    """With each of many limits: what was read until then is the same, too."""
    case = next(case for case in benchmark.cases() if case.name == name)
    contracts = benchmark.World(case)
    statuses = set()
    for gas in range(21_000, most, (most - 21_000) // 400):
        request = CallRequest(benchmark.SENDER, benchmark.CONTRACT, contracts.data, gas)
        statuses.add(_same(contracts, request).status)

    assert statuses == {Status.HALT, Status.SUCCESS}


@pytest.mark.parametrize(
    "operations",
    [
        (1, 1, "SSTORE", 2, 1, "SSTORE", 0, 1, "SSTORE", "GAS", 0, "MSTORE", 32, 0, "RETURN"),
        (7, "SLOAD", 3, "GAS", "EXP", 100, "MSTORE", 200, 0, "SHA3", "POP", 64, 0, "LOG0"),
        (0, "CALLDATALOAD", 5, "MSTORE8", 90, 0, 33, "CALLDATACOPY", 40, 2, 300, "MCOPY", 9, 9, "TSTORE"),
        (*calling(OTHER, gas=500), "GAS", "SWAP1", "POP", "RETURNDATASIZE", 0, 0, "RETURNDATACOPY"),
    ],
    ids=["storage", "hash and log", "copies", "a call"],
)
def test_every_amount_of_gas_ends_in_the_same_place(operations):
    world = World({SENDER: AccountRecord(), OTHER: AccountRecord(code=code(32, 0, "RETURN"))})
    world.contract(CONTRACT, *operations, "STOP")

    def result(gas: int) -> CallResult:
        return _same(world, CallRequest(SENDER, CONTRACT, b"", gas, profile=Profile.ETHEREUM))

    needed = 21_000 + result(10**6).execution_gas
    step = max(1, (needed - 21_000) // 500)
    assert {result(gas).halt for gas in range(21_000, needed, step)} == {Halt.OUT_OF_GAS}
    # SSTORE wants more to be left than it costs.
    assert result(needed + 2_300).status is Status.SUCCESS


@pytest.mark.parametrize("gas", range(25_400, 25_412))
def test_storing_needs_a_stipend_to_be_left(gas):
    """2,300 gas and less are not enough, whatever it costs (EIP-2200)."""
    result = _of(code(1, "SLOAD", 1, "SSTORE"), gas=gas)

    assert result.status is (Status.SUCCESS if gas > 25_406 else Status.HALT)


@pytest.mark.parametrize(
    ("operation", "given", "halt"),
    [
        ("SSTORE", {"gas": 43_200}, Halt.OUT_OF_GAS),
        ("SSTORE", {"gas": 23_409}, Halt.OUT_OF_GAS),
        ("SSTORE", {"gas": 25_000, "static": True}, Halt.STATIC_CHANGE),
        ("TSTORE", {"gas": 21_200, "static": True}, Halt.STATIC_CHANGE),
        ("LOG0", {"gas": 21_500, "static": True}, Halt.STATIC_CHANGE),
        ("RETURNDATACOPY", {"gas": 21_100}, Halt.RETURN_DATA_OUT_OF_BOUNDS),
        ("JUMP", {"gas": 21_100}, Halt.INVALID_JUMP),
    ],
)
def test_what_an_instruction_does_comes_before_the_price_of_the_next(operation, given, halt):
    """The gas suffices for the instruction, not for the many that follow it."""
    result = _of(code(1, 1, 1, operation, *["CALLVALUE"] * 900, "STOP"), **given)

    assert result.halt is halt
    assert bool(result.slots) is (operation == "SSTORE" and halt is Halt.OUT_OF_GAS)


# LOOPS


@pytest.mark.parametrize("rounds", [0, 1, 2, 9, 40])
@pytest.mark.parametrize("name", [case.name for case in benchmark.cases() if case.contract == "Loops"])
def test_loops_that_a_compiler_wrote_end_the_same(name, rounds):
    case = next(case for case in benchmark.cases() if case.name == name)
    contracts = benchmark.World(replace(case, arguments=(rounds,)))
    request = CallRequest(benchmark.SENDER, benchmark.CONTRACT, contracts.data, 10**6)

    assert _same(contracts, request).status is Status.SUCCESS


# WHAT HALTS


@pytest.mark.parametrize(
    ("raw", "halt"),
    [
        (code("POP"), Halt.STACK_UNDERFLOW),
        (code(1, "SLOAD", "POP", "ADD"), Halt.STACK_UNDERFLOW),
        (code("CALLVALUE", "CALLVALUE", "DUP3"), Halt.STACK_UNDERFLOW),
        (code("CALLVALUE", "SWAP1"), Halt.STACK_UNDERFLOW),
        (MANY + code("CALLVALUE", "CALLVALUE"), Halt.STACK_OVERFLOW),
        (MANY + code("DUP1", "DUP1"), Halt.STACK_OVERFLOW),
        (MANY + code("CALLVALUE", "TIMESTAMP"), Halt.STACK_OVERFLOW),
        (MANY + code("CALLVALUE", "POP", "TIMESTAMP", "STOP"), None),
        # After 1,200 instructions a trace begins with a full stack.
        (code(*["JUMPDEST"] * 176, "CALLVALUE") + MANY + code("POP", "TIMESTAMP", "STOP"), None),
        (code(0, "JUMP"), Halt.INVALID_JUMP),
        (code(1_000, "JUMP"), Halt.INVALID_JUMP),
        (code(2**256 - 1, "JUMP"), Halt.INVALID_JUMP),
        (code(3, "JUMP", 0x5B, "STOP"), Halt.INVALID_JUMP),
        (code("CALLVALUE", "JUMP"), Halt.INVALID_JUMP),
        (code(1, 0, "JUMPI"), Halt.INVALID_JUMP),
        (code(1, "CALLVALUE", "JUMPI"), Halt.INVALID_JUMP),
        (code("GAS", "CALLVALUE", "JUMPI"), Halt.INVALID_JUMP),
        (code("CALLVALUE", 1_000, "JUMPI", "STOP"), None),
        (code(0) + b"\x0c", Halt.INVALID_OPCODE),
        (code("STOP") + b"\xfe", None),
        (b"\xfe", Halt.INVALID_OPCODE),
        (code(1, 0, 0, "RETURNDATACOPY"), Halt.RETURN_DATA_OUT_OF_BOUNDS),
        (code(1, 0, 2**255, "RETURNDATACOPY"), Halt.RETURN_DATA_OUT_OF_BOUNDS),
        (code(0, 2**256 - 1, "MSTORE"), Halt.OUT_OF_GAS),
        (code(2**255, 0, "SHA3"), Halt.OUT_OF_GAS),
        (code(0, 2**255, "SHA3", "STOP"), None),
        (code(0, 2**255, "CALLVALUE", "MCOPY", "STOP"), None),
        (code(0, 2**255, "RETURN"), None),
        (code(2**40, 0, "RETURN"), Halt.OUT_OF_GAS),
        (code(0, 2**255, "LOG0", "STOP"), None),
        (bytes([0x7F, 1]), None),
        (bytes([0x61]), None),
    ],
)
def test_what_breaks_a_rule_halts_for_the_same_reason(raw, halt):
    assert _of(raw).halt == halt


@pytest.mark.parametrize("operation", ["SSTORE", "TSTORE", "LOG0", "LOG2", "SELFDESTRUCT", "CREATE"])
def test_a_static_frame_changes_nothing(operation):
    result = _of(code(0, 0, 0, 0, operation, "STOP"), static=True)

    assert result.halt is Halt.STATIC_CHANGE


# MEMORY


@pytest.mark.parametrize(
    "between",
    [
        (7, 0x50, "MSTORE"),
        (7, 0x40, "MSTORE8"),
        (7, 0x5F, "MSTORE8"),
        (7, 0x60, "MSTORE8"),
        (7, "CALLVALUE", "MSTORE"),
        (7, "CALLDATASIZE", "MSTORE"),
        (32, 0, 0x30, "CALLDATACOPY"),
        (32, 0, 0x60, "CALLDATACOPY"),
        ("CALLDATASIZE", 0, "CALLDATASIZE", "CALLDATACOPY"),
        (32, 0x41, 0x40, "MCOPY"),
        (*calling(OTHER),),
        (32, 0x40, 0, 0, 0, OTHER, "GAS", "CALL"),
    ],
)
def test_a_word_of_memory_is_what_was_written_last(between):
    """The translator remembers words it has seen written at known offsets."""
    raw = code(*(0x1234, 0x40, "MSTORE"), *between, *(0x40, "MLOAD", 0x80, "MSTORE", 0xA0, 0, "RETURN"))
    world = World({SENDER: AccountRecord(balance=100), CONTRACT: AccountRecord(code=raw)})
    world.contract(OTHER, 5, 0, "MSTORE", 32, 0, "RETURN")
    for data in (b"", bytes(range(64))):
        for value in (0, 33):
            _same(world, CallRequest(SENDER, CONTRACT, data, 10**6, value=value, profile=Profile.ETHEREUM))


# THE TRACER


class Names:
    trace_steps = True
    trace_stack = trace_memory = trace_storage = False

    def __init__(self) -> None:
        self.names: list[str] = []

    def frame_start(self, frame) -> None: ...

    def frame_end(self, frame) -> None: ...

    def step(self, step) -> None:
        self.names.append(step.op)


def test_with_a_tracer_every_operation_is_shown():
    tracer = Names()
    world = World({SENDER: AccountRecord(), CONTRACT: AccountRecord(code=code(1, 2, "ADD", "POP", "STOP"))})
    request = CallRequest(SENDER, CONTRACT, b"", 10**5)

    ENGINES["pyevm-blocks"].execute(request, BLOCK, world, tracer=tracer)

    assert tracer.names == ["PUSH1", "PUSH1", "ADD", "POP", "STOP"]
