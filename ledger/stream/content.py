"""The content of a stream file: its stored bytes, decompressed where its name says so."""

import zlib
from typing import Protocol

import zstandard

from ledger.stream.errors import StreamFileError

MAX_STORED = 50 * 1024 * 1024
# Some twenty times the largest file seen; a few KiB of gzip can expand to gigabytes.
MAX_CONTENT = 256 * 1024 * 1024

_GZIP = 16 + zlib.MAX_WBITS
# A zstd block has at least 3 bytes and expands to at most 128 KiB: this bounds the output of a step.
_ZSTD_STEP = 1024
_ZSTD_MAX_WINDOW = 1 << 27


class FileName(Protocol):
    """The name of a stream file and its compressor, "" for plain files."""

    @property
    def name(self) -> str: ...
    @property
    def compressor(self) -> str: ...


def content_of(name: FileName, data: bytes, *, most: int = 0) -> bytes:
    """Return the bytes that hashes are over; so `most` bytes are allowed where that is more than usual.

    Errors: StreamFileError; its position is in the stored bytes.
    """
    most_stored, most = max(MAX_STORED, most), max(MAX_CONTENT, most)
    if len(data) > most_stored:
        raise StreamFileError(
            name.name, most_stored, f"{len(data)} bytes; stream files have at most {most_stored}"
        )
    if not data:
        raise StreamFileError(name.name, 0, "the file is empty", "Fetch it again, or from another node.")
    if name.compressor == "":
        return data
    if name.compressor == "gz":
        return _gunzip(name.name, data, most)
    if name.compressor in ("zstd", "zst"):
        return _unzstd(name.name, data, most)
    raise StreamFileError(
        name.name,
        0,
        f"compressed by {name.compressor}, which is not supported",
        "Store it with gzip (.gz), zstd (.zstd) or as it is.",
    )


def _gunzip(file: str, data: bytes, most: int) -> bytes:
    decompressor = zlib.decompressobj(_GZIP)
    try:
        content = decompressor.decompress(data, most + 1)
    except zlib.error as error:
        raise StreamFileError(
            file, 0, f"broken gzip data ({error})", "Fetch it again, or from another node."
        ) from error
    if len(content) > most:
        raise StreamFileError(file, len(data), f"unfolds to more than {most} bytes")
    if not decompressor.eof:
        raise StreamFileError(
            file, len(data), "the file ends inside its gzip data", "Fetch it again, or from another node."
        )
    if decompressor.unused_data:
        extra = len(decompressor.unused_data)
        raise StreamFileError(file, len(data) - extra, f"{extra} bytes follow the end of the gzip data")
    return content


def _unzstd(file: str, data: bytes, most: int) -> bytes:
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_MAX_WINDOW).decompressobj()
    pieces: list[bytes] = []
    length = position = 0
    while position < len(data) and not decompressor.eof:
        try:
            piece = decompressor.decompress(data[position : position + _ZSTD_STEP])
        except zstandard.ZstdError as error:
            raise StreamFileError(
                file, position, f"broken zstd data ({error})", "Fetch it again, or from another node."
            ) from error
        position += _ZSTD_STEP
        pieces.append(piece)
        length += len(piece)
        if length > most:
            raise StreamFileError(file, len(data), f"unfolds to more than {most} bytes")
    if not decompressor.eof:
        raise StreamFileError(
            file, len(data), "the file ends inside its zstd data", "Fetch it again, or from another node."
        )
    extra = len(decompressor.unused_data) + max(0, len(data) - position)
    if extra:
        raise StreamFileError(file, len(data) - extra, f"{extra} bytes follow the end of the zstd data")
    return b"".join(pieces)
