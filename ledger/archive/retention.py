"""Deleting archived files that are older than importer.archive.period.

Age is counted from the last block. Only files with the path and the name of an archived one are deleted.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import TypeVar

from ledger import loaded_ranges
from ledger.archive import location
from ledger.archive.store import ArchiveStore
from ledger.stream import block_names, record_names
from ledger.stream.block.block_file import read_block_time
from ledger.stream.errors import StreamFileError
from mirror.core import config, logs
from mirror.core.db import statements
from mirror.core.values.timestamp import NANOS_PER_SECOND

log = logs.logger(__name__)

_BATCH_SIZE = 1_000
_DROP_FAILURES = "delete from archive_failure where consensus_end < %s"
Item = TypeVar("Item")
_NODE_FOLDER = re.compile(rf"{location.RECORD_STREAMS}/record\d+\.\d+\.\d+", re.ASCII)


def drop_old(archive: ArchiveStore, network: str) -> int:
    """Delete files and failures that are too old; return how many files. Errors: ArchiveUnavailable."""
    period = config.value(location.PERIOD)
    if not period:
        return 0
    last = loaded_ranges.last_time()
    if last is None:
        return 0
    cutoff = int(last - period * NANOS_PER_SECOND)
    statements.execute(_DROP_FAILURES, [cutoff])
    dropped = 0
    for folder in archive.folders(location.RECORD_STREAMS):
        if not _NODE_FOLDER.fullmatch(folder):
            continue
        for subfolder in (f"{folder}/{record_names.SIDECAR_FOLDER}", folder):
            for paths in _chunks(_record_files(archive, subfolder, cutoff)):
                archive.delete(paths)
                dropped += len(paths)
    for blocks in _chunks(_blocks(archive, network)):
        expired = bisect_left(
            range(len(blocks)),
            cutoff,
            key=lambda index: _first_block_time(archive, network, blocks[index:], cutoff),  # noqa: B023
        )
        archive.delete([location.block_path(network, number) for number in blocks[:expired]])
        dropped += expired
        if expired < len(blocks):
            break
    return dropped


def _record_files(archive: ArchiveStore, folder: str, cutoff: int) -> Iterator[str]:
    """Yield the paths of record files, sidecars or signature files of a folder that begin before a time."""
    for path in archive.paths(folder):
        if path.rpartition("/")[0] != folder:
            continue
        try:
            if record_names.parse(path).instant >= cutoff:
                # Names sort by their times.
                return
        except StreamFileError:
            continue
        yield path


def _blocks(archive: ArchiveStore, network: str) -> Iterator[int]:
    for path in archive.paths(f"{network}/{block_names.FOLDER}"):
        try:
            number = block_names.parse(path).number
        except StreamFileError:
            continue
        if path == location.block_path(network, number):
            yield number


def _chunks(items: Iterator[Item]) -> Iterator[list[Item]]:
    while chunk := list(islice(items, _BATCH_SIZE)):
        yield chunk


def _first_block_time(archive: ArchiveStore, network: str, blocks: list[int], default: int) -> int:
    """Return the time of the first readable block (ns), or else `default`. Errors: ArchiveUnavailable."""
    for number in blocks:
        path = location.block_path(network, number)
        try:
            return read_block_time(path, archive.read(path))
        except StreamFileError as error:
            log.warning("archived_block_unreadable", path=path, reason=error.cause)
    return default
