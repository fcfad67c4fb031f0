"""The bytes of a block as files hold them: a compressed `Block` message."""

import zstandard

from ledger.stream.block import names
from ledger.stream.content import MAX_STORED, content_of
from mirror.core import config
from mirror.core.values.hapi import wire
from mirror.core.values.hapi.messages import Block

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_COMPRESSORS = ((_ZSTD_MAGIC, "zstd"), (b"\x1f\x8b", "gz"))
_TAG = wire.encode_varint(Block.ITEMS_FIELD_NUMBER << 3 | wire.LENGTH_DELIMITED)


def most_bytes() -> int:
    """Return how large a block file may be: an archived one may be as large as a block node may send."""
    most: int = config.value("importer.block.stream.maxBlockSize")
    return max(MAX_STORED, most)


class OriginalBlock:
    """A streamed block, compressed item by item: the items themselves need not stay in memory."""

    def __init__(self) -> None:
        self._compressor = zstandard.ZstdCompressor().compressobj()
        self._pieces: list[bytes] = []

    def add(self, item: bytes) -> None:
        """Add a serialized item."""
        for part in (_TAG + wire.encode_varint(len(item)), item):
            if piece := self._compressor.compress(part):
                self._pieces.append(piece)

    def finish(self) -> bytes:
        return b"".join((*self._pieces, self._compressor.flush()))


def content_of_stored(name: str, data: bytes) -> bytes:
    """Return the serialized `Block` that is stored as `data`, by any compressor. Errors: StreamFileError."""
    compressor = next((kind for magic, kind in _COMPRESSORS if data.startswith(magic)), "")
    return content_of(names.BlockFileName(name, 0, compressor), data, most=most_bytes())


def compressed(original: bytes) -> bytes:
    """Return the content of a block as zstd, which most are already. Errors: StreamFileError."""
    if original.startswith(_ZSTD_MAGIC):
        return original
    return zstandard.compress(content_of_stored("block", original))


def received(original: bytes) -> bytes:
    """Return a block whose name has no compressor as a serialized `Block` message.

    A streamed one is held as zstd, one of a file as it is there.
    """
    if not original.startswith(_ZSTD_MAGIC):
        return original
    return zstandard.ZstdDecompressor().decompressobj().decompress(original)
