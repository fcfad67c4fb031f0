"""Dropping kept files that are older than an operator wants to keep them.

Age is counted from the last block. Only files with the path and the name of a kept one go.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import TypeVar

from ledger.archive import layout
from ledger.archive.store import ArchiveStore
from ledger.stream.block import names as block_names
from ledger.stream.block.block_file import read_block_time
from ledger.stream.errors import StreamFileError
from ledger.stream.record import names
from mirror.core import logs

log = logs.logger(__name__)

_AT_ONCE = 1_000
Each = TypeVar("Each")
_NODE_FOLDER = re.compile(rf"{layout.RECORDS}/record\d+\.\d+\.\d+", re.ASCII)


def drop(place: ArchiveStore, network: str, before: int) -> int:
    """Delete the kept files from before a time (ns); return how many these were.

    Errors: PlaceAway.
    """
    dropped = 0
    for folder in place.folders(layout.RECORDS):
        if not _NODE_FOLDER.fullmatch(folder):
            continue
        for within in (f"{folder}/{names.SIDECAR_FOLDER}", folder):
            for paths in _portions(_record_files(place, within, before)):
                place.delete(paths)
                dropped += len(paths)
    for blocks in _portions(_blocks(place, network)):
        times = _Times(place, network, blocks, before)
        old = bisect_left(range(len(blocks)), before, key=times.at)
        place.delete([layout.block_path(network, number) for number in blocks[:old]])
        dropped += old
        if old < len(blocks):
            break
    return dropped


def _record_files(place: ArchiveStore, folder: str, before: int) -> Iterator[str]:
    """Yield the paths of record files, sidecars or signature files of a folder that begin before a time."""
    for path in place.paths(folder):
        if path.rpartition("/")[0] != folder:
            continue
        try:
            if names.parse(path).instant >= before:
                # Names sort by their times.
                return
        except StreamFileError:
            continue
        yield path


def _blocks(place: ArchiveStore, network: str) -> Iterator[int]:
    """Yield the numbers of all blocks, in order."""
    for path in place.paths(f"{network}/{block_names.FOLDER}"):
        try:
            number = block_names.parse(path).number
        except StreamFileError:
            continue
        if path == layout.block_path(network, number):
            yield number


def _portions(each: Iterator[Each]) -> Iterator[list[Each]]:
    while portion := list(islice(each, _AT_ONCE)):
        yield portion


class _Times:
    """The times of blocks. One that can't be read is as old as the next one that can; the last is new."""

    def __init__(self, place: ArchiveStore, network: str, blocks: list[int], new: int) -> None:
        self._place, self._network, self._blocks, self._new = place, network, blocks, new

    def at(self, index: int) -> int:
        """Errors: PlaceAway."""
        for number in islice(self._blocks, index, None):
            path = layout.block_path(self._network, number)
            try:
                return read_block_time(path, self._place.read(path))
            except StreamFileError as error:
                log.warning("archived_block_unreadable", path=path, reason=error.cause)
        return self._new
