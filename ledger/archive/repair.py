"""Archiving files that could not be archived when they were loaded: copies from the source of the stream.

A copy has to have the hashes of the file that was verified and loaded. As these do not cover its signatures
and proofs, those are verified again.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import NamedTuple

from django.db import connection

from ledger.archive.location import block_path, set_in_use
from ledger.archive.originals import ArchiveSelection, Original
from ledger.archive.published_files import NodeFolders
from ledger.archive.store import ArchiveStore, archive_bucket
from ledger.stream.block.block_file import VERSION, max_block_bytes, read_block_file
from ledger.stream.errors import NoTrustedSigners, StreamFileError
from ledger.stream.record_file import RecordFile, SidecarFile, SidecarMetadata, read_sidecar_file
from ledger.stream.record_formats import read_record_file
from ledger.stream.record_names import SIDECAR_FOLDER, signature_name
from ledger.stream.signature.quorum import Quorum, QuorumAt, SignedHashes, Votes, required_for_proofs
from ledger.stream.source.bucket import Bucket
from ledger.stream.source.configured import stream_bucket, stream_layout
from ledger.stream.source.download import Layout, PathType
from ledger.stream.source.stream_blocks import BlockSource, FetchedBlock
from ledger.stream.source.stream_file import StreamFile, VerifiedFile
from mirror.core.db import statements
from mirror.core.metrics import ingest

_MAX_FILES = 1_000
_BLOCK_TIMEOUT_SECONDS = 5.0

# Index: the primary keys (consensus_end).
_MISSING = """
    select n.consensus_end, r.consensus_start, n.name, r.index, r.hash, r.file_hash,
        r.version >= %s or r.wrapped_record_block_hash is not null, r.wrapped_record_block_hash
    from archive_failure n join record_file r on r.consensus_end = n.consensus_end
    where n.consensus_end > %s
    order by n.consensus_end limit %s"""
# Rows whose files retention has dropped from the tables.
_DROPPED = """
    delete from archive_failure n
    where not exists (select from record_file r where r.consensus_end = n.consensus_end)"""
_ARCHIVED = "delete from archive_failure where consensus_end = %s"
_STILL_MISSING = "update archive_failure set reason = %s where consensus_end = %s"


class RepairSource(NamedTuple):
    """Where copies come from, `location` or the configured bucket, and what verifies them."""

    location: str
    open_blocks: Callable[[str], BlockSource]
    quorum_at: QuorumAt


class ArchiveRepair(NamedTuple):
    """How many files were archived and are missing, and after which time (ns) the next repair starts."""

    archived: int
    missing: int
    resume_after: int = 0


class _Missing(NamedTuple):
    consensus_end: int
    consensus_start: int
    name: str
    number: int
    hash: str
    file_hash: str
    is_block: bool
    wrapper_hash: bytes | None

    def require(self, is_same: bool) -> None:
        """Errors: StreamFileError."""
        if not is_same:
            raise StreamFileError(self.name, 0, "the source has another file than the one that was loaded")


def repair(
    archive: ArchiveStore,
    selection: ArchiveSelection,
    source: RepairSource,
    stopping: threading.Event,
    *,
    after: int = 0,
) -> ArchiveRepair:
    """Archive the missing files that end after a time (ns). Errors: ArchiveUnavailable, OperatorError."""
    statements.execute(_DROPPED)
    rows = [_Missing(*row) for row in statements.rows(_MISSING, [VERSION, after, _MAX_FILES])]
    archived = 0
    with ExitStack() as stack:
        copies = _Copies(selection, source, stack)
        for row in rows:
            if stopping.is_set():
                break
            try:
                originals = () if copies.are_archived(row) else copies.originals(row)
            except StreamFileError as error:
                statements.execute(_STILL_MISSING, [f"{error.file}: {error.cause}", row.consensus_end])
                continue
            for original in originals:
                archive.put(original.path, original.stored)
            archive.sync()
            with connection.cursor() as cursor:
                if not archived:
                    set_in_use(cursor)
                cursor.execute(_ARCHIVED, [row.consensus_end])
            ingest.ARCHIVED.inc()
            archived += 1
    resume_after = rows[-1].consensus_end if len(rows) == _MAX_FILES else 0
    return ArchiveRepair(archived, len(rows) - archived, resume_after)


class _Copies:
    """Copies of missing files, in the archive and in the source; both are opened when they are needed."""

    def __init__(self, selection: ArchiveSelection, source: RepairSource, stack: ExitStack) -> None:
        self._selection, self._source, self._stack = selection, source, stack

    def are_archived(self, row: _Missing) -> bool:
        """Return whether the archive has an intact copy, as after the file was loaded again."""
        bucket = self._archive
        if bucket is None:
            return False
        try:
            if row.is_block:
                if self._selection.blocks:
                    path = block_path(self._selection.network, row.number)
                    file = read_block_file(path, bucket.read(path, max_bytes=max_block_bytes()))
                    self._verified_block(row, FetchedBlock(file.name, row.number, file, bucket.location))
                return True
            quorum = self._source.quorum_at(row.consensus_start)
            files = self._archived_files
            if self._selection.records:
                _sidecars(_record_file(row, files, quorum), files, quorum)
            if self._selection.signatures:
                _verified_signatures(row, files, quorum)
        except StreamFileError:
            return False
        return True

    def originals(self, row: _Missing) -> Sequence[Original]:
        """Return what to archive of a file, from the source. Errors: StreamFileError, OperatorError."""
        if row.is_block:
            return self._block_originals(row)
        quorum = self._source.quorum_at(row.consensus_start)
        quorum.require_nodes(row.name)
        files = self._published_files
        record = _record_file(row, files, quorum)
        sidecars = _sidecars(record, files, quorum)
        signed = _verified_signatures(row, files, quorum)
        signed.check(record)
        verified = VerifiedFile(row.name, signed.signers[0], signed.signers, record, sidecars, signed.files)
        return self._selection.originals(verified, record)

    def _block_originals(self, row: _Missing) -> Sequence[Original]:
        blocks = self._blocks
        block = blocks.next(row.number, _BLOCK_TIMEOUT_SECONDS)
        if block is None:
            raise StreamFileError(row.name, 0, f"{blocks.location} does not have it any more")
        try:
            return self._selection.originals(self._verified_block(row, block), block.file)
        except NoTrustedSigners:
            raise
        except StreamFileError as error:
            # Another block node may have it intact.
            blocks.reject(error.cause)
            raise

    def _verified_block(self, row: _Missing, block: FetchedBlock) -> StreamFile:
        """Return the block of a row with its proof verified. Errors: StreamFileError."""
        wrapper = block.file.wrapper
        row.require(
            block.file.hash == row.hash
            and (wrapper is None or row.wrapper_hash is None or wrapper.hash == bytes(row.wrapper_hash).hex())
        )
        return block.verify(self._source.quorum_at, sidecars=True)

    @cached_property
    def _archive(self) -> Bucket | None:
        return archive_bucket()

    @cached_property
    def _archived_files(self) -> NodeFolders:
        assert self._archive is not None
        return NodeFolders(
            self._archive, Layout(network=self._selection.network, path_type=PathType.ACCOUNT_ID)
        )

    @cached_property
    def _published_files(self) -> NodeFolders:
        return NodeFolders(stream_bucket(self._source.location), stream_layout(Layout))

    @cached_property
    def _blocks(self) -> BlockSource:
        blocks = self._source.open_blocks(self._source.location)
        self._stack.callback(blocks.close)
        return blocks


def _record_file(row: _Missing, files: NodeFolders, quorum: Quorum) -> RecordFile:
    """Return the first copy that is the file of a row. Errors: StreamFileError."""

    def read(data: bytes) -> RecordFile:
        record = read_record_file(row.name, data)
        row.require((record.hash, record.file_hash) == (row.hash, row.file_hash))
        return record

    return files.first(row.name, quorum.accounts, read)


def _sidecars(record: RecordFile, files: NodeFolders, quorum: Quorum) -> dict[str, SidecarFile]:
    """Errors: StreamFileError."""

    def sidecar(metadata: SidecarMetadata) -> SidecarFile:
        name, digest = metadata.name, metadata.hash
        path = f"{SIDECAR_FOLDER}/{name}"
        return files.first(path, quorum.accounts, lambda data: read_sidecar_file(name, data, digest))

    return {metadata.name: sidecar(metadata) for metadata in record.sidecars}


def _verified_signatures(row: _Missing, files: NodeFolders, quorum: Quorum) -> SignedHashes:
    """Return the signatures of a file: of a quorum, and of a third of the nodes. Errors: StreamFileError."""
    votes = Votes(signature_name(row.name), quorum)
    for node, data in files.signature_files(row.name, quorum.accounts).items():
        votes.add_file(node, data)
    signed = votes.require()
    row.require(signed.file_hash == row.file_hash)
    required = required_for_proofs(len(quorum.accounts))
    if len(signed.signers) < required:
        raise StreamFileError(
            row.name, 0, f"the source has {len(signed.signers)} signatures of it, and {required} are needed"
        )
    return signed
