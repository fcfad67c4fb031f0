"""Names of record stream files: `<time>.rcd`, `<time>.rcd.gz`, `<time>_NN.rcd.gz`, `<time>.rcd_sig`.

`<time>` is the consensus time of the file's first transaction, ISO 8601 in UTC with `_` for `:` and up to
nine fraction digits. Names of one bucket folder sort by time.
"""

import re
from calendar import timegm
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from ledger.stream.errors import StreamFileError
from mirror.core.values.timestamp import MAX, NANOS_PER_SECOND

SIDECAR_FOLDER = "sidecar"

RECORD_STREAM, RECORD, SIDECAR, SIGNATURE = "record stream", "record", "sidecar", "record signature"
_EXAMPLES = {RECORD_STREAM: ".rcd.gz", RECORD: ".rcd.gz", SIDECAR: "_01.rcd.gz", SIGNATURE: ".rcd_sig"}

_TIME = r"(?P<date>\d{4}-\d{2}-\d{2}T\d{2}_\d{2}_\d{2})(?:\.(?P<fraction>\d{1,9}))?Z"
_TIME_ALONE = re.compile(_TIME, re.ASCII)
_NAME = re.compile(
    rf"(?P<time>{_TIME})"
    r"(?:_(?P<sidecar>\d{2,9}))?"
    r"\.rcd(?P<signature>_sig)?"
    r"(?:\.(?P<compressor>[A-Za-z0-9-]+))?",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_COMPRESSED_VERSION = 6
_COMPRESSED = ".gz"


class InvalidFileName(StreamFileError):
    """A name that no file of a record stream has, or that of another kind of file."""


@dataclass(frozen=True)
class StreamFileName:
    """A parsed name with its time as text and in ns; `compressor` is "" and `sidecar` None for none."""

    name: str
    time: str
    instant: int
    is_signature: bool
    compressor: str
    sidecar: int | None = None

    @property
    def after(self) -> str:
        """The point where a listing goes on: after every name of this time, before every later one."""
        return self.time + "_"


# The names of a file and its signatures are parsed in many places while it is loaded.
@lru_cache(maxsize=4_096)
def parse(name: str) -> StreamFileName:
    """Parse a name of any kind; a path before it is ignored. Errors: InvalidFileName."""
    base = name.rpartition("/")[2]
    match = _NAME.fullmatch(base)
    if match is None or (match["sidecar"] and match["signature"]):
        raise invalid(name, RECORD_STREAM)
    instant = instant_of(match["time"])
    if instant is None:
        raise invalid(name, RECORD_STREAM)
    return StreamFileName(
        name=base,
        time=match["time"],
        instant=instant,
        sidecar=int(match["sidecar"]) if match["sidecar"] else None,
        is_signature=match["signature"] is not None,
        compressor=match["compressor"] or "",
    )


def instant_of(time: str) -> int | None:
    """Return the time in a name (ns), None if its text is no time."""
    match = _TIME_ALONE.fullmatch(time)
    if match is None:
        return None
    try:
        date = datetime.strptime(match["date"], "%Y-%m-%dT%H_%M_%S")
    except ValueError:
        return None
    instant = timegm(date.timetuple()) * NANOS_PER_SECOND + int((match["fraction"] or "").ljust(9, "0"))
    return instant if 0 <= instant <= MAX else None


def is_record(name: str) -> bool:
    with suppress(InvalidFileName):
        parsed = parse(name)
        return parsed.sidecar is None and not parsed.is_signature
    return False


def is_signature(name: str) -> bool:
    with suppress(InvalidFileName):
        return parse(name).is_signature
    return False


def record_name(instant: int, version: int = 6) -> str:
    """Return the name of a record file of format 5 (`.rcd`) or 6 (`.rcd.gz`), with nine fraction digits."""
    compressed = _COMPRESSED if version >= _FIRST_COMPRESSED_VERSION else ""
    return f"{_second(instant)}.{instant % NANOS_PER_SECOND:09}Z.rcd{compressed}"


def shortest_time(instant: int) -> str:
    """Return a time as nodes wrote it into older names: a fraction of 0, 3, 6 or 9 digits."""
    nanos = instant % NANOS_PER_SECOND
    fraction = f".{nanos:09}" if nanos else ""
    while fraction.endswith("000"):
        fraction = fraction[:-3]
    return f"{_second(instant)}{fraction}Z"


def _second(instant: int) -> str:
    return f"{_EPOCH + timedelta(seconds=instant // NANOS_PER_SECOND):%Y-%m-%dT%H_%M_%S}"


def sidecar_name(record_name: str, sidecar: int) -> str:
    """Return the name of a record file's sidecar: `_NN` before the extension."""
    time, dot, extension = record_name.partition(".rcd")
    return f"{time}_{sidecar:02}{dot}{extension}"


def signature_name(record_name: str) -> str:
    """Return the name of a record file's signature file, which is never compressed."""
    return record_name.removesuffix(_COMPRESSED) + "_sig"


def data_name(signature_name: str, signature_version: int) -> str:
    """Return the name of the record file that is signed; from format 6 on record files are compressed."""
    parsed = parse(signature_name)
    compressed = parsed.compressor or signature_version >= _FIRST_COMPRESSED_VERSION
    return f"{parsed.time}.rcd{_COMPRESSED if compressed else ''}"


def invalid(name: str, file_type: str) -> InvalidFileName:
    """Return the error for a name that is not of this kind."""
    example = f"2022-07-13T08_46_11.304284003Z{_EXAMPLES[file_type]}"
    return InvalidFileName(name, 0, f"not the name of a {file_type} file, such as {example}")
