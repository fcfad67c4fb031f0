"""The files to archive of a verified stream file: paths as in a bucket, and the bytes as received."""

from dataclasses import dataclass
from typing import NamedTuple

from ledger.archive import location
from ledger.archive.location import BLOCKS, RECORDS, SIGNATURES
from ledger.stream import block_names, record_names
from ledger.stream.block import block_file
from ledger.stream.block.block_file import compressed, received
from ledger.stream.record_file import RecordFile, SidecarFile
from ledger.stream.source.stream_file import StreamFile, VerifiedFile
from mirror.core import config


class Original(NamedTuple):
    """A file of a bucket. A block may still have to be compressed with zstd."""

    path: str
    data: bytes

    @property
    def stored(self) -> bytes:
        """Errors: StreamFileError."""
        return compressed(self.data) if self.path.endswith(".zstd") else self.data


@dataclass(frozen=True)
class ArchiveSelection:
    """The settings that select what is archived."""

    records: bool
    signatures: bool
    blocks: bool
    network: str

    @classmethod
    def from_settings(cls) -> "ArchiveSelection":
        return cls(
            config.value(RECORDS), config.value(SIGNATURES), config.value(BLOCKS), config.value("network")
        )

    @property
    def is_enabled(self) -> bool:
        return self.records or self.signatures or self.blocks

    def originals(self, source: StreamFile, file: RecordFile) -> tuple[Original, ...]:
        """Return what to archive of a file with verified signatures: one copy, of the lowest signer."""
        if isinstance(source, VerifiedFile):
            return self._record_file_originals(source)
        if not self.blocks or file.original is None or source.number is None:
            return ()
        if not source.proved and not source.signed_by:
            return ()
        return (Original(location.block_path(self.network, source.number), file.original),)

    def _record_file_originals(self, source: VerifiedFile) -> tuple[Original, ...]:
        if not source.signatures or source.record.original is None:
            return ()
        account, originals = min(source.signatures), list[Original]()
        if self.records:
            originals.append(Original(location.record_path(account, source.name), source.record.original))
            for name, sidecar in source.sidecars.items():
                if sidecar.original is not None:
                    path = location.record_path(account, f"{record_names.SIDECAR_FOLDER}/{name}")
                    originals.append(Original(path, sidecar.original))
        if self.signatures:
            name = record_names.signature_name(source.name)
            for signer, data in source.signatures.items():
                originals.append(Original(location.record_path(signer, name), data))
        return tuple(originals)


@dataclass(frozen=True)
class StoredBytes:
    """The settings that select which files are stored in the database, with the rows of their blocks."""

    records: bool
    sidecars: bool
    blocks: bool

    @classmethod
    def from_settings(cls) -> "StoredBytes":
        return cls(
            config.value("importer.downloader.record.persistBytes"),
            config.value("importer.parser.record.sidecar.persistBytes"),
            config.value("importer.block.persistBytes"),
        )

    def record_file_bytes(self, file: RecordFile) -> bytes | None:
        """Return what is stored of a file: its bytes as read; of a streamed block the message."""
        is_block = file.version >= block_file.VERSION or file.wrapper is not None
        if file.original is None or not (self.blocks if is_block else self.records):
            return None
        return received(file.original) if file.name.endswith(block_names.EXTENSION) else file.original

    def sidecar_bytes(self, sidecar: SidecarFile) -> bytes | None:
        return sidecar.original if self.sidecars else None
