"""Block files (HIP-1056): a block of the block stream, read as a record file.

The content is a compressed `Block` message. There are two kinds: native blocks, and blocks that wrap a record
file of the time before (`wrapped`).

The next block repeats a native block's root hash, and its proof has a threshold signature of it, or of the
root hash of a later block that it leads to. Test networks without threshold signatures "sign" by the hash of
the root hash, which is compared here and counts as no signature.
"""

from collections.abc import Sequence
from typing import Any

from ledger.stream.block import names
from ledger.stream.block.items import BlockContent, read_items
from ledger.stream.block.proof import identity
from ledger.stream.block.proof.identity import LedgerIdentity
from ledger.stream.block.proof.state_proof import signed_root
from ledger.stream.block.proof.wrong import WrongSignature
from ledger.stream.block.record import record_items
from ledger.stream.block.wrapped import read_wrapped
from ledger.stream.content import content_of
from ledger.stream.errors import StreamFileError
from ledger.stream.record.item import RecordItem
from ledger.stream.record.record_file import BlockSignature, RecordFile
from mirror.metrics import ingest
from mirror.values import timestamp
from mirror.values.hashes import SHA_384_LENGTH, sha384
from mirror.values.transaction_types import NUMBERS

VERSION = 7
_TRUST_ANYWAY = "If you trust where the block comes from, load it with --without-signatures."
_LEDGER_ID_PUBLICATION = NUMBERS["LEDGERIDPUBLICATION"]


def read_block_file(name: str, data: bytes) -> RecordFile:
    """Read the block stored as `data` under `name`, whose digits may begin in the folders before it.

    Errors: StreamFileError when it is no block file, corrupt, or of another number than its name says.
    """
    parsed = names.parse(name)
    return of_content(read_items(parsed.name, content_of(parsed, data)), parsed.number, len(data))


def of_content(block: BlockContent, number: int, size: int) -> RecordFile:
    """Return the block with a number and a size in bytes as a record file. Errors: StreamFileError."""
    _check_number(block, number)
    if block.record_file is not None:
        return read_wrapped(block, size)
    root = block.root_hash()
    items = record_items(block)
    start, end = _times(block)
    return RecordFile(
        name=block.name,
        version=VERSION,
        hapi_version=block.hapi_version,
        software_version=_version(block.header.software_version),
        hash=root.hex(),
        previous_hash=block.footer.previous_block_root_hash.hex(),
        file_hash="",
        metadata_hash=None,
        block_number=number,
        consensus_start=start,
        consensus_end=end,
        size=size,
        items=items,
        round_start=block.rounds[0] if block.rounds else None,
        round_end=block.rounds[-1] if block.rounds else None,
        block_signature=_signature(block, root, items),
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


def _signature(block: BlockContent, root: bytes, items: Sequence[RecordItem]) -> BlockSignature | None:
    """Return the signature in the proof, with the root hash that it is of. Errors: StreamFileError.

    Blocks of the older generation may have none.
    """
    kind = block.proof.WhichOneof("proof")
    if kind == "signed_block_proof":
        signed, signature = root, block.proof.signed_block_proof.block_signature
    elif kind == "block_state_proof":
        proof = block.proof.block_state_proof
        signed, signature = _later_root(block, proof, root), proof.signed_block_proof.block_signature
    elif kind == "signed_record_file_proof":
        raise _unproved(block, "its proof holds signatures of a record file, but there is none in it")
    elif block.prefixed:
        raise _unproved(block, "its proof is of no known kind")
    else:
        return None
    if len(signature) == SHA_384_LENGTH and signature != sha384(signed):
        raise _unproved(block, f"its proof is not of the root hash of its items, {root.hex()}")
    return BlockSignature(signature, signed, _published_ledger(items))


def _later_root(block: BlockContent, proof: Any, root: bytes) -> bytes:
    try:
        return signed_root(proof, root)
    except WrongSignature as error:
        raise _unproved(block, str(error)) from error


def _published_ledger(items: Sequence[RecordItem]) -> LedgerIdentity | None:
    for item in items:
        if item.transaction_type == _LEDGER_ID_PUBLICATION and item.successful:
            return identity.of_publication(item.body.ledger_id_publication)
    return None


def _unproved(block: BlockContent, cause: str) -> StreamFileError:
    return StreamFileError(block.name, 0, cause, "Fetch it again, or from another node.")


def verify(file: RecordFile, ledger: LedgerIdentity | None) -> None:
    """Require that the nodes of a ledger have signed a block. Errors: StreamFileError.

    The first block of a network may publish the ledger itself.
    """
    from ledger.stream.block.proof import threshold

    signature = file.block_signature
    if signature is None:
        raise StreamFileError(
            file.name, 0, "it has no threshold signature", _TRUST_ANYWAY, kind=ingest.SIGNATURES
        )
    if ledger is None and file.block_number == 0:
        ledger = signature.ledger
    if ledger is None:
        raise StreamFileError(
            file.name,
            0,
            "no ledger id of the network is known, so the signature of a block can't be verified",
            "Load the files before it, one of which publishes the ledger id, or name a file with the "
            "publication by importer.block.initialLedgerIdPublication. " + _TRUST_ANYWAY,
            kind=ingest.SIGNATURES,
        )
    try:
        threshold.verify(ledger, signature.root, signature.signature)
    except WrongSignature as error:
        raise StreamFileError(
            file.name,
            0,
            f"its threshold signature is refused: {error}",
            "Fetch it again, or from another node. " + _TRUST_ANYWAY,
            kind=ingest.SIGNATURES,
        ) from error


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
