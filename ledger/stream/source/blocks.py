"""Block files on disk, as a network's bucket or a node's folder holds them.

`<shard>/<node id>/<36 digits>.blk.gz` in the older layout, `0000/0000/0000/0000/007.blk.zstd` in the newer
one, or loose.
"""

from dataclasses import dataclass
from pathlib import Path

from ledger.stream.block import names
from ledger.stream.block.block_file import read_block_file, read_block_time
from ledger.stream.errors import StreamFileError
from ledger.stream.record.record_file import RecordFile, SidecarMetadata
from ledger.stream.record.sidecar import SidecarFile

_UNKNOWN_NODE = -1
_DIGITS_OF_NODE_LAYOUT = 36


@dataclass(frozen=True)
class LocalBlockFile:
    """A block file on disk; `name` has its digits in one piece."""

    name: str
    number: int
    path: Path
    node_id: int

    @property
    def instant(self) -> int:
        """The time of the block (ns), for which it has to be read."""
        return read_block_time(self.path.as_posix(), self._read())

    def record_file(self) -> RecordFile:
        return read_block_file(self.path.as_posix(), self._read())

    def sidecar(self, metadata: SidecarMetadata) -> SidecarFile:
        return self.record_file().sidecar_files[metadata.id]

    def _read(self) -> bytes:
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise StreamFileError(self.name, 0, f"cannot be read: {error.strerror}") from error


def block_file(path: Path) -> LocalBlockFile:
    """The block file at a path. Errors: StreamFileError when it has not the name of one."""
    parsed = names.parse(path.as_posix())
    return LocalBlockFile(parsed.name, parsed.number, path, _node_id(path))


def blocks_below(folder: Path) -> list[LocalBlockFile]:
    """Every block file in a folder, by path; others are passed over."""
    found = []
    for path in sorted(folder.rglob(f"*{names.EXTENSION}*")):
        try:
            if path.is_file():
                found.append(block_file(path))
        except StreamFileError:
            continue
    return found


def _node_id(path: Path) -> int:
    folder = path.parent
    digits = path.name.partition(".")[0]
    if len(digits) == _DIGITS_OF_NODE_LAYOUT and folder.name.isdecimal() and folder.parent.name.isdecimal():
        return int(folder.name)
    return _UNKNOWN_NODE
