"""Compression of bodies, as `Accept-Encoding` prefers: br, gzip or deflate.

The levels are low: higher ones save a tenth of the bytes for several times the work.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

import brotli

#: Bodies smaller than this many bytes are sent uncompressed.
THRESHOLD = 1024

# In the order in which a client without a preference gets them.
_ENCODINGS = ("br", "gzip", "deflate")
_IDENTITY = "identity"
#: The window size that makes zlib write gzip.
GZIP_WINDOW = 31


def gzip(body: bytes) -> bytes:
    return zlib.compress(body, 1, wbits=GZIP_WINDOW)


def gzip_chunks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Compress a body that comes in pieces. A body that breaks off has no end in gzip either."""
    compressor = zlib.compressobj(1, wbits=GZIP_WINDOW)
    for chunk in chunks:
        if compressed := compressor.compress(chunk):
            yield compressed
    yield compressor.flush()


def gunzip(data: bytes) -> bytes:
    return zlib.decompress(data, wbits=GZIP_WINDOW)


_COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "br": lambda body: brotli.compress(body, quality=2),
    "gzip": gzip,
    "deflate": lambda body: zlib.compress(body, 1),
}


def compress(body: bytes, encoding: str) -> bytes:
    """Compress the body in one of the encodings that `preferred` returns."""
    return _COMPRESS[encoding](body)


@lru_cache(maxsize=256)
def preferred(accepted: str) -> str | None:
    """Return the encoding that a client with this `Accept-Encoding` gets; None for none."""
    quality = _qualities(accepted)
    best = max(_ENCODINGS, key=lambda encoding: _quality(quality, encoding))
    highest = _quality(quality, best)
    return best if highest > 0 and highest >= quality.get(_IDENTITY, 0) else None


@lru_cache(maxsize=256)
def accepts_gzip(accepted: str) -> bool:
    return _quality(_qualities(accepted), "gzip") > 0


def _quality(qualities: dict[str, float], encoding: str) -> float:
    return qualities.get(encoding, qualities.get("*", 0))


def _qualities(accepted: str) -> dict[str, float]:
    """Return coding -> quality; a quality that is not a number counts as 0."""
    qualities = {}
    for part in accepted.split(","):
        coding, *parameters = (chunk.strip().lower() for chunk in part.split(";"))
        quality = 1.0
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            if name.strip() == "q":
                try:
                    quality = float(value)
                except ValueError:
                    quality = 0.0
        qualities[coding] = quality
    return qualities
