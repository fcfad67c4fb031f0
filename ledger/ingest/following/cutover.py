"""The cutover from record files to blocks (HIP-1193): which of the two streams to follow.

A network ends its record stream and continues with blocks at a time that is not announced. So from some
version of the network on, both streams are tried alternately until the first block is verified; from then on
there are only blocks. In a stage before that, record files may come wrapped in blocks; they are read there
while they come in time.
"""

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ledger.ingest.following.follower import StreamFollower
from ledger.stream.block import block_file
from ledger.stream.record_file import RecordFile
from ledger.stream.record_item import HapiVersion
from ledger.stream.source.stream_file import StreamFile
from mirror.core import config, logs
from mirror.core.config.setting import OperatorError
from mirror.core.db import statements
from mirror.core.values.timestamp import NANOS_PER_SECOND

log = logs.logger(__name__)

_BLOCK = "importer.block."
_CUTOVER = _BLOCK + "cutover."
_FIRST_STAGE = _CUTOVER + "firstStage."
# Networks that have a cutover ahead.
_EXPECTED = ("mainnet", "testnet")

# Index: the primary key (consensus_end).
_LAST = """
    select version, hapi_version_major, hapi_version_minor, hapi_version_patch, consensus_end
    from record_file order by consensus_end desc limit 1"""


class Stream(StrEnum):
    RECORD = "record files"
    BLOCK = "blocks"

    @property
    def other(self) -> "Stream":
        return Stream.BLOCK if self is Stream.RECORD else Stream.RECORD


class _Stage(StrEnum):
    # One stream for good.
    SINGLE = "plain"
    # Record files in blocks, and record files when these are late.
    FIRST = "first"
    # Both alternately, until the first block.
    ALTERNATING = "alternating"


@dataclass(frozen=True)
class LastFile:
    """The last file that is stored: its format, its HAPI version if it has one, its end (ns)."""

    version: int
    hapi_version: HapiVersion | None
    consensus_end: int

    @classmethod
    def stored(cls) -> "LastFile | None":
        row = statements.row(_LAST)
        if row is None:
            return None
        version, *hapi, end = row
        return cls(version, None if hapi[0] is None else (hapi[0], hapi[1], hapi[2]), end)

    @classmethod
    def from_record_file(cls, file: RecordFile) -> "LastFile":
        return cls(file.version, file.hapi_version, file.consensus_end)


class Choice:
    """Which stream to follow, by the settings, the last file, and what was found lately."""

    def __init__(
        self,
        last: LastFile | None,
        clock: Callable[[], float] = time.monotonic,
        *,
        starts_at_time: bool = False,
    ) -> None:
        """With `starts_at_time`, record files are followed until the first one is stored.

        Blocks are found by number, not by time. Errors: OperatorError.
        """
        self._clock = clock
        self._starts_at_time = starts_at_time
        self._last = last
        self._blocks: str = config.value(_BLOCK + "enabled")
        enabled = config.value(_CUTOVER + "enabled")
        self._is_expected = config.value("network") in _EXPECTED if enabled == "AUTO" else enabled == "true"
        self._single = _version(_CUTOVER + "hapiVersion")
        self._first = _version(_FIRST_STAGE + "hapiVersion")
        self._threshold: float = config.value(_CUTOVER + "threshold")
        self._check_after: float = config.value(_FIRST_STAGE + "latencyCheckThreshold")
        self._max_latency: float = config.value(_FIRST_STAGE + "maxLatency")
        self._changed_at = self._measured_at = self._clock()
        self._measured_end = last.consensus_end if last else 0
        self._stage = self._current_stage()
        self.stream = self._default_stream()

    def file_verified(self, file: RecordFile) -> None:
        self._last = LastFile.from_record_file(file)
        self._changed_at = self._clock()
        previous_stage, self._stage = self._stage, self._current_stage()
        if self._stage is not previous_stage and self._stage is not _Stage.SINGLE:
            self._measure()
        if self._stage is not previous_stage or self._stage is _Stage.SINGLE:
            self._change(self._default_stream())

    def nothing_new(self, *, fetching: bool = False) -> None:
        """Change the stream if need be, as it has nothing new; `fetching`: a file is being fetched."""
        if self._stage is _Stage.ALTERNATING and self._clock() - self._changed_at >= self._threshold:
            self._change(self.stream.other)
        elif self._stage is _Stage.FIRST:
            if fetching and self._clock() - self._changed_at < self._threshold:
                return
            if self.stream is Stream.RECORD:
                self._measure()
            self._change(self.stream.other)

    def is_late(self) -> bool:
        """Return whether record files in blocks are late, so that the record stream is read once."""
        if self._stage is not _Stage.FIRST or self.stream is not Stream.BLOCK or self._last is None:
            return False
        elapsed = self._clock() - self._measured_at
        streamed = (self._last.consensus_end - self._measured_end) / NANOS_PER_SECOND
        if elapsed < self._check_after or elapsed <= self._max_latency + streamed:
            return False
        self._change(Stream.RECORD)
        return True

    def _current_stage(self) -> _Stage:
        last = self._last
        if not self._is_expected or self._blocks == "true" or (last and last.version >= block_file.VERSION):
            return _Stage.SINGLE
        if last is None:
            return _Stage.SINGLE if self._starts_at_time else _Stage.ALTERNATING
        version = last.hapi_version or (0, 0, 0)
        if config.value(_FIRST_STAGE + "enabled") and version >= self._first:
            return _Stage.FIRST
        return _Stage.ALTERNATING if version >= self._single else _Stage.SINGLE

    def _default_stream(self) -> Stream:
        if self._stage is _Stage.SINGLE:
            has_blocks = self._last is not None and self._last.version >= block_file.VERSION
            return Stream.BLOCK if has_blocks or self._blocks == "true" else Stream.RECORD
        return Stream.BLOCK if self._stage is _Stage.FIRST else Stream.RECORD

    def _measure(self) -> None:
        self._measured_at = self._clock()
        self._measured_end = self._last.consensus_end if self._last else 0

    def _change(self, stream: Stream) -> None:
        if stream is not self.stream:
            log.info("stream_changed", before=self.stream.value, now=stream.value)
        self.stream, self._changed_at = stream, self._clock()


class CutoverFollower:
    """Follows one stream or the other, as the choice says; each begins after what is stored."""

    def __init__(self, choice: Choice, followers: Mapping[Stream, Callable[[], StreamFollower]]) -> None:
        self._choice = choice
        self._followers = followers
        self.problem: Any = None

    def files(self) -> Generator[StreamFile | None]:
        """Yield the files of either stream in order, None whenever the next is not there yet."""
        while True:
            stream = self._choice.stream
            follower = self._followers[stream]()
            with closing(follower.files()) as files:
                after_block = False
                for file in files:
                    yield file
                    self.problem = follower.problem
                    # After a block, the first None is a chance to store it: nothing has been waited for yet.
                    may_store = after_block and file is None
                    after_block = file is not None and stream is Stream.BLOCK
                    if may_store:
                        continue
                    if file:
                        self._choice.file_verified(file.record_file())
                        self._choice.is_late()
                    else:
                        self._choice.nothing_new(fetching=follower.fetching)
                    if self._choice.stream is not stream:
                        break
                else:
                    return
            # All files are stored when the second of these is consumed.
            yield None
            yield None


def _version(name: str) -> HapiVersion:
    parts = config.value(name).split(".")
    if len(parts) != 3 or not all(part.isdecimal() for part in parts):
        raise OperatorError(f"{config.lookup(name).variable} is no version such as 0.76.0.")
    major, minor, patch = map(int, parts)
    return major, minor, patch
