"""Names of block files, which are the numbers of blocks.

Older networks use 36 digits and `.blk.gz` (or `.blk` as received). Newer ones use 19 digits and `.blk.zstd`,
in a bucket with folders of four digits: block 7 is `0000/0000/0000/0000/007.blk.zstd`.
"""

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from ledger.stream.errors import StreamFileError

#: The number of blocks among the formats of stream files; record files are of format 1, 2, 5 or 6.
BLOCK_VERSION: Final = 7

EXTENSION = ".blk"
# Of blocks, below that of their network in a bucket.
FOLDER = "block"

_NAME = re.compile(
    r"(?P<digits>(?:\d{4}/){4}\d{3}|\d{36}|\d{19})\.blk(?:\.(?P<compressor>[A-Za-z0-9-]+))?", re.ASCII
)
_GROUPS = 5  # of a name cut into folders
_MAX_NUMBER = (1 << 63) - 1


@dataclass(frozen=True)
class BlockFileName:
    """A parsed name. `name` has its digits in one piece; `compressor` is "" for plain files."""

    name: str
    number: int
    compressor: str


def is_block(name: str) -> bool:
    """Return whether the last part of the name has the extension of blocks."""
    return EXTENSION in PurePath(name).suffixes


def in_bucket(number: int) -> str:
    """Return the path of a block below the folder of its network in a bucket: four digits for each folder."""
    digits = f"{number:019}"
    parts = [digits[start : start + 4] for start in range(0, len(digits), 4)]
    return "/".join((FOLDER, *parts)) + f"{EXTENSION}.zstd"


def streamed(number: int) -> str:
    """Return the name of a block that came from a block node."""
    return f"{number:019}{EXTENSION}"


def parse(name: str) -> BlockFileName:
    """Parse a name, whose digits may begin in the folders before it. Errors: StreamFileError."""
    parts = name.split("/")
    match = _NAME.fullmatch("/".join(parts[-_GROUPS:])) or _NAME.fullmatch(parts[-1])
    if match is None or int(match["digits"].replace("/", "")) > _MAX_NUMBER:
        raise StreamFileError(
            name,
            0,
            "not the name of a block file: 36 digits and .blk.gz, or 19 and .blk.zstd, such as "
            "0000/0000/0000/0000/007.blk.zstd",
        )
    digits = match["digits"].replace("/", "")
    compressor = match["compressor"] or ""
    extension = f"{EXTENSION}.{compressor}" if compressor else EXTENSION
    return BlockFileName(digits + extension, int(digits), compressor)
