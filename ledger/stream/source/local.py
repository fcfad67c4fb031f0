"""Record files and blocks below folders, in any bucket layout, or named one by one.

A folder is searched for record data files; below it may stand `recordstreams/record<shard.realm.num>/` or
`<network>/<shard>/<nodeId>/record/`, the copies of several nodes, or loose files. Of the copies of one file
the first in path order is taken: they hold the same bytes once decompressed, which the hash chain proves.
Where there are signature files, and in folders of a bucket layout, where there should be, a majority of the
nodes has to have signed what is taken. Block files
(`block_source`) come after all record files: a network goes over from these to those.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ledger.stream.block import names as block_name
from ledger.stream.errors import StreamFileError
from ledger.stream.record import names
from ledger.stream.record.formats import read_record_file
from ledger.stream.record.record_file import RecordFile, SidecarMetadata
from ledger.stream.record.sidecar import SidecarFile, read_sidecar_file
from ledger.stream.signature.quorum import Ballot, Electorate
from ledger.stream.source.blocks import LocalBlockFile, block_file, blocks_below
from ledger.stream.source.stream_file import VerifiedFile, read_verified

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
    """A record data file on disk and the node whose folder it lies in (-1 when the path does not say).

    `published` says that it comes from where nodes publish, a bucket layout or a folder with signature files:
    `signatures` are those of this file by node id, `copies` the same file of other nodes.
    """

    name: str
    path: Path
    node_id: int
    published: bool = False
    signatures: Mapping[int, Path] = field(default_factory=dict)
    copies: Sequence["LocalRecordFile"] = ()

    @property
    def instant(self) -> int:
        """Consensus time of the file's first transaction, from its name (ns)."""
        return names.parse(self.name).instant

    def read(self) -> bytes:
        return _content(self.path)

    def record_file(self) -> RecordFile:
        return read_record_file(self.name, self.read())

    def sidecar(self, metadata: SidecarMetadata) -> SidecarFile:
        return read_sidecar_file(metadata.name, self.read_sidecar(metadata.name), metadata.hash)

    def verified(self, electorate: Electorate, *, sidecars: bool) -> VerifiedFile:
        """The file, from one of the nodes a majority of which signed it. Errors: StreamFileError."""
        ballot = Ballot(names.signature_name(self.name), electorate)
        for node_id, path in self.signatures.items():
            ballot.count(node_id, _content(path))
        return read_verified(ballot.require(), (self, *self.copies), sidecars=sidecars)

    def read_sidecar(self, name: str) -> bytes:
        """A sidecar lies in the folder `sidecar` beside its record file; loose ones right beside it."""
        folder = self.path.parent / names.SIDECAR_FOLDER
        for path in (folder / name, self.path.parent / name):
            if path.is_file():
                return _content(path)
        raise SourceError(self.path, f"needs its sidecar {name}, which is missing", f"Put it into {folder}.")


def find_record_files(paths: Iterable[Path]) -> list[LocalRecordFile | LocalBlockFile]:
    """Every record data file of `paths` once, in the order of their consensus time; then every block.

    Errors: StreamFileError for a path that does not exist or a file that is neither.
    """
    found: dict[str, LocalRecordFile | LocalBlockFile] = {}
    for path in paths:
        for file in _files(path):
            found.setdefault(file.name, file)
    return sorted(found.values(), key=_order)


def _order(file: LocalRecordFile | LocalBlockFile) -> tuple[bool, int]:
    return (True, file.number) if isinstance(file, LocalBlockFile) else (False, file.instant)


def _files(path: Path) -> Sequence[LocalRecordFile | LocalBlockFile]:
    if path.is_dir():
        return [*_files_below(path), *blocks_below(path)]
    if not path.is_file():
        raise SourceError(path, "does not exist")
    if block_name.is_block(path.name):
        return [block_file(path)]
    if not _is_record_data(path.name):
        names.parse(path.name)
        raise SourceError(path, "is a signature or sidecar file, not a record file")
    return [LocalRecordFile(path.name, path, _node_id(path))]


def _files_below(folder: Path) -> list[LocalRecordFile]:
    """The record files of a folder with their signature files and all copies."""
    copies: dict[str, list[LocalRecordFile]] = {}
    signatures: dict[str, dict[int, Path]] = {}
    for path in sorted(folder.rglob("*.rcd*")):
        if path.parent.name == names.SIDECAR_FOLDER or not path.is_file():
            continue
        if _is_record_data(path.name):
            copies.setdefault(path.name, []).append(LocalRecordFile(path.name, path, _node_id(path)))
        elif _is_signature(path.name):
            signatures.setdefault(names.parse(path.name).time, {}).setdefault(_node_id(path), path)
    return [
        replace(
            first,
            # A node that publishes signs: in its folder a missing signature is a fault, not a custom.
            published=bool(signatures) or first.node_id != UNKNOWN_NODE,
            signatures=signatures.get(names.parse(name).time, {}),
            copies=tuple(others),
        )
        for name, (first, *others) in copies.items()
    ]


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceError(path, f"cannot be read: {error.strerror}") from error


def _is_record_data(name: str) -> bool:
    try:
        parsed = names.parse(name)
    except StreamFileError:
        return False
    return parsed.sidecar is None and not parsed.is_signature


def _is_signature(name: str) -> bool:
    try:
        return names.parse(name).is_signature
    except StreamFileError:
        return False


def _node_id(path: Path) -> int:
    folder = path.parent
    if match := _ACCOUNT_FOLDER.fullmatch(folder.name):
        return int(match[1]) - _FIRST_NODE_ACCOUNT
    if folder.name == "record" and folder.parent.name.isdecimal():
        return int(folder.parent.name)
    return UNKNOWN_NODE
