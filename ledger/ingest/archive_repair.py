"""Files that could not be kept when they were loaded: fetched again from the source of the stream, and kept.

What is fetched has to have the hashes of the file that was verified and loaded. As these say nothing of its
signatures and proofs, those are verified again.
"""

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from django.db import connection

from ledger.archive import known_location
from ledger.archive.access import archive_bucket
from ledger.archive.layout import block_path
from ledger.archive.originals import ArchiveSelection, Original
from ledger.archive.published_files import Place, PublishedFiles
from ledger.archive.store import ArchiveStore
from ledger.ingest.errors import IngestError
from ledger.ingest.trust import Trust
from ledger.stream.block.block_file import VERSION, read_block_file
from ledger.stream.block.original import most_bytes
from ledger.stream.errors import NoTrustedSigners, StreamFileError
from ledger.stream.record.formats import read_record_file
from ledger.stream.record.names import signature_name
from ledger.stream.record.record_file import RecordFile, SidecarMetadata
from ledger.stream.record.sidecar import SidecarFile, read_sidecar_file
from ledger.stream.signature.quorum import Quorum, SignedHashes, Votes, least_for_proofs
from ledger.stream.source.blocks import FetchedBlock
from ledger.stream.source.configured import stream_bucket, stream_layout
from ledger.stream.source.download import Layout, PathType
from ledger.stream.source.stream_file import StreamFile, VerifiedFile
from mirror.core.metrics import ingest

if TYPE_CHECKING:
    from ledger.ingest.following.block_sources import BlockSource

_MOST_AT_ONCE = 1_000
_SECONDS_OF_A_BLOCK = 5.0

# Index: the primary keys (consensus_end).
_MISSING = """
    select n.consensus_end, r.consensus_start, n.name, r.index, r.hash, r.file_hash,
        r.version >= %s or r.wrapped_record_block_hash is not null, r.wrapped_record_block_hash
    from archive_failure n join record_file r on r.consensus_end = n.consensus_end
    where n.consensus_end > %s
    order by n.consensus_end limit %s"""
# Rows that retention has dropped are needed no more.
_DROPPED = """
    delete from archive_failure n
    where not exists (select from record_file r where r.consensus_end = n.consensus_end)"""
_KEPT = "delete from archive_failure where consensus_end = %s"
_STILL = "update archive_failure set reason = %s where consensus_end = %s"


class Missing(NamedTuple):
    consensus_end: int
    consensus_start: int
    name: str
    number: int
    hash: str
    file_hash: str
    is_block: bool
    wrapper_hash: bytes | None


class ArchiveRepair(NamedTuple):
    """How many files are kept now, and how many are still missing.

    The next look begins after `reached` (ns), so that files which the source has no more delay no others; it
    is 0 if none are left behind these.
    """

    kept: int
    missing: int
    reached: int = 0


def mend(
    place: ArchiveStore,
    wanted: ArchiveSelection,
    trust: Trust,
    location: str,
    stopping: threading.Event,
    *,
    after: int = 0,
) -> ArchiveRepair:
    """Keep the files that are missing, as far as the source at `location`, or the configured one, has them.

    It begins with those that end after a time (ns). Errors: PlaceAway, OperatorError.
    """
    with connection.cursor() as cursor:
        cursor.execute(_DROPPED)
        cursor.execute(_MISSING, [VERSION, after, _MOST_AT_ONCE])
        rows = [Missing(*row) for row in cursor.fetchall()]
    kept = 0
    with ExitStack() as stack:
        held, source = _Held(wanted, trust, stack), _Source(wanted, trust, location, stack)
        for row in rows:
            if stopping.is_set():
                break
            try:
                originals = () if held.has(row) else source.originals(row)
            except StreamFileError as error:
                _execute(_STILL, [f"{error.file}: {error.cause}", row.consensus_end])
                continue
            except IngestError as error:
                _execute(_STILL, [str(error), row.consensus_end])
                continue
            for original in originals:
                place.put(original.path, original.stored)
            place.settle()
            with connection.cursor() as cursor:
                if not kept:
                    known_location.note(cursor)
                cursor.execute(_KEPT, [row.consensus_end])
            ingest.KEPT.add()
            kept += 1
    return ArchiveRepair(kept, len(rows) - kept, rows[-1].consensus_end if len(rows) == _MOST_AT_ONCE else 0)


