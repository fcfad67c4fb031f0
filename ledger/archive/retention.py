"""Deleting archived files that are older than importer.archive.period.

Age is counted from the last block. Only files with the path and the name of an archived one are deleted.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import TypeVar

from ledger.archive import location
from ledger.archive.store import ArchiveStore
from ledger.stream.block import names as block_names
from ledger.stream.block.block_file import read_block_time
from ledger.stream.errors import StreamFileError
from ledger.stream.record import names
from mirror.core import config, logs
from mirror.core.db import loaded_ranges, statements
from mirror.core.values.timestamp import NANOS_PER_SECOND

log = logs.logger(__name__)

_AT_ONCE = 1_000
_DROP_FAILURES = "delete from archive_failure where consensus_end < %s"
Item = TypeVar("Item")
_NODE_FOLDER = re.compile(rf"{location.RECORD_STREAMS}/record\d+\.\d+\.\d+", re.ASCII)


def drop_old(archive: ArchiveStore, network: str) -> int:
    """Delete the files and the failures that are too old; return the number of files.

    Errors: ArchiveUnavailable.
    """
    period = config.value(location.PERIOD)
    if not period:
        return 0
    last = loaded_ranges.last_time()
    if last is None:
        return 0
    before = int(last - period * NANOS_PER_SECOND)
    statements.execute(_DROP_FAILURES, [before])
    dropped = 0
    for folder in archive.folders(location.RECORD_STREAMS):
        if not _NODE_FOLDER.fullmatch(folder):
            continue
        for within in (f"{folder}/{names.SIDECAR_FOLDER}", folder):
            for paths in _chunks(_record_files(archive, within, before)):
                archive.delete(paths)
                dropped += len(paths)
    for blocks in _chunks(_blocks(archive, network)):
        old = bisect_left(
            range(len(blocks)),
            before,
            key=lambda index: _time_of(archive, network, blocks[index:], before),  # noqa: B023
        )
        archive.delete([location.block_path(network, number) for number in blocks[:old]])
        dropped += old
        if old < len(blocks):
            break
    return dropped


def _record_files(archive: ArchiveStore, folder: str, before: int) -> Iterator[str]:
    """Yield the paths of record files, sidecars or signature files of a folder that begin before a time."""
    for path in archive.paths(folder):
        if path.rpartition("/")[0] != folder:
            continue
        try:
            if names.parse(path).instant >= before:
                # Names sort by their times.
                return
        except StreamFileError:
            continue
        yield path


def _blocks(archive: ArchiveStore, network: str) -> Iterator[int]:
    """Yield the numbers of all blocks, in order."""
    for path in archive.paths(f"{network}/{block_names.FOLDER}"):
        try:
            number = block_names.parse(path).number
        except StreamFileError:
            continue
        if path == location.block_path(network, number):
            yield number


def _chunks(items: Iterator[Item]) -> Iterator[list[Item]]:
    while chunk := list(islice(items, _AT_ONCE)):
        yield chunk


def _time_of(archive: ArchiveStore, network: str, blocks: list[int], new: int) -> int:
    """Return the time of the first block that can be read (ns), or else `new`. Errors: ArchiveUnavailable."""
    for number in blocks:
        path = location.block_path(network, number)
        try:
            return read_block_time(path, archive.read(path))
        except StreamFileError as error:
            log.warning("archived_block_unreadable", path=path, reason=error.cause)
    return new
