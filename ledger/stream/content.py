"""The content of a stream file: its stored bytes, decompressed where its name says so."""

import zlib

from ledger.stream.errors import StreamFileError
from ledger.stream.names import StreamFileName

MAX_STORED = 50 * 1024 * 1024
# Some twenty times the largest files seen; a few KiB of gzip can unfold to gigabytes.
MAX_CONTENT = 256 * 1024 * 1024

_GZIP = 16 + zlib.MAX_WBITS


def content_of(name: StreamFileName, data: bytes) -> bytes:
    """The bytes all hashes are over. Errors: StreamFileError; its position is one of the stored bytes."""
    if len(data) > MAX_STORED:
        raise StreamFileError(
            name.name, MAX_STORED, f"{len(data)} bytes; stream files have at most {MAX_STORED}"
        )
    if not data:
        raise StreamFileError(name.name, 0, "the file is empty", "Fetch it again, or from another node.")
    if name.compressor == "":
        return data
    if name.compressor != "gz":
        raise StreamFileError(
            name.name,
            0,
            f"compressed by {name.compressor}, which is not supported",
            "Store it as .rcd.gz or .rcd.",
        )
    return _gunzip(name.name, data)


def _gunzip(file: str, data: bytes) -> bytes:
    decompressor = zlib.decompressobj(_GZIP)
    try:
        content = decompressor.decompress(data, MAX_CONTENT + 1)
    except zlib.error as error:
        raise StreamFileError(
            file, 0, f"broken gzip data ({error})", "Fetch it again, or from another node."
        ) from error
    if len(content) > MAX_CONTENT:
        raise StreamFileError(file, len(data), f"unfolds to more than {MAX_CONTENT} bytes")
    if not decompressor.eof:
        raise StreamFileError(
            file, len(data), "the file ends inside its gzip data", "Fetch it again, or from another node."
        )
    if decompressor.unused_data:
        extra = len(decompressor.unused_data)
        raise StreamFileError(file, len(data) - extra, f"{extra} bytes follow the end of the gzip data")
    return content
