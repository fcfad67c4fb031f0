"""Contracts that make the calls they are told to, nested as deep as a test likes: `callers/Caller.sol`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from web3sim.engine.interface import CallResult

FOLDER = Path(__file__).parent / "callers"
RUNTIME = bytes.fromhex(json.loads((FOLDER / "compiled.json").read_text())["contracts"]["Caller"]["runtime"])

KINDS = ("CALL", "STATICCALL", "DELEGATECALL")
_HEAD = 5


class Step(NamedTuple):
    """One call that a Caller makes; `value` is in tinybars and only of a CALL."""

    to: bytes
    data: bytes
    kind: str = "CALL"
    value: int = 0
    gas: int = 5_000_000


class Outcome(NamedTuple):
    succeeded: bool
    output: bytes


def listed(steps: Sequence[Step], *, reverts: bool = False) -> bytes:
    """The call data of a Caller that makes these calls, whatever comes of each; in the end it may revert."""
    return bytes([reverts]) + b"".join(map(_listed, steps))


def _listed(step: Step) -> bytes:
    head = bytes([KINDS.index(step.kind)]) + step.to + step.gas.to_bytes(8) + step.value.to_bytes(16)
    return head + len(step.data).to_bytes(4) + step.data


def outcomes(answer: CallResult | Outcome) -> list[Outcome]:
    """What came of each call of a Caller, from what it answered."""
    output, found, at = answer.output, [], 0
    while at < len(output):
        end = at + _HEAD + int.from_bytes(output[at + 1 : at + _HEAD])
        found.append(Outcome(bool(output[at]), output[at + _HEAD : end]))
        at = end
    return found
