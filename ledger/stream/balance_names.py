"""Names of balance files: `<time>_Balances.csv`, `<time>_Balances.pb.gz`, and of their signature files,
`<time>_Balances.csv_sig` and `<time>_Balances.pb_sig.gz`.

`<time>` is written as in the names of record files. Names of one bucket folder sort by time.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from ledger.stream import record_names
from ledger.stream.errors import StreamFileError

CSV, PROTOBUF = "csv", "pb"

_NAME = re.compile(
    r"(?P<time>[0-9T_.-]{19,29}Z)_Balances\.(?P<format>csv|pb)(?P<signature>_sig)?"
    r"(?:\.(?P<compressor>[A-Za-z0-9-]+))?",
    re.ASCII,
)
_COMPRESSED = ".gz"
_EXAMPLE = "2021-03-10T22_12_56.075092Z_Balances.pb.gz"


@dataclass(frozen=True)
class BalanceFileName(record_names.StreamFileName):
    """A parsed name with the format of its file."""

    format: str = PROTOBUF

    @property
    def after(self) -> str:
        """The point where a listing goes on: after every name of this time, before every later one."""
        return f"{self.time}_C"


@lru_cache(maxsize=4_096)
def parse(name: str) -> BalanceFileName:
    """Parse a name; a path before it is ignored. Errors: InvalidFileName."""
    base = name.rpartition("/")[2]
    match = _NAME.fullmatch(base)
    instant = record_names.instant_of(match["time"]) if match else None
    if match is None or instant is None:
        raise record_names.InvalidFileName(name, 0, f"not the name of a balance file, such as {_EXAMPLE}")
    return BalanceFileName(
        name=base,
        time=match["time"],
        instant=instant,
        format=match["format"],
        is_signature=match["signature"] is not None,
        compressor=match["compressor"] or "",
    )


def is_balance(name: str) -> bool:
    if "_Balances." in name:
        with suppress(StreamFileError):
            return bool(parse(name))
    return False


def is_data(name: str) -> bool:
    return is_balance(name) and not parse(name).is_signature


def is_signature(name: str) -> bool:
    return is_balance(name) and parse(name).is_signature


def balance_name(instant: int, format: str = PROTOBUF) -> str:
    """Return the name of a balance file; those of protobuf messages are compressed."""
    compressed = _COMPRESSED if format == PROTOBUF else ""
    return f"{record_names.shortest_time(instant)}_Balances.{format}{compressed}"


def signature_name(data_name: str) -> str:
    """Return the name of a balance file's signature file, which is compressed if the file is."""
    compressed = _COMPRESSED if data_name.endswith(_COMPRESSED) else ""
    return f"{data_name.removesuffix(_COMPRESSED)}_sig{compressed}"


def data_name(signature_name: str) -> str:
    parsed = parse(signature_name)
    compressor = f".{parsed.compressor}" if parsed.compressor else ""
    return f"{parsed.time}_Balances.{parsed.format}{compressor}"


def preference(name: str) -> bool:
    """Return a key that sorts the names of one time: protobuf, which holds tokens, comes first."""
    return parse(name).format != PROTOBUF
