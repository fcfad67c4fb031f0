"""The code of a frame and its jump destinations."""

import re
from functools import lru_cache

from eth.vm.code_stream import CodeStream
from eth.vm.opcode_values import JUMPDEST, PUSH1, STOP

# A run of pushes with the data they have, or else of other operations: data is skipped, not searched.
_PUSHES = [b"%s.{0,%d}" % (re.escape(bytes([PUSH1 + size - 1])), size) for size in range(1, 33)]
_RUNS = re.compile(b"(?:%s)+|([^\x60-\x7f]+)" % b"|".join(_PUSHES), re.DOTALL)
_MARKS = bytes(operation == JUMPDEST for operation in range(256))


@lru_cache(maxsize=128)
def jump_destinations(code: bytes) -> bytes:
    """One byte for each position of the code: 1 where a JUMPDEST stands outside of push data."""
    marks = bytearray(len(code))
    for run in _RUNS.finditer(code):
        if run.lastindex:
            marks[run.start() : run.end()] = run[1].translate(_MARKS)
    return bytes(marks)


class Code(CodeStream):
    """Code whose jump destinations are run in one pass.

    The library looks back from a destination, position by position; init code can be made so that this
    recurses more often than Python can.
    """

    __slots__: list[str] = []

    def is_valid_opcode(self, position: int) -> bool:
        return position < len(self) and bool(jump_destinations(self._raw_code_bytes)[position])

    def peek(self) -> int:
        """JUMPDEST at a valid destination, anything else elsewhere: jumps need nothing more."""
        return JUMPDEST if self.is_valid_opcode(self.program_counter) else STOP
