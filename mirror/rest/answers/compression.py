"""Bodies in fewer bytes, as `Accept-Encoding` prefers: br, gzip or deflate.

The levels are low: higher ones save a tenth of the bytes for several times the work.
"""

import zlib
from collections.abc import Callable
from functools import lru_cache

import brotli

#: What bodies below this many bytes are not worth.
THRESHOLD = 1024

# What a client that has no preference among them gets, in this order.
_ENCODINGS = ("br", "gzip", "deflate")
_IDENTITY = "identity"
#: What zlib takes for gzip.
GZIP_WINDOW = 31


def gzip(body: bytes) -> bytes:
    return zlib.compress(body, 1, wbits=GZIP_WINDOW)


def gunzip(data: bytes) -> bytes:
    return zlib.decompress(data, wbits=GZIP_WINDOW)


_COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "br": lambda body: brotli.compress(body, quality=2),
    "gzip": gzip,
    "deflate": lambda body: zlib.compress(body, 1),
}


def compress(body: bytes, encoding: str) -> bytes:
    """The body in one of the encodings that `preferred` gives."""
    return _COMPRESS[encoding](body)


@lru_cache(maxsize=256)
def preferred(accepted: str) -> str | None:
    """The encoding that a client with this `Accept-Encoding` gets; None for none."""
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
    """Coding -> quality; a quality that is no number counts as none."""
    found = {}
    for part in accepted.split(","):
        coding, *parameters = (piece.strip().lower() for piece in part.split(";"))
        quality = 1.0
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            if name.strip() == "q":
                try:
                    quality = float(value)
                except ValueError:
                    quality = 0.0
        found[coding] = quality
    return found
