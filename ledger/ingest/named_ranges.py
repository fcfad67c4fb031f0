"""Ranges of the stream, as the options --from and --to of `verify` and `replay` name them."""

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import TypeVar

from ledger.stream.source.stream_file import StreamFile
from mirror.core.config.setting import OperatorError
from mirror.core.db import statements
from mirror.core.values import timestamp

AnyFile = TypeVar("AnyFile", bound=StreamFile)


class InvalidRange(OperatorError):
    """A range of files that can't be found; the message says what would be right."""

    exit_code = 2


def time_of(text: str, *, end: bool = False) -> int:
    """Return the time (ns) of a block number (its start or end), date or timestamp. Errors: InvalidRange."""
    if text.isdecimal():
        # Index: record_file__index.
        column = "consensus_end" if end else "consensus_start"
        time = statements.value(f"select {column} from record_file where index = %s", [int(text)])
        if time is None:
            raise InvalidRange(f"The database has no block {text}: name one that is loaded, or a time.")
        return int(time)
    try:
        return timestamp.parse_iso(text) if "-" in text else timestamp.parse(text)
    except timestamp.InvalidTimestamp:
        raise InvalidRange(
            f"{text!r} is neither a block number nor a time such as 2024-06-01T00:00:00Z "
            "or 1717200000.000000000."
        ) from None


def in_range(files: Sequence[AnyFile], start: int | None, end: int | None) -> Sequence[AnyFile]:
    """Return the files, in order, that may have a transaction of this time (ns). Errors: StreamFileError."""
    # By bisection, as a block has to be read to know its time.
    instant = attrgetter("instant")
    first = 0 if start is None else bisect_right(files, start, key=instant) - 1
    after = len(files) if end is None else bisect_right(files, end, key=instant)
    return files[max(first, 0) : after]
