"""A record file that a majority signed, read from one of the nodes that did."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from ledger.stream.errors import StreamFileError
from ledger.stream.record import names
from ledger.stream.record.formats import read_record_file
from ledger.stream.record.record_file import RecordFile, SidecarMetadata
from ledger.stream.record.sidecar import SidecarFile, read_sidecar_file
from ledger.stream.signature.quorum import Agreement, by_reason


class StreamFile(Protocol):
    """A record file as the pipeline takes it; `instant` is the time of its first transaction (ns)."""

    @property
    def name(self) -> str: ...
    @property
    def node_id(self) -> int: ...
    @property
    def instant(self) -> int: ...
    def record_file(self) -> RecordFile:
        """Errors: StreamFileError."""
        ...

    def sidecar(self, metadata: SidecarMetadata) -> SidecarFile:
        """Errors: StreamFileError."""
        ...


class NodeCopy(Protocol):
    """A record file as one node published it."""

    @property
    def name(self) -> str: ...
    @property
    def node_id(self) -> int: ...
    def read(self) -> bytes:
        """Errors: StreamFileError."""
        ...

    def read_sidecar(self, name: str) -> bytes:
        """Errors: StreamFileError."""
        ...


@dataclass(frozen=True)
class VerifiedFile:
    """A record file with its sidecars, all of them read and checked; `signed_by` are the majority's nodes."""

    name: str
    node_id: int
    signed_by: tuple[int, ...]
    record: RecordFile
    sidecars: dict[str, SidecarFile]

    @property
    def instant(self) -> int:
        return names.parse(self.name).instant

    def record_file(self) -> RecordFile:
        return self.record

    def sidecar(self, metadata: SidecarMetadata) -> SidecarFile:
        return self.sidecars[metadata.name]


def read_verified(agreement: Agreement, copies: Iterable[NodeCopy], *, sidecars: bool) -> VerifiedFile:
    """Read the file a majority agreed on from the first of its nodes that has it intact.

    Only copies of these nodes are looked at. Without `sidecars` these are not read. Errors: StreamFileError
    when no node has it; it names what is wrong with each copy.
    """
    problems: list[tuple[int, str]] = []
    last: StreamFileError | None = None
    for copy in copies:
        if copy.node_id not in agreement.nodes:
            continue
        try:
            record = read_record_file(copy.name, copy.read())
            agreement.check(record)
            read = {}
            for metadata in record.sidecars if sidecars else ():
                data = copy.read_sidecar(metadata.name)
                read[metadata.name] = read_sidecar_file(metadata.name, data, metadata.hash)
        except StreamFileError as error:
            problems.append((copy.node_id, _reason(copy.name, error)))
            last = error
            continue
        return VerifiedFile(record.name, copy.node_id, agreement.nodes, record, read)
    if last and len(problems) == 1:
        raise last
    raise StreamFileError(
        agreement.data_name,
        0,
        "none of the nodes that signed it has an intact copy"
        + (f"; {by_reason(dict(problems))}" if problems else ""),
        "It is tried again while loading goes on; or put an intact copy beside a signature.",
    )


def _reason(name: str, error: StreamFileError) -> str:
    """What is wrong with a copy, in words that do not depend on whose it is."""
    file = error.file.rpartition("/")[2]
    position = f"byte {error.position}" if error.position else ""
    place = ", ".join(part for part in (file if file != name else "", position) if part)
    return f"{place}: {error.cause}" if place else error.cause
