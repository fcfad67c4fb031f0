"""The content of a stream file: its stored bytes, decompressed where its name says so."""

import zlib
from typing import Any, Protocol

import zstandard

from ledger.stream.errors import StreamFileError, damaged

MAX_STORED = 50 * 1024 * 1024
# Some twenty times the largest file seen; a few KiB of gzip can expand to gigabytes.
MAX_CONTENT = 256 * 1024 * 1024

# A zstd block has at least 3 bytes and expands to at most 128 KiB, a byte of gzip to 1,032: steps of so many
# bytes bound the output.
_CHUNK_BYTES = {"gzip": 16 << 10, "zstd": 1 << 10}
_CODECS = {"gz": "gzip", "zstd": "zstd", "zst": "zstd"}
_GZIP = 16 + zlib.MAX_WBITS
_ZSTD_MAX_WINDOW = 1 << 27


class FileName(Protocol):
    """The name of a stream file and its compressor, "" for plain files."""

    @property
    def name(self) -> str: ...
    @property
    def compressor(self) -> str: ...


def content_of(name: FileName, data: bytes, *, max_bytes: int = 0) -> bytes:
    """Return the bytes that hashes are over; `max_bytes` may raise the limit. Errors: StreamFileError."""
    max_stored, max_bytes = max(MAX_STORED, max_bytes), max(MAX_CONTENT, max_bytes)
    if len(data) > max_stored:
        raise StreamFileError(
            name.name, max_stored, f"{len(data)} bytes; stream files have at most {max_stored}"
        )
    if not data:
        raise damaged(name.name, "the file is empty")
    if name.compressor == "":
        return data
    codec = _CODECS.get(name.compressor)
    if codec is None:
        raise StreamFileError(
            name.name,
            0,
            f"compressed by {name.compressor}, which is not supported",
            "Store it with gzip (.gz), zstd (.zstd) or as it is.",
        )
    return _decompressed(codec, name.name, data, max_bytes)


def _decompressed(codec: str, file: str, data: bytes, max_bytes: int) -> bytes:
    decompressor: Any = (
        zlib.decompressobj(_GZIP)
        if codec == "gzip"
        else zstandard.ZstdDecompressor(max_window_size=_ZSTD_MAX_WINDOW).decompressobj()
    )
    chunks: list[bytes] = []
    length = position = 0
    while position < len(data) and not decompressor.eof:
        try:
            chunk = decompressor.decompress(data[position : position + _CHUNK_BYTES[codec]])
        except (zlib.error, zstandard.ZstdError) as error:
            raise damaged(file, f"broken {codec} data ({error})", position) from error
        position += _CHUNK_BYTES[codec]
        chunks.append(chunk)
        length += len(chunk)
        if length > max_bytes:
            raise StreamFileError(file, len(data), f"unfolds to more than {max_bytes} bytes")
    if not decompressor.eof:
        raise damaged(file, f"the file ends inside its {codec} data", len(data))
    extra = len(decompressor.unused_data) + max(0, len(data) - position)
    if extra:
        raise StreamFileError(file, len(data) - extra, f"{extra} bytes follow the end of the {codec} data")
    return b"".join(chunks)
