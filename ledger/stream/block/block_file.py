"""Block files (HIP-1056): a block of the block stream, read as a record file.

The content is a compressed `Block` message. There are two kinds: native blocks, and blocks that wrap a record
file of the time before (`wrapped`).

The next block repeats a native block's root hash, and its proof has a threshold signature of it.
"""

from functools import cache

import zstandard

from ledger.stream import block_names
from ledger.stream.block.block_items import BlockContent, read_items
from ledger.stream.block.block_signature import RECORD_FILE, signature_of
from ledger.stream.block.records import record_items
from ledger.stream.block.wrapped import read_wrapped
from ledger.stream.content import MAX_STORED, content_of
from ledger.stream.errors import NoTrustedSigners, StreamFileError, damaged
from ledger.stream.ledger_identity import FIRST_LEDGER, LedgerIdentity, WrongSignature
from ledger.stream.record_file import BlockSignature, RecordFile, times_of
from ledger.stream.record_item import RecordItem
from mirror.core import config, logs
from mirror.core.metrics import ingest
from mirror.core.values import timestamp
from mirror.core.values.hapi import wire
from mirror.core.values.hapi.messages import Block

log = logs.logger(__name__)

VERSION = block_names.BLOCK_VERSION

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_COMPRESSORS = ((_ZSTD_MAGIC, "zstd"), (b"\x1f\x8b", "gz"))
_TAG = wire.encode_varint(Block.ITEMS_FIELD_NUMBER << 3 | wire.LENGTH_DELIMITED)

_TRUST_ANYWAY = "If you trust where the block comes from, load it with --without-signatures."


def read_block_file(name: str, data: bytes) -> RecordFile:
    """Read a block; its digits may begin in folders before the name. Errors: StreamFileError."""
    parsed = block_names.parse(name)
    block = read_items(parsed.name, content_of(parsed, data, max_bytes=max_block_bytes()))
    file = record_file_of_block(block, parsed.number, len(data))
    file.original = data
    return file


def record_file_of_block(
    block: BlockContent, number: int, size: int, items: list[RecordItem] | None = None
) -> RecordFile:
    """Return the block as a record file, of these `items` if they are made. Errors: StreamFileError."""
    _check_number(block, number)
    if block.record_file is not None:
        return read_wrapped(block, size)
    root = block.root_hash()
    if items is None:
        items = record_items(block)
    # The time of a block without transactions is its own, formerly that of its last change.
    changed_at = None if block.prefixed else block.changed_at
    consensus_timestamp = timestamp.to_ns(block.header.block_timestamp) if changed_at is None else changed_at
    start, end = times_of(items, consensus_timestamp)
    software = block.header.software_version
    return RecordFile(
        name=block.name,
        version=VERSION,
        hapi_version=block.hapi_version,
        software_version=(software.major, software.minor, software.patch),
        hash=root.hex(),
        previous_hash=block.footer.previous_block_root_hash.hex(),
        block_number=number,
        consensus_start=start,
        consensus_end=end,
        size=size,
        items=items,
        round_start=block.rounds[0] if block.rounds else None,
        round_end=block.rounds[-1] if block.rounds else None,
        genesis=block.genesis_state(),
        block_signature=_signature(block, root, items),
    )


def read_block_time(name: str, data: bytes) -> int:
    """Return the time of the block (ns), from its header. Errors: StreamFileError."""
    parsed = block_names.parse(name)
    block = read_items(parsed.name, content_of(parsed, data, max_bytes=max_block_bytes()))
    return timestamp.to_ns(block.header.block_timestamp)


def _check_number(block: BlockContent, number: int) -> None:
    for part, stated in (("header", block.header.number), ("proof", block.proof.block)):
        if stated != number:
            raise StreamFileError(
                block.name,
                0,
                f"its {part} says that it is block {stated}, not {number}",
                "Give it the name of its number, or fetch it again.",
            )


def _signature(block: BlockContent, root: bytes, items: list[RecordItem]) -> BlockSignature | None:
    """Return the signature in the first proof; old blocks may have none. Errors: StreamFileError."""
    signature = signature_of(block, block.proof, root, items)
    if block.proof.WhichOneof("proof") == RECORD_FILE:
        raise damaged(block.name, "its proof holds signatures of a record file, but there is none in it")
    if signature is None and block.prefixed:
        raise damaged(block.name, "its proof is of no known kind")
    return signature


