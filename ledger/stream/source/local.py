"""Record files and blocks below folders, in any bucket layout, or named one by one.

A folder is searched for record files: in `recordstreams/record<shard.realm.num>/` or
`<network>/<shard>/<nodeId>/record/`, the copies of several nodes, or loose. Of the copies of one file the
first in path order is taken: they hold the same bytes once decompressed, which the hash chain proves. Where
there are signature files, and in folders of a bucket layout, where there should be, a quorum of the nodes has
to have signed the file. Block files come after all record files, as networks change over from records to
blocks.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ledger.stream import block_names, record_names
from ledger.stream.errors import StreamFileError
from ledger.stream.record_file import RecordFile, SidecarFile, SidecarMetadata, read_sidecar_file
from ledger.stream.record_formats import read_record_file
from ledger.stream.signature.quorum import QuorumAt, Votes
from ledger.stream.source.stream_blocks import LocalBlockFile, blocks_below, local_block, stored_bytes
from ledger.stream.source.stream_file import (
    UNKNOWN_NODE,
    NodeCopy,
    StreamFile,
    content_at,
    node_of,
    read_verified,
)


class SourceError(StreamFileError):
    """A path without record files, or a missing sidecar."""

    def __init__(self, path: Path, cause: str, cure: str = "") -> None:
        super().__init__(str(path), 0, cause, cure)

    def __str__(self) -> str:
        return f"{self.file} {self.cause}." + (f" {self.cure}" if self.cure else "")


@dataclass(frozen=True)
class LocalRecordFile(StreamFile):
    """A record file on disk with signatures by node id and copies; `published` ones have to be signed."""

    name: str
    path: Path
    node_id: int
    published: bool = False
    signatures: Mapping[int, Path] = field(default_factory=dict)
    copies: Sequence["LocalRecordFile"] = ()

    number = None
    signed_by = ()

    @property
    def stored_bytes(self) -> int:
        return stored_bytes(self.path)

    def read(self) -> bytes:
        return content_at(self.path)

    def record_file(self) -> RecordFile:
        return read_record_file(self.name, self.read())

    def sidecar(self, metadata: SidecarMetadata) -> SidecarFile:
        return read_sidecar_file(metadata.name, self.read_sidecar(metadata.name), metadata.hash)

    def verify(self, quorum_at: QuorumAt, *, sidecars: bool) -> StreamFile:
        """Count its signature files, and read the copy of a signer."""
        if not self.published:
            return self
        votes = Votes(record_names.signature_name(self.name), quorum_at(self.instant))
        for node_id, path in self.signatures.items():
            votes.add_file(node_id, content_at(path))
        copies = (
            NodeCopy(file.name, file.node_id, file.read, file.read_sidecar) for file in (self, *self.copies)
        )
        return read_verified(votes.require(), copies, sidecars=sidecars)

    def read_sidecar(self, name: str) -> bytes:
        """Read a sidecar from the folder `sidecar` next to the record file, or from its folder."""
        folder = self.path.parent / record_names.SIDECAR_FOLDER
        for path in (folder / name, self.path.parent / name):
            if path.is_file():
                return content_at(path)
        raise SourceError(self.path, f"needs its sidecar {name}, which is missing", f"Put it into {folder}.")


FileOnDisk = LocalRecordFile | LocalBlockFile


def find_record_files(paths: Iterable[Path]) -> list[FileOnDisk]:
    """Return every record file once, in the order of time, then every block. Errors: StreamFileError."""
    files: dict[str, FileOnDisk] = {}
    for path in paths:
        for file in _files(path):
            files.setdefault(file.name, file)
    return sorted(files.values(), key=_order)


def _order(file: FileOnDisk) -> tuple[bool, int]:
    return (False, file.instant) if file.number is None else (True, file.number)


def _files(path: Path) -> Sequence[FileOnDisk]:
    if path.is_dir():
        return [*_files_below(path), *blocks_below(path)]
    if not path.is_file():
        raise SourceError(path, "does not exist")
    if block_names.is_block(path.name):
        return [local_block(path)]
    if not record_names.is_record(path.name):
        record_names.parse(path.name)
        raise SourceError(path, "is a signature or sidecar file, not a record file")
    return [LocalRecordFile(path.name, path, node_of(path, "record"))]


def _files_below(folder: Path) -> list[LocalRecordFile]:
    """Return the record files of a folder with their signature files and all copies."""
    copies: dict[str, list[LocalRecordFile]] = {}
    signatures: dict[str, dict[int, Path]] = {}
    for path in sorted(folder.rglob("*.rcd*")):
        if path.parent.name == record_names.SIDECAR_FOLDER or not path.is_file():
            continue
        if record_names.is_record(path.name):
            copies.setdefault(path.name, []).append(LocalRecordFile(path.name, path, node_of(path, "record")))
        elif record_names.is_signature(path.name):
            signatures.setdefault(record_names.parse(path.name).time, {}).setdefault(
                node_of(path, "record"), path
            )
    return [
        replace(
            first,
            # Nodes sign what they publish: in a node's folder a missing signature is a fault.
            published=bool(signatures) or first.node_id != UNKNOWN_NODE,
            signatures=signatures.get(record_names.parse(name).time, {}),
            copies=tuple(others),
        )
        for name, (first, *others) in copies.items()
    ]
