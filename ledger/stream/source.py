"""Record files below folders, in both bucket layouts, or named one by one.

A folder is searched for record data files; below it may stand `recordstreams/record<shard.realm.num>/` or
`<network>/<shard>/<nodeId>/record/`, the copies of several nodes, or loose files. Of the copies of one file
the first in path order is taken: they hold the same bytes once decompressed, which the hash chain proves.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ledger.stream import names
from ledger.stream.errors import StreamFileError

_ACCOUNT_FOLDER = re.compile(r"record\d+\.\d+\.(\d+)", re.ASCII)
# The account of node 0 when the network began; node ids and accounts ran in step from there.
_FIRST_NODE_ACCOUNT = 3
UNKNOWN_NODE = -1


class SourceError(StreamFileError):
    """A path that is no source of record files, or a file that is missing beside another."""

    def __init__(self, path: Path, cause: str, cure: str = "") -> None:
        super().__init__(str(path), 0, cause, cure)

    def __str__(self) -> str:
        return f"{self.file} {self.cause}." + (f" {self.cure}" if self.cure else "")


@dataclass(frozen=True)
class LocalRecordFile:
    """A record data file on disk and the node whose folder it lies in (-1 when the path does not say)."""

    name: str
    path: Path
    node_id: int

    @property
    def instant(self) -> int:
        """Consensus time of the file's first transaction, from its name (ns)."""
        return names.parse(self.name).instant

    def read(self) -> bytes:
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise SourceError(self.path, f"cannot be read: {error.strerror}") from error

    def read_sidecar(self, name: str) -> bytes:
        """A sidecar lies in the folder `sidecar` beside its record file; loose ones right beside it."""
        folder = self.path.parent / names.SIDECAR_FOLDER
        for path in (folder / name, self.path.parent / name):
            if path.is_file():
                return path.read_bytes()
        raise SourceError(self.path, f"needs its sidecar {name}, which is missing", f"Put it into {folder}.")


def find_record_files(paths: Iterable[Path]) -> list[LocalRecordFile]:
    """Every record data file of `paths`, one copy each, in the order of their consensus time.

    Errors: StreamFileError for a path that does not exist or a file that is no record data file.
    """
    found: dict[str, LocalRecordFile] = {}
    for path in paths:
        for file in _files(path):
            found.setdefault(file.name, file)
    return sorted(found.values(), key=lambda file: file.instant)


def _files(path: Path) -> Iterator[LocalRecordFile]:
    if path.is_dir():
        for below in sorted(path.rglob("*.rcd*")):
            if below.parent.name == "sidecar" or not below.is_file():
                continue
            if _is_record_data(below.name):
                yield LocalRecordFile(below.name, below, _node_id(below))
    elif path.is_file():
        if not _is_record_data(path.name):
            names.parse(path.name)
            raise SourceError(path, "is a signature or sidecar file, not a record file")
        yield LocalRecordFile(path.name, path, _node_id(path))
    else:
        raise SourceError(path, "does not exist")


def _is_record_data(name: str) -> bool:
    try:
        parsed = names.parse(name)
    except StreamFileError:
        return False
    return parsed.sidecar is None and not parsed.is_signature


def _node_id(path: Path) -> int:
    folder = path.parent
    if match := _ACCOUNT_FOLDER.fullmatch(folder.name):
        return int(match[1]) - _FIRST_NODE_ACCOUNT
    if folder.name == "record" and folder.parent.name.isdecimal():
        return int(folder.parent.name)
    return UNKNOWN_NODE
