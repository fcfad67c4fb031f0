"""Blocks of two sources, the second one for when the first one fails or has nothing new."""

import time
from collections.abc import Callable
from typing import Any

from ledger.ingest.following.block_sources import BlockSource
from ledger.stream.errors import StreamFileError
from ledger.stream.source.blocks import FetchedBlock
from mirror.core import logs

log = logs.logger(__name__)

# After so many errors in a row the other source is used.
_ERRORS = 3


class FailoverBlockSource:
    """Blocks of one source; after too many errors in a row of the other one, and so on.

    While the first one is not `usable`, all come from the second. When the current one has had nothing new
    for `patience` (s), the other one is tried: the network is quiet, or the current source has ended.
    """

    def __init__(
        self,
        first: BlockSource,
        second: BlockSource,
        usable: Callable[[], bool] = lambda: True,
        *,
        patience: float = 5.0,
    ) -> None:
        self._first, self._second = first, second
        self._usable, self._patience = usable, patience
        # Since when there has been nothing new, or when the other one was tried (monotonic seconds).
        self._quiet_since: float | None = None
        # Whether a change was warned of since the last block.
        self._warned = False
        self._errors = {id(first): 0, id(second): 0}
        # The number of the last block, which may still be refused.
        self._last_number: int | None = None
        self._uses_second = False
        self._current, self._why = first, ""
        self._choose("")

    @property
    def location(self) -> str:
        return self._current.location

    def next(self, number: int, seconds: float) -> FetchedBlock | None:
        if self._last_number is not None and number > self._last_number:
            # The last block was accepted, as a later one is read.
            self._errors[id(self._current)] = 0
            self._warned = False
        self._choose("block nodes are known" if self._current is self._second else "no block node is known")
        try:
            block = self._current.next(number, seconds)
        except StreamFileError:
            self._fail()
            raise
        if block is None:
            block = self._of_the_other(number, seconds)
        else:
            self._quiet_since = None
        self._last_number = block.number if block else None
        return block

    def refuse(self, reason: str = "") -> None:
        self._current.refuse(reason)
        self._fail()

    def status(self) -> dict[str, Any]:
        status = self._current.status()
        nodes = status["nodes"] or self._first.status()["nodes"]
        return status | {"why": status["why"] or self._why, "nodes": nodes}

    def close(self) -> None:
        self._first.close()
        self._second.close()

    def _of_the_other(self, number: int, seconds: float) -> FetchedBlock | None:
        """Return the block if the other source has it, and use that one from then on; try now and then."""
        now = time.monotonic()
        if self._quiet_since is None:
            self._quiet_since = now
        if now - self._quiet_since < self._patience or not self._usable():
            return None
        other = self._first if self._current is self._second else self._second
        try:
            block = other.next(number, seconds)
        except StreamFileError:
            # It is not needed yet: the network may be quiet.
            block = None
        self._quiet_since = time.monotonic()
        if block is not None:
            self._quiet_since, self._uses_second = None, other is self._second
            self._choose("the other source has nothing new")
        return block

    def _fail(self) -> None:
        self._last_number = self._quiet_since = None
        self._errors[id(self._current)] += 1
        if self._errors[id(self._current)] >= _ERRORS and self._usable():
            self._uses_second = self._current is self._first
            self._choose("the other source has failed too often")

    def _choose(self, why: str) -> None:
        before = self._current
        self._current = self._second if self._uses_second or not self._usable() else self._first
        if self._current is not before:
            self._why = why
            if not self._warned:
                log.warning(
                    "block_source_changed", before=before.location, now=self._current.location, reason=why
                )
            self._warned = True
