"""Block files (HIP-1056): a block of the block stream, read as a record file.

The content is a compressed `Block` message. There are two kinds: native blocks, and blocks that wrap a record
file of the time before (`wrapped`).

The next block repeats a native block's root hash, and its proof signs it. Networks without threshold
signatures "sign" by the hash of the root hash, which is checked here.
"""

from typing import Any

from ledger.stream.block import names
from ledger.stream.block.items import BlockContent, read_items
from ledger.stream.block.record import record_items
from ledger.stream.block.wrapped import read_wrapped
from ledger.stream.content import content_of
from ledger.stream.errors import StreamFileError
from ledger.stream.record.record_file import RecordFile
from mirror.values import timestamp
from mirror.values.hashes import SHA_384_LENGTH, sha384

VERSION = 7


def read_block_file(name: str, data: bytes) -> RecordFile:
    """Read the block stored as `data` under `name`, whose digits may begin in the folders before it.

    Errors: StreamFileError when it is no block file, corrupt, or of another number than its name says.
    """
    parsed = names.parse(name)
    block = read_items(parsed.name, content_of(parsed, data))
    _check_number(block, parsed.number)
    if block.record_file is not None:
        return read_wrapped(block, len(data))
    root = block.root_hash()
    _check_proof(block, root)
    items = record_items(block)
    start, end = _times(block)
    return RecordFile(
        name=parsed.name,
        version=VERSION,
        hapi_version=block.hapi_version,
        software_version=_version(block.header.software_version),
        hash=root.hex(),
        previous_hash=block.footer.previous_block_root_hash.hex(),
        file_hash="",
        metadata_hash=None,
        block_number=parsed.number,
        consensus_start=start,
        consensus_end=end,
        size=len(data),
        items=items,
        round_start=block.rounds[0] if block.rounds else None,
        round_end=block.rounds[-1] if block.rounds else None,
    )


def read_block_time(name: str, data: bytes) -> int:
    """Return the time of the block (ns), from its header. Errors: StreamFileError."""
    parsed = names.parse(name)
    return timestamp.of(read_items(parsed.name, content_of(parsed, data)).header.block_timestamp)


def _check_number(block: BlockContent, number: int) -> None:
    for part, stated in (("header", block.header.number), ("proof", block.proof.block)):
        if stated != number:
            raise StreamFileError(
                block.name,
                0,
                f"its {part} says that it is block {stated}, not {number}",
                "Give it the name of its number, or fetch it again.",
            )


def _check_proof(block: BlockContent, root: bytes) -> None:
    """Check the proof: a signature as short as a hash is the hash of the root hash."""
    if block.proof.HasField("signed_record_file_proof"):
        raise StreamFileError(
            block.name,
            0,
            "its proof holds signatures of a record file, but there is none in it",
            "Fetch it again, or from another node.",
        )
    signature = block.proof.signed_block_proof.block_signature
    if len(signature) == SHA_384_LENGTH and signature != sha384(root):
        raise StreamFileError(
            block.name,
            0,
            f"its proof is not of the root hash of its items, {root.hex()}",
            "Fetch it again, or from another node.",
        )


def _times(block: BlockContent) -> tuple[int, int]:
    """Return the consensus times of the first and the last transaction (ns).

    A block without transactions has its own time twice, or in the older generation that of its last change.
    """
    times = [timestamp.of(transaction.result.consensus_timestamp) for transaction in block.transactions]
    if times:
        return min(times), max(times)
    at = None if block.prefixed else block.changed_at
    if at is None:
        at = timestamp.of(block.header.block_timestamp)
    return at, at


def _version(version: Any) -> tuple[int, int, int]:
    return version.major, version.minor, version.patch
