"""Record files that have come in blocks, with the signatures that came with them.

Those signatures are of the whole file. So the file is whole in a proof, whatever its format, and its
signature files are of format 2.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ledger.proofs.state import blocks
from ledger.proofs.state.errors import NotFetched
from ledger.queries.state_proofs import StoredFile
from ledger.stream.block import wrapped
from ledger.stream.record.record_file import RecordFile
from ledger.stream.signature.signature_file import signature_content_v2


class WrappedFile(NamedTuple):
    """A record file, its content as nodes have signed it, and their signature files by node id."""

    record: RecordFile
    content: bytes
    signatures: Mapping[int, bytes]


def from_block(file: StoredFile, deadline: float) -> WrappedFile:
    """Return a record file from the block it has come in. Errors: NotFetched; StreamFileError."""
    serialized, block = blocks.found(file, deadline)
    if block.record_file is None:
        raise NotFetched(f"There is no record file in block {file.number}")
    record = wrapped.read_wrapped(block, len(serialized))
    if record.hash != file.hash:
        raise NotFetched(f"Another record file than {file.name} has been found in block {file.number}")
    assert record.wrapper is not None
    if record.wrapper.unsigned_amendments:
        raise NotFetched(f"Record file {file.name} was amended, which its signatures do not cover")
    file_hash = bytes.fromhex(record.file_hash)
    signatures = {
        node_id: signature_content_v2(file_hash, signature)
        for node_id, signature in record.wrapper.signatures
    }
    return WrappedFile(record, wrapped.signed_content(block, record), signatures)