class _Held:
    """What the place has already: somebody may have loaded the file again, and kept it."""

    def __init__(self, wanted: ArchiveSelection, trust: Trust, stack: ExitStack) -> None:
        self._wanted, self._trust = wanted, trust
        self._bucket = archive_bucket()
        if self._bucket:
            layout = Layout(network=wanted.network, path_type=PathType.ACCOUNT_ID)
            self._files = PublishedFiles(Place(self._bucket, layout))
            stack.callback(self._files.close)

    def has(self, row: Missing) -> bool:
        """Tell if all that is wanted of a file is there, and intact."""
        if self._bucket is None:
            return False
        try:
            if row.is_block:
                self._read_block(row)
            else:
                self._read_record_file(row, self._trust.quorum_at(row.consensus_start))
        except (StreamFileError, IngestError):
            return False
        return True

    def _read_block(self, row: Missing) -> None:
        """Errors: StreamFileError, IngestError."""
        if not self._wanted.blocks or self._bucket is None:
            return
        path = block_path(self._wanted.network, row.number)
        file = read_block_file(path, self._bucket.read(path, most=most_bytes()))
        _verified(row, FetchedBlock(file.name, row.number, file, self._bucket.location), self._trust)

    def _read_record_file(self, row: Missing, quorum: Quorum) -> None:
        """Errors: StreamFileError."""
        if self._wanted.records:
            _sidecars(_record_file(row, self._files, quorum), self._files, quorum)
        if self._wanted.signatures:
            _signed(row, self._files, quorum)


class _Source:
    """The source of the stream, opened as far as it is needed."""

    def __init__(self, wanted: ArchiveSelection, trust: Trust, location: str, stack: ExitStack) -> None:
        self._wanted, self._trust, self._location, self._stack = wanted, trust, location, stack
        self._files: PublishedFiles | None = None
        self._blocks: BlockSource | None = None

    def originals(self, row: Missing) -> tuple[Original, ...]:
        """Return what is to be kept of a file. Errors: StreamFileError, OperatorError, IngestError."""
        return self._of_block(row) if row.is_block else self._of_record_file(row)

    def _of_block(self, row: Missing) -> tuple[Original, ...]:
        if self._blocks is None:
            # The library of block nodes takes 10 MB, which most nodes have no use for.
            from ledger.ingest.following.configured_blocks import open_block_source

            self._blocks = open_block_source(self._location)
            self._stack.callback(self._blocks.close)
        block = self._blocks.next(row.number, _SECONDS_OF_A_BLOCK)
        if block is None:
            raise StreamFileError(row.name, 0, f"{self._blocks.location} does not have it any more")
        try:
            verified = _verified(row, block, self._trust)
        except NoTrustedSigners:
            raise
        except StreamFileError as error:
            # Another block node may have it intact.
            self._blocks.refuse(error.cause)
            raise
        return self._wanted.originals(verified, block.file)

    def _of_record_file(self, row: Missing) -> tuple[Original, ...]:
        if self._files is None:
            self._files = PublishedFiles(Place(stream_bucket(self._location), stream_layout()))
            self._stack.callback(self._files.close)
        quorum = self._trust.quorum_at(row.consensus_start)
        quorum.require_nodes(row.name)
        record = _record_file(row, self._files, quorum)
        sidecars = _sidecars(record, self._files, quorum)
        signed = _signed(row, self._files, quorum)
        signed.check(record)
        verified = VerifiedFile(row.name, signed.signers[0], signed.signers, record, sidecars, signed.files)
        return self._wanted.originals(verified, record)


def _verified(row: Missing, block: FetchedBlock, trust: Trust) -> StreamFile:
    """Return the block of a row with its proof verified. Errors: StreamFileError, IngestError."""
    wrapper = block.file.wrapper
    same = block.file.hash == row.hash and (
        wrapper is None or row.wrapper_hash is None or wrapper.hash == bytes(row.wrapper_hash).hex()
    )
    _require(row, same)
    return block.verify(trust.quorum_at, sidecars=True)


def _record_file(row: Missing, files: PublishedFiles, quorum: Quorum) -> RecordFile:
    """Return the first copy that is the file of a row. Errors: StreamFileError."""

    def read(data: bytes) -> RecordFile:
        record = read_record_file(row.name, data)
        _require(row, (record.hash, record.file_hash) == (row.hash, row.file_hash))
        return record

    return files.record_file(row.name, quorum.accounts, read)


def _sidecars(record: RecordFile, files: PublishedFiles, quorum: Quorum) -> dict[str, SidecarFile]:
    """Errors: StreamFileError."""

    def one(each: SidecarMetadata) -> SidecarFile:
        return files.sidecar(
            each.name, quorum.accounts, lambda data: read_sidecar_file(each.name, data, each.hash)
        )

    return {each.name: one(each) for each in record.sidecars}


def _signed(row: Missing, files: PublishedFiles, quorum: Quorum) -> SignedHashes:
    """Return who signed a file: a quorum, and a third of the nodes. Errors: StreamFileError."""
    votes = Votes(signature_name(row.name), quorum)
    for node, data in files.signature_files(row.name, quorum.accounts).items():
        votes.add_file(node, data)
    signed = votes.require()
    _require(row, signed.file_hash == row.file_hash)
    least = least_for_proofs(len(quorum.accounts))
    if len(signed.signers) < least:
        raise StreamFileError(
            row.name, 0, f"the source has {len(signed.signers)} signatures of it, and {least} are needed"
        )
    return signed


def _require(row: Missing, same: bool) -> None:
    if not same:
        raise StreamFileError(row.name, 0, "the source has another file than the one that was loaded")


def _execute(statement: str, parameters: Sequence[str | int]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
