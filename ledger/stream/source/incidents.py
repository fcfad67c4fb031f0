"""Incidents of a source of stream files: requests that failed, were slow or brought garbage, of ten minutes.

A request is repeated, and other nodes have the same file, so a source may fail often before loading is stuck.
"""

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ledger.stream.errors import StreamFileError

#: How long an incident counts.
WINDOW_SECONDS = 600
#: An answer that takes longer is slow.
SLOW_SECONDS = 2.0
_MAX_INCIDENTS, _MAX_SHOWN, _MAX_CHARACTERS = 1000, 10, 200


class _Incident(NamedTuple):
    time: float
    cause: str


_incidents: deque[_Incident] = deque(maxlen=_MAX_INCIDENTS)


def note(cause: str) -> None:
    _incidents.append(_Incident(time.time(), cause[:_MAX_CHARACTERS]))


def note_error(what: str, error: StreamFileError) -> None:
    """Note an error, once however many catch it. `what` was requested."""
    if not error.is_recorded:
        error.is_recorded = True
        note(f"{what}: {error.cause}")


@contextmanager
def recorded(what: str, *, normal: type[StreamFileError]) -> Iterator[None]:
    """Note an incident if the block fails, but for a `normal` error, or takes long. `what` is requested."""
    started_at = time.monotonic()
    try:
        yield
    except normal:
        raise
    except StreamFileError as error:
        note_error(what, error)
        raise
    if (seconds := time.monotonic() - started_at) > SLOW_SECONDS:
        note(f"{what}: the answer took {seconds:.0f} s")


def recent() -> dict[str, object] | None:
    """Return the count of the incidents, and time (seconds) and cause of the last ones; None without any."""
    oldest = time.time() - WINDOW_SECONDS
    incidents = [each for each in list(_incidents) if each.time > oldest]
    last = [{"at": int(each.time), "cause": each.cause} for each in incidents[: -_MAX_SHOWN - 1 : -1]]
    return {"count": len(incidents), "last": last} if incidents else None
