"""The output of a process that runs on when it can't be written."""

import io
import sys
from typing import Any


class _Descriptor(io.FileIO):
    """Drops what can't be written: the disk is full, or the pipe has no reader."""

    def write(self, data: Any, /) -> int:
        try:
            written = super().write(data)
        except OSError:
            written = None
        # Dropped here, it is in no buffer that the end of the process would flush, and fail.
        return len(data) if written is None else written


def continue_without_output() -> None:
    """Have no write to standard output or standard error fail in this process and those that it forks."""
    # One that is closed from the start is None.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = sys.__stdout__ = _writable(sys.stdout)  # type: ignore[misc]
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr = sys.__stderr__ = _writable(sys.stderr)  # type: ignore[misc]


def _writable(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    raw = _Descriptor(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), stream.encoding, errors="backslashreplace", line_buffering=True
    )
