"""Standard output and standard error that never fail: a full disk must not end a node."""

import io
import sys
from typing import Any


class _Descriptor(io.FileIO):
    """Drops output that can't be written, as on a full disk or to a pipe without a reader."""

    def write(self, data: Any, /) -> int:
        try:
            written = super().write(data)
        except OSError:
            written = None
        # Otherwise it would stay in a buffer, and flushing that at exit would fail.
        return len(data) if written is None else written


def continue_without_output() -> None:
    """Ignore failed writes to standard output and standard error, in this process and in its forks."""
    # A stream that is closed at the start of Python is None.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = sys.__stdout__ = _writable(sys.stdout)  # type: ignore[misc]
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr = sys.__stderr__ = _writable(sys.stderr)  # type: ignore[misc]


def _writable(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    raw = _Descriptor(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), stream.encoding, errors="backslashreplace", line_buffering=True
    )