def verify(file: RecordFile, ledger: LedgerIdentity | None, *, first_block_trusted: bool = False) -> None:
    """Require that the nodes of a ledger have signed a block. Errors: StreamFileError.

    Where no ledger is known, the first block of a network may publish it itself, if that is trusted.
    """
    from ledger.stream.signature import threshold

    signature = file.block_signature
    if signature is None:
        raise StreamFileError(
            file.name, 0, "it has no threshold signature", _TRUST_ANYWAY, kind=ingest.SIGNATURES
        )
    trusted = ledger or _published_ledger(file, signature, first_block_trusted)
    try:
        threshold.verify(trusted, signature.root, signature.signature)
        _log_form(len(signature.signature))
        if ledger is None:
            _log_ledger(trusted.ledger_id.hex())
    except WrongSignature as error:
        raise _refused(file, signature, trusted, error) from error


def _published_ledger(file: RecordFile, signature: BlockSignature, is_trusted: bool) -> LedgerIdentity:
    """Return the ledger that the first block of a network publishes. Errors: NoTrustedSigners."""
    own = signature.ledger if file.block_number == 0 else None
    if own is None:
        raise NoTrustedSigners(
            file.name,
            0,
            "no ledger id of the network is known, so the signature of a block can't be verified",
            "Load the files before it, one of which publishes the ledger id, or name a file with the "
            f"publication by {FIRST_LEDGER}. {_TRUST_ANYWAY}",
        )
    if not is_trusted:
        network = config.value("network")
        raise NoTrustedSigners(
            file.name,
            0,
            f"no ledger id of the network {network} is known, and that the block publishes the ledger "
            f"{own.ledger_id.hex()} does not prove that it is of {network}",
            f"Name a file with the publication of {network} by {FIRST_LEDGER}; or if the block is of another "
            f"network, name that by {config.lookup('network').variable}.",
        )
    return own


def _refused(
    file: RecordFile, signature: BlockSignature, ledger: LedgerIdentity, error: WrongSignature
) -> StreamFileError:
    own = signature.ledger
    if own is not None and own.ledger_id != ledger.ledger_id:
        return StreamFileError(
            file.name,
            0,
            f"its threshold signature is refused: {error}; it is verified by the ledger "
            f"{ledger.ledger_id.hex()}, but publishes the ledger {own.ledger_id.hex()}",
            f"If a file is named by {FIRST_LEDGER}, see that it is of your network. If it is, the block is "
            "of another network: fetch it from your network's nodes.",
            kind=ingest.SIGNATURES,
        )
    return StreamFileError(
        file.name,
        0,
        f"its threshold signature is refused: {error}",
        f"Fetch it again, or from another node. If a file is named by {FIRST_LEDGER}, see that it is of your "
        f"network. {_TRUST_ANYWAY}",
        kind=ingest.SIGNATURES,
    )


@cache
def _log_form(length: int) -> None:
    """Log the length of the first signature of each form: after the first address book it becomes WRAPS."""
    from ledger.stream.signature import threshold

    log.info("signature_form", bytes=length, form="WRAPS" if length == threshold.WRAPS_LENGTH else "Schnorr")


@cache
def _log_ledger(ledger_id: str) -> None:
    """Log once that a ledger is trusted only because the first block publishes it."""
    log.warning("ledger_trusted_on_first_use", ledger_id=ledger_id, setting=FIRST_LEDGER)


# BYTES


def max_block_bytes() -> int:
    """Return how large a block file may be: an archived one may be as large as a block node may send."""
    most: int = config.value("importer.block.stream.maxBlockSize")
    return max(MAX_STORED, most)


class OriginalBlock:
    """A streamed block, compressed item by item: the items themselves need not stay in memory."""

    def __init__(self) -> None:
        self._compressor = zstandard.ZstdCompressor().compressobj()
        self._pieces: list[bytes] = []

    def add(self, item: bytes) -> None:
        for part in (_TAG + wire.encode_varint(len(item)), item):
            if piece := self._compressor.compress(part):
                self._pieces.append(piece)

    def finish(self) -> bytes:
        return b"".join((*self._pieces, self._compressor.flush()))


def content_of_stored(name: str, data: bytes) -> bytes:
    """Return the serialized `Block` that is stored as `data`, by any compressor. Errors: StreamFileError."""
    compressor = next((kind for magic, kind in _COMPRESSORS if data.startswith(magic)), "")
    return content_of(block_names.BlockFileName(name, 0, compressor), data, max_bytes=max_block_bytes())


def compressed(original: bytes) -> bytes:
    """Return the content of a block as zstd, which most are already. Errors: StreamFileError."""
    if original.startswith(_ZSTD_MAGIC):
        return original
    return zstandard.compress(content_of_stored("block", original))


def received(original: bytes) -> bytes:
    """Return a block as a serialized `Block`, as its name has no compressor; a streamed one is zstd."""
    if not original.startswith(_ZSTD_MAGIC):
        return original
    return zstandard.ZstdDecompressor().decompressobj().decompress(original)
