"""Contracts that make calls one after the other, and answer what came of each."""

from typing import Any, NamedTuple

from tests.web3sim.engine.world import code
from web3sim.engine.interface import CallResult

# Of each step the contract returns whether it succeeded, the length of its output, and that much of it.
_MAX_OUTPUT = 224
_ROOM = 64 + _MAX_OUTPUT


class Step(NamedTuple):
    """A call of a contract; `kind` is CALL, STATICCALL or DELEGATECALL."""

    to: bytes
    data: bytes
    kind: str = "CALL"
    gas: int = 1_500_000


class Outcome(NamedTuple):
    succeeded: bool
    output: bytes


def script(*steps: Step, reverts: bool = False) -> bytes:
    """The code of a contract that makes these calls, whatever comes of each; in the end it may revert."""
    # An offset takes two bytes, whatever it is.
    length = len(_written(steps, 0, reverts=reverts))
    return _written(steps, length, reverts=reverts) + b"".join(step.data for step in steps)


def outcomes(result: CallResult | bytes) -> list[Outcome]:
    output = result if isinstance(result, bytes) else result.output
    found = []
    for start in range(0, len(output), _ROOM):
        succeeded, length = (int.from_bytes(output[start + at : start + at + 32]) for at in (0, 32))
        found.append(Outcome(bool(succeeded), output[start + 64 : start + 64 + length]))
    return found


def _written(steps: tuple[Step, ...], data_at: int, *, reverts: bool) -> bytes:
    scratch = len(steps) * _ROOM
    operations: list[Any] = []
    for index, step in enumerate(steps):
        room = index * _ROOM
        value = (0,) if step.kind == "CALL" else ()
        operations += [len(step.data), data_at.to_bytes(2), scratch, "CODECOPY"]
        operations += [0, 0, len(step.data), scratch, *value, step.to, step.gas, step.kind]
        operations += [room, "MSTORE", "RETURNDATASIZE", room + 32, "MSTORE"]
        operations += ["RETURNDATASIZE", 0, room + 64, "RETURNDATACOPY"]
        data_at += len(step.data)
    return code(*operations, scratch, 0, "REVERT" if reverts else "RETURN")
