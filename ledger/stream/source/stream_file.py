"""Stream files where they lie: on disk, or published by nodes. Each reads and verifies itself."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from ledger.stream import record_names
from ledger.stream.errors import StreamFileError
from ledger.stream.record_file import RecordFile, SidecarFile, SidecarMetadata, read_sidecar_file
from ledger.stream.record_formats import read_record_file
from ledger.stream.signature.address_book import FIRST_NODE_ACCOUNT
from ledger.stream.signature.quorum import QuorumAt, SignedHashes, by_reason
from ledger.stream.source import incidents

# The node id of a file whose path does not name the node.
UNKNOWN_NODE = -1
Content = TypeVar("Content")
_ACCOUNT_FOLDER = re.compile(r"([a-z]+)\d+\.\d+\.(\d+)", re.ASCII)


def content_at(path: Path) -> bytes:
    """Return the bytes of a file on disk. Errors: StreamFileError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise StreamFileError(str(path), 0, f"cannot be read: {error.strerror}") from error


def node_of(path: Path, stream_name: str) -> int:
    """Return the node whose folder has a file: `<stream><shard.realm.num>/` or `<node id>/<stream>/`."""
    folder = path.parent
    if (match := _ACCOUNT_FOLDER.fullmatch(folder.name)) and match[1] == stream_name:
        return int(match[2]) - FIRST_NODE_ACCOUNT
    if folder.name == stream_name and folder.parent.name.isdecimal():
        return int(folder.parent.name)
    return UNKNOWN_NODE


class StreamFile(ABC):
    """A record file or a block.

    `published` says that it comes from where nodes publish files with signatures; `signed_by` are the nodes
    that are known to have signed it, and `proved` tells that a block has a threshold signature of the
    ledger's nodes, who stay unnamed. The name of a block tells its `number`, that of a record file its time.
    """

    name: str
    node_id: int
    number: int | None
    published: bool
    signed_by: tuple[int, ...]
    proved: bool = False

    @property
    def instant(self) -> int:
        """The time of the first transaction (ns)."""
        return record_names.parse(self.name).instant

    @property
    def stored_bytes(self) -> int:
        """The size of a file on disk, which any process can read; 0 for one that is in memory."""
        return 0

    @abstractmethod
    def record_file(self) -> RecordFile:
        """Read the file. Errors: StreamFileError."""

    @abstractmethod
    def sidecar(self, metadata: SidecarMetadata) -> SidecarFile:
        """Read one of its sidecars. Errors: StreamFileError."""

    @abstractmethod
    def verify(self, quorum_at: QuorumAt, *, sidecars: bool) -> "StreamFile":
        """Return the file verified by a quorum, or as it is if unsigned. Errors: StreamFileError."""


class NodeCopy(NamedTuple):
    """A record file as one node published it. Errors of its functions: StreamFileError."""

    name: str
    node_id: int
    read: Callable[[], bytes]
    read_sidecar: Callable[[str], bytes]


@dataclass(frozen=True)
class VerifiedFile(StreamFile):
    """A record file that a quorum signed, its sidecars, and signature files by the signers' accounts."""

    name: str
    node_id: int
    signed_by: tuple[int, ...]
    record: RecordFile
    sidecars: dict[str, SidecarFile]
    signatures: Mapping[int, bytes] = field(default_factory=dict)

    number = None
    published = True

    def record_file(self) -> RecordFile:
        return self.record

    def sidecar(self, metadata: SidecarMetadata) -> SidecarFile:
        return self.sidecars[metadata.name]

    def verify(self, quorum_at: QuorumAt, *, sidecars: bool) -> StreamFile:
        return self


def read_verified(signed: SignedHashes, copies: Iterable[NodeCopy], *, sidecars: bool) -> VerifiedFile:
    """Read the file that a quorum signed from the first signer with it intact. Errors: StreamFileError."""

    def read(copy: NodeCopy) -> VerifiedFile:
        record = read_record_file(copy.name, copy.read())
        signed.check(record)
        files = {
            name: read_sidecar_file(name, copy.read_sidecar(name), digest)
            for _, name, digest, _ in (record.sidecars if sidecars else ())
        }
        return VerifiedFile(record.name, copy.node_id, signed.signers, record, files, signed.files)

    return first_intact(signed, ((copy.node_id, partial(read, copy)) for copy in copies))


def first_intact(signed: SignedHashes, copies: Iterable[tuple[int, Callable[[], Content]]]) -> Content:
    """Return the first copy (node id, reader) that is intact and signed. Errors: StreamFileError."""
    problems: dict[int, str] = {}
    last: StreamFileError | None = None
    for node_id, read in copies:
        if node_id not in signed.signers:
            continue
        try:
            return read()
        except StreamFileError as error:
            incidents.note_error(f"node {node_id}", error)
            problems[node_id] = _reason(signed.data_name, error)
            last = error
    if last and len(problems) == 1:
        raise last
    raise StreamFileError(
        signed.data_name,
        0,
        "none of the nodes that signed it has an intact copy"
        + (f"; {by_reason(problems)}" if problems else ""),
        "It is tried again while loading goes on; or put an intact copy beside a signature.",
    )


def _reason(name: str, error: StreamFileError) -> str:
    """Say what is wrong with a copy, without saying whose copy it is."""
    file = error.file.rpartition("/")[2]
    position = f"byte {error.position}" if error.position else ""
    place = ", ".join(part for part in (file if file != name else "", position) if part)
    return f"{place}: {error.cause}" if place else error.cause
