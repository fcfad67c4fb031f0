"""What a tracer is told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.web3sim.engine.system import TOKEN_SERVICE, System
from tests.web3sim.engine.world import BLOCK, CONTRACT, OTHER, RETURN_TOP, SENDER, calling, code, long_zero
from web3sim.engine.interface import (
    AccountKind,
    AccountRecord,
    CallRequest,
    CallResult,
    FrameEnd,
    FrameStart,
    Halt,
    Status,
    Step,
    SystemAnswer,
)
from web3sim.engine.registry import engine


@dataclass
class Trace:
    trace_steps: bool = True
    trace_stack: bool = True
    trace_memory: bool = False
    trace_storage: bool = False
    # FrameStart, Step and FrameEnd as they come.
    told: list[Any] = field(default_factory=list)

    def frame_start(self, frame: FrameStart) -> None:
        self.told.append(frame)

    def step(self, step: Step) -> None:
        self.told.append(step)

    def frame_end(self, frame: FrameEnd) -> None:
        self.told.append(frame)

    @property
    def steps(self) -> list[Step]:
        return [told for told in self.told if isinstance(told, Step)]

    @property
    def outline(self) -> list[str]:
        names = {
            FrameStart: lambda told: f"> {told.operation}",
            FrameEnd: lambda told: f"< {told.status.value}",
        }
        return [names[type(told)](told) if type(told) in names else told.op for told in self.told]


@pytest.fixture
def run(world):
    def send(trace: Trace, *, system=None, **given) -> CallResult:
        asked: dict[str, Any] = {"sender": SENDER, "to": CONTRACT, "data": b"", "gas": 121_000} | given
        return engine("pyevm-blocks").execute(CallRequest(**asked), BLOCK, world, system, trace)

    return send


def columns(steps: Sequence[Step], *names: str) -> list[tuple]:
    return [tuple(getattr(step, name) for name in names) for step in steps]


def test_a_step_is_its_operation_with_what_it_leaves(run, world):
    world.contract(CONTRACT, 7, 5, "ADD", "STOP")
    trace = Trace()

    run(trace)

    assert columns(trace.steps, "pc", "op", "gas", "gas_cost", "depth", "stack") == [
        (0, "PUSH1", 99_997, 3, 0, [7]),
        (2, "PUSH1", 99_994, 3, 0, [7, 5]),
        (4, "ADD", 99_991, 3, 0, [12]),
        (5, "STOP", 99_991, 0, 0, [12]),
    ]


def test_code_ends_with_a_stop_that_is_not_there(run, world):
    world.contract(CONTRACT, 7)
    trace = Trace()

    run(trace)

    assert columns(trace.steps, "pc", "op") == [(0, "PUSH1"), (2, "STOP")]


def test_only_what_is_wanted_is_sampled(run, world):
    world.slots[CONTRACT, 9] = 1
    world.contract(CONTRACT, 7, 40, "MSTORE", 5, 9, "SSTORE")
    nothing, everything = Trace(trace_stack=False), Trace(trace_memory=True, trace_storage=True)

    plain, traced = run(nothing), run(everything)

    assert plain == traced
    assert {(tuple(step.stack), tuple(step.memory), tuple(step.storage)) for step in nothing.steps} == {
        ((), (), ())
    }
    stored, written = everything.steps[2], everything.steps[5]
    assert stored.memory == [bytes(32), bytes(32), bytes(7) + b"\7" + bytes(24)]
    assert (stored.storage, written.storage) == ({}, {9: 5})


def test_frames_without_steps_are_the_same(run, world):
    world.contract(OTHER, 7, 0, "SSTORE", "STOP")
    world.contract(CONTRACT, 0, 0, 0, 0, OTHER, 50_000, "STATICCALL", "POP", 0, 0, 0, "CREATE", "STOP")
    frames, everything = Trace(trace_steps=False), Trace()

    assert run(frames) == run(everything)
    assert frames.told == [told for told in everything.told if not isinstance(told, Step)]
    assert len(frames.told) == 6


def test_the_stack_holds_numbers_whatever_was_pushed(run, world):
    world.contract(CONTRACT, "CALLER", "POP", 0, "CALLDATALOAD")
    trace = Trace()

    run(trace, data=b"\1")

    assert trace.steps[0].stack == [int.from_bytes(SENDER, "big")]
    assert trace.steps[-1].stack == [1 << 248]


def test_a_call_comes_before_what_it_calls(run, world):
    world.contract(OTHER, 1, *RETURN_TOP)
    world.contract(CONTRACT, *calling(OTHER, gas=5_000), "STOP")
    trace = Trace()

    run(trace)

    assert trace.outline == [
        *("> CALL", "PUSH1", "PUSH1", "PUSH1", "PUSH1", "PUSH1", "PUSH20", "PUSH2", "CALL"),
        *("> CALL", "PUSH1", "PUSH1", "MSTORE", "PUSH1", "PUSH1", "RETURN", "< success"),
        *("STOP", "< success"),
    ]
    call = trace.steps[7]
    assert (call.depth, call.gas_cost, call.gas, call.stack) == (1, 2_600, 100_000 - 21 - 2_600 - 5_000, [])
    inner, stop = trace.steps[8], trace.steps[-1]
    assert (inner.depth, inner.gas) == (1, 4_997)
    assert (stop.depth, stop.stack, stop.gas) == (0, [1], 100_000 - 21 - 2_600 - 18)


def test_the_gas_handed_on_leaves_out_the_stipend(run, world):
    world.accounts[OTHER] = AccountRecord(balance=1)
    world.contract(CONTRACT, *calling(OTHER, value=1, gas=5_000), balance=5)
    trace = Trace()

    run(trace)

    call = trace.steps[7]
    assert (call.gas_cost, call.gas) == (2_600 + 9_000, 100_000 - 21 - 11_600 - 5_000)
    assert next(told for told in trace.told[1:] if isinstance(told, FrameStart)).gas == 7_300


def test_frames_name_caller_and_called(run, world):
    world.contract(OTHER, 0, 0, "REVERT")
    world.contract(CONTRACT, *calling(OTHER, kind="DELEGATECALL", gas=5_000, data=b"\1\2\3\4"))
    trace = Trace()

    result = run(trace, data=b"\5", value=2)

    frames = [told for told in trace.told if not isinstance(told, Step)]
    assert frames == [
        FrameStart(0, "CALL", SENDER, CONTRACT, CONTRACT, 2, 121_000 - result.intrinsic_gas, b"\5", False),
        FrameStart(1, "DELEGATECALL", SENDER, CONTRACT, OTHER, 2, 5_000, b"\1\2\3\4", False),
        FrameEnd(1, Status.REVERT, None, b"", 6),
        FrameEnd(0, Status.SUCCESS, None, b"", result.execution_gas),
    ]


def test_a_creation_is_a_frame_with_its_init_code(run, world):
    init = code(1, 0, "RETURN")
    world.contract(CONTRACT, init, 0, "MSTORE", len(init), 32 - len(init), 0, "CREATE")
    trace = Trace()

    outermost = run(Trace(), to=None, data=init, new_contract_address=long_zero(5_000))
    result = run(trace)

    start = next(told for told in trace.told[1:] if isinstance(told, FrameStart))
    assert (start.operation, start.sender, start.recipient, start.data) == (
        "CREATE",
        CONTRACT,
        result.created[0],
        init,
    )
    end = next(told for told in trace.told if isinstance(told, FrameEnd))
    assert (end.depth, end.status, end.output, end.gas_used) == (1, Status.SUCCESS, b"\0", 6 + 3 + 200)
    assert outermost.created == (long_zero(5_000),)
    created = next(step for step in trace.steps if step.op == "CREATE")
    assert created.gas_cost == 32_000 + 2


def test_a_precompiled_contract_is_a_frame_without_steps(run, world):
    world.contract(CONTRACT, *calling(long_zero(4), gas=5_000, data=b"\1"))
    trace = Trace()

    run(trace)

    start = trace.told.index(next(told for told in trace.told[1:] if isinstance(told, FrameStart)))
    assert trace.told[start].precompile
    assert trace.told[start + 1] == FrameEnd(1, Status.SUCCESS, None, b"\1", 18)


def test_a_system_contract_is_a_frame_without_steps(run, world):
    system = System(SystemAnswer(output=b"no", gas=10, reverted=True))
    world.accounts[CONTRACT] = AccountRecord(
        code=code(*calling(TOKEN_SERVICE, kind="DELEGATECALL", gas=5_000)), kind=AccountKind.TOKEN
    )
    trace = Trace()

    run(trace, system=system)

    start = trace.told.index(next(told for told in trace.told[1:] if isinstance(told, FrameStart)))
    assert trace.told[start].precompile
    assert trace.told[start + 1] == FrameEnd(1, Status.REVERT, None, b"", 10)


def test_revert_has_its_data(run, world):
    world.contract(CONTRACT, 0xAA, 0, "MSTORE", 32, 0, "REVERT")
    trace = Trace()

    run(trace)

    assert trace.steps[-1].reason == bytes(31) + b"\xaa"
    assert {step.reason for step in trace.steps[:-1]} == {None}


@pytest.mark.parametrize(
    ("operations", "op", "halt"),
    [
        ((1, "ADD"), "ADD", Halt.STACK_UNDERFLOW),
        ((3, "JUMP"), "JUMP", Halt.INVALID_JUMP),
        ((2**200, "MLOAD"), "MLOAD", Halt.OUT_OF_GAS),
        (("INVALID",), "INVALID", Halt.INVALID_OPCODE),
    ],
    ids=lambda given: given.value if isinstance(given, Halt) else None,
)
def test_a_halt_is_the_last_step_and_the_frames_end(run, world, operations, op, halt):
    runtime = b"\xfe" if operations == ("INVALID",) else code(*operations)
    world.accounts[CONTRACT] = AccountRecord(code=runtime, kind=AccountKind.CONTRACT)
    trace = Trace()

    run(trace)

    step, end = trace.told[-2:]
    assert (step.op, step.reason) == (op, None)
    assert (end.status, end.halt, end.gas_used) == (Status.HALT, halt, 100_000)


def test_storage_is_what_the_call_has_written(run, world):
    world.contract(OTHER, 1, 1, "SSTORE", 0, 0, "REVERT")
    inner = bytes([0x1A]) * 20
    world.contract(inner, 2, 2, "SSTORE")
    world.contract(CONTRACT, *calling(OTHER, gas=40_000), *calling(inner, gas=40_000), 3, 3, "SSTORE")
    trace = Trace(trace_storage=True)

    run(trace, gas=200_000)

    written: list[Mapping[int, int]] = [step.storage for step in trace.steps if step.op == "SSTORE"]
    assert written == [{1: 1}, {2: 2}, {2: 2, 3: 3}]


def test_tracing_changes_nothing(run, world):
    world.contract(OTHER, 1, 1, "SSTORE", *calling(long_zero(4)), 0, 0, "LOG0")
    world.contract(CONTRACT, *calling(OTHER, gas=60_000), *RETURN_TOP)

    assert run(Trace(trace_memory=True, trace_storage=True)) == run(None)
