"""The operations of a run as JSON, one entry each, emitted in chunks.

An entry shows the state after its operation, but `pc` is that of the operation itself. A call of
a precompiled or system contract has one more entry, of that contract: without stack, memory and storage,
`gas_cost` what the contract took if it returned anything.
"""

from collections.abc import Callable, Mapping, Sequence

from mirror.core.values.hapi.result_codes import NAMES
from web3sim.engine.interface import Address, FrameEnd, FrameStart, Status, Step
from web3sim.system_contracts.abi import ERROR_SELECTOR, one_string

_CHUNK_BYTES = 64 * 1024
# Operations that have another name by now than the library gives them.
_RENAMED = {"SHA3": "KECCAK256"}

_CODE_BYTES = 4

Emit = Callable[[bytes], None]


class OpcodeEntries:
    """A tracer. `reasons` are the errors of failed calls of system contracts, in order, by their depth."""

    def __init__(
        self,
        emit: Emit,
        *,
        stack: bool,
        memory: bool,
        storage: bool,
        is_system: Callable[[Address], bool],
        reasons: Mapping[int, Sequence[bytes]],
    ) -> None:
        self.trace_steps = True
        self.trace_stack, self.trace_memory, self.trace_storage = stack, memory, storage
        self._emit, self._is_system = emit, is_system
        self._reasons = {depth: iter(depth_reasons) for depth, depth_reasons in reasons.items()}
        self._chunks: list[str] = []
        self._length = 0
        self._first = True
        self._pc, self._op = 0, ""
        self._precompile: FrameStart | None = None
        self._slots: Mapping[int, int] = {}
        self._slots_text = ""

    def frame_start(self, frame: FrameStart) -> None:
        if frame.precompile:
            self._precompile = frame

    def step(self, step: Step) -> None:
        self._pc, self._op = step.pc, _RENAMED.get(step.op, step.op)
        texts = (
            ",".join([f'"0x{value:064x}"' for value in step.stack]),
            ",".join([f'"0x{word.hex()}"' for word in step.memory]),
            self._storage(step.storage),
        )
        self._add(step.gas, step.gas_cost, step.depth, texts, step.reason)

    def _storage(self, slots: Mapping[int, int]) -> str:
        """Return the JSON of the slots, which is made only once for the same mapping."""
        if slots is not self._slots:
            self._slots = slots
            self._slots_text = ",".join(
                [f'"0x{slot:064x}":"0x{value:064x}"' for slot, value in slots.items()]
            )
        return self._slots_text

    def frame_end(self, frame: FrameEnd) -> None:
        start, self._precompile = self._precompile, None
        if start is None:
            return
        self._op = self._op or start.operation
        cost = frame.gas_used if frame.output else 0
        self._add(start.gas - frame.gas_used, cost, frame.depth, ("", "", ""), self._reason(start, frame))

    def _reason(self, start: FrameStart, end: FrameEnd) -> bytes | None:
        if self._is_system(start.code_address):
            if end.status is Status.SUCCESS:
                return None
            stored = next(self._reasons.get(end.depth, iter(())), None)
            return None if stored is None else decode_reason(stored)
        return end.output if end.status is Status.REVERT else None

    def _add(
        self, gas: int, cost: int, depth: int, texts: tuple[str, str, str], reason: bytes | None
    ) -> None:
        stack, memory, storage = texts
        entry = (
            f'{"" if self._first else ","}{{"pc":{self._pc},"op":"{self._op}","gas":{gas},"gas_cost":{cost},'
            f'"depth":{depth},"stack":[{stack}],"memory":[{memory}],"storage":{{{storage}}},"reason":'
            + ("null}" if reason is None else f'"0x{reason.hex()}"}}')
        )
        self._first = False
        self._chunks.append(entry)
        self._length += len(entry)
        if self._length >= _CHUNK_BYTES:
            self.flush()

    def flush(self) -> None:
        """Emit the remaining entries."""
        if self._chunks:
            self._emit("".join(self._chunks).encode())
            self._chunks.clear()
            self._length = 0


def decode_reason(reason: bytes) -> bytes:
    """Return the revert data of a system contract as Error(string): the name of a response code, or text.

    An Error(string) stays as it is. Zeros alone are no reason.
    """
    if reason.startswith(ERROR_SELECTOR):
        return reason
    number = reason.lstrip(b"\0")
    if not number:
        return b""
    if len(number) <= _CODE_BYTES and (name := NAMES.get(int.from_bytes(number, "big"))):
        return ERROR_SELECTOR + one_string(name.encode())
    return ERROR_SELECTOR + one_string(reason.decode(errors="replace").encode())
