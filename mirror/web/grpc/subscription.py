"""One client's subscription: the stored messages, then those that the follower hands over, without a gap.

Each message that is sent has the sequence number after the last one's; only the first may have any. What
comes with another number than the next one makes the subscription read from the database again, from the time
of the last message. So does a queue that overflows, since its client reads too slowly. Messages that are
missing in the database are waited for; then the stream ends with UNAVAILABLE, and SDKs go on from the last
message they have.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from grpc import StatusCode

from ledger.queries import topics as queries
from mirror.core import config
from mirror.core.config import clock
from mirror.core.db.reading.sql import Comparison, compare
from mirror.core.db.sql.query import Query
from mirror.core.metrics import grpc as metrics
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.web.grpc.deliveries import Delivery, delivery
from mirror.web.grpc.follower import Follower
from mirror.web.grpc.reading import DatabaseUnavailable
from mirror.web.grpc.requests import CallError, TopicFilter

# How long missing messages are waited for, and how often they are looked for.
_MISSING_SECONDS, _POLL_SECONDS = 5.0, 0.5
_RETRY_SECONDS = 1.0
# What a client that reads slowly may have waiting: a page of stored messages, and a queue of new ones.
_PAGE_BYTES, _QUEUE_BYTES = 400_000, 400_000
# Pages have one of these lengths, as each is a statement of its own.
_PAGES = (10, 100, 1000)
_MISSING = "Topic messages are missing. Please retry later"
_SHUTDOWN = "The server is shutting down. Please retry later"


class _Page(NamedTuple):
    """Stored messages; whether there are none after them, and whether the end time had passed before."""

    deliveries: Sequence[Delivery]
    is_last: bool
    has_ended: bool


class Subscription:
    """Sends the messages of a filter by `write`, in the event loop."""

    def __init__(
        self,
        topic_filter: TopicFilter,
        read: Callable[[Callable[[], _Page]], Awaitable[_Page]],
        follower: Follower,
        write: Callable[[bytes], Awaitable[None]],
    ) -> None:
        self.topic_id = topic_filter.topic_id
        self._start, self._end, self._left = topic_filter.start, topic_filter.end, topic_filter.limit
        self._run_read, self._follower, self._write = read, follower, write
        self._grace = round(config.value("grpc.endTimeInterval") * NANOS_PER_SECOND)
        #: Set by the follower.
        self.has_left = False
        # The sequence number of the last message, and the time from which to read on.
        self._last: int | None = None
        self._position = topic_filter.start
        self._most_rows = _PAGES[1]
        self._has_begun = self._has_joined = self._is_stopping = False
        # A message at or after the end time is stored, so all before it are.
        self._end_is_stored = False
        self._queue: deque[Sequence[Delivery]] = deque()
        self._queued_bytes = 0
        self._overflowed = False
        self._wakeup = asyncio.Event()

    async def run(self) -> None:
        """Send until the limit or the end time. Errors: CallError."""
        timer = None
        if self._end is not None:
            seconds = (self._end + self._grace - clock.now_ns()) / NANOS_PER_SECOND
            timer = asyncio.get_running_loop().call_later(max(seconds, 0.0), self._wakeup.set)
        try:
            while not await self._send_stored():
                if await self._send_new():
                    return
        finally:
            self._follower.leave(self)
            if timer is not None:
                timer.cancel()

    def stop(self) -> None:
        """End the subscription, as the server shuts down."""
        self._is_stopping = True
        self._wakeup.set()

    def offer(self, deliveries: Sequence[Delivery]) -> None:
        """Queue new messages; too many are dropped, and read from the database later."""
        self._queued_bytes += sum(len(each.data) for each in deliveries)
        if self._queued_bytes > _QUEUE_BYTES:
            self._overflowed = True
        else:
            self._queue.append(deliveries)
        self._wakeup.set()

    # STORED MESSAGES

    async def _send_stored(self) -> bool:
        """Send what the database has; return whether that is all the client wants. Errors: CallError."""
        missing_since: float | None = None
        while True:
            self._clear_queue()
            page = await self._page()
            for each in page.deliveries:
                if self._last is not None and each.sequence_number > self._last + 1:
                    break
                if await self._send(each):
                    return True
                missing_since = None
            else:
                if page.is_last:
                    return page.has_ended
                continue
            # Until then a short page does.
            self._most_rows = _PAGES[0]
            missing_since = missing_since or time.monotonic()
            if time.monotonic() - missing_since > _MISSING_SECONDS:
                raise CallError(StatusCode.UNAVAILABLE, _MISSING)
            await asyncio.sleep(_POLL_SECONDS)
            self._check()

    async def _page(self) -> _Page:
        """Return the next page; an outage of the database is waited for once there has been one."""
        while True:
            try:
                page = await self._run_read(self._read)
            except DatabaseUnavailable:
                if not self._has_begun:
                    raise
                await asyncio.sleep(_RETRY_SECONDS)
                self._check()
            else:
                self._has_begun = True
                return page

    def _read(self) -> _Page:
        """Read a page, in a thread; before the last one, join the follower, which hands over what follows.

        A subscription whose end time has passed does not join: its last page is all that it gets.
        """
        has_ended = self._has_ended()
        remaining = _PAGES[-1] if self._left is None else self._left
        limit = next(size for size in _PAGES if size >= min(remaining, self._most_rows))
        rows = self._rows(limit)
        if len(rows) < min(limit, remaining) and not (self._has_joined or has_ended):
            newest = queries.newest_message(self.topic_id)
            self._end_is_stored = self._end is not None and newest >= self._end
            has_ended = self._has_ended()
            if not has_ended:
                self._follower.join(self, newest)
                self._has_joined = True
            rows = self._rows(limit)
        deliveries = [delivery(row) for row in rows]
        if deliveries:
            mean = sum(len(each.data) for each in deliveries) / len(deliveries)
            self._most_rows = max((size for size in _PAGES if size * mean <= _PAGE_BYTES), default=_PAGES[0])
        is_last = len(rows) < limit and (self._has_joined or has_ended)
        return _Page(deliveries, is_last, has_ended)

    def _rows(self, limit: int) -> list[queries.Message]:
        times = [Comparison("gte", self._position)]
        if self._end is not None:
            times.append(Comparison("lt", self._end))
        where = compare("m.consensus_timestamp", times)
        return queries.messages(self.topic_id, (), Query(where, limit=limit))

    # NEW MESSAGES

    async def _send_new(self) -> bool:
        """Send what the follower hands over; return whether that is all the client wants.

        It is not if the next message has to be read from the database. Errors: CallError.
        """
        while True:
            await self._wakeup.wait()
            self._wakeup.clear()
            self._check()
            while self._queue:
                deliveries = self._queue.popleft()
                self._queued_bytes -= sum(len(each.data) for each in deliveries)
                for each in deliveries:
                    if self._end is not None and each.consensus_timestamp >= self._end:
                        self._end_is_stored = True
                        return False
                    if self._last is None:
                        if each.consensus_timestamp < self._start:
                            continue
                    elif each.sequence_number > self._last + 1:
                        return False
                    if await self._send(each, is_new=True):
                        return True
            if self._overflowed or self._has_ended():
                return False

    def _clear_queue(self) -> None:
        """Drop what is queued, as all of it is in the database."""
        self._queue.clear()
        self._queued_bytes, self._overflowed = 0, False

    # BOTH

    async def _send(self, each: Delivery, *, is_new: bool = False) -> bool:
        """Send a message unless it is sent already; return whether it is the last one the client wants."""
        self._position = max(self._position, each.consensus_timestamp + 1)
        if self._last is not None and each.sequence_number <= self._last:
            return False
        await self._write(each.data)
        self._check()
        self._last = each.sequence_number
        if is_new:
            seconds = (clock.now_ns() - each.consensus_timestamp) / NANOS_PER_SECOND
            metrics.CONSENSUS_LATENCY.observe(max(seconds, 0.0))
        if self._left is None:
            return False
        self._left -= 1
        return self._left == 0

    def _has_ended(self) -> bool:
        """Return whether nothing more is expected before the end time."""
        if self._end is None:
            return False
        return self._end_is_stored or clock.now_ns() >= self._end + self._grace

    def _check(self) -> None:
        if self._is_stopping:
            raise CallError(StatusCode.UNAVAILABLE, _SHUTDOWN)
