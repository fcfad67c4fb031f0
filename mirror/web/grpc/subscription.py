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
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import NamedTuple

from grpc import StatusCode

from ledger.queries import topics as queries
from mirror.core import config
from mirror.core.config import clock
from mirror.core.db.reading.query import Query
from mirror.core.db.reading.sql import Comparison, compare
from mirror.core.metrics import grpc as metrics
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.web.grpc.follower import Follower
from mirror.web.grpc.messages import Delivery, delivery
from mirror.web.grpc.reading import DatabaseUnavailable
from mirror.web.grpc.requests import CallError, TopicFilter

# How long missing messages are waited for, and how often they are looked for.
_MISSING_SECONDS, _POLL_SECONDS = 5.0, 0.5
_RETRY_SECONDS = 1.0
# What a client that reads slowly may have waiting: a page of stored messages, and a queue of new ones. All
# clients share what they may have of each.
_PAGE_BYTES, _QUEUE_BYTES = 400_000, 400_000
_SHARED_BYTES = 8_000_000
# A message in memory takes more than its bytes; the first page is read as if messages were of this size.
_OVERHEAD_BYTES, _FIRST_BYTES = 150, 1_200
# Pages have one of these lengths, as each is a statement of its own.
_PAGES = (4, 16, 64, 256, 1000)
_MISSING = "Topic messages are missing. Please retry later"
_SHUTDOWN = "The server is shutting down. Please retry later"


class _Page(NamedTuple):
    """Stored messages; whether there are none after them, and whether the end time had passed before."""

    deliveries: deque[Delivery]
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
        count: Callable[[], int],
    ) -> None:
        self.topic_id = topic_filter.topic_id
        self._start, self._end, self._left = topic_filter.start, topic_filter.end, topic_filter.limit
        self._run_read, self._follower, self._write = read, follower, write
        self._count = count
        self._grace = round(config.value("grpc.endTimeInterval") * NANOS_PER_SECOND)
        #: Set by the follower.
        self.has_left = False
        # The sequence number of the last message, and the time from which to read on.
        self._last: int | None = None
        self._position = topic_filter.start
        self._mean_bytes = _FIRST_BYTES
        self._has_begun = self._has_joined = self._is_stopping = False
        # A message at or after the end time is stored, so all before it are.
        self._end_is_stored = False
        # The rest of a page, or of what was handed over at once; and what waits after that.
        self._unsent: deque[Delivery] = deque()
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
        self._queued_bytes += _size(deliveries)
        self._overflowed = self._overflowed or self._queued_bytes > min(_QUEUE_BYTES, self._share())
        if not self._overflowed:
            self._queue.append(deliveries)
        self._wakeup.set()

    def release(self) -> None:
        """Drop what waits for a client that reads nothing; it is read from the database later."""
        self._unsent.clear()
        self._queue.clear()
        self._overflowed = True

    # STORED MESSAGES

    async def _send_stored(self) -> bool:
        """Send what the database has; return whether that is all the client wants. Errors: CallError."""
        missing_since: float | None = None
        while True:
            self._clear_queue()
            page = await self._page()
            self._unsent = page.deliveries
            while self._unsent and not self._is_missing_before(self._unsent[0]):
                if await self._send(self._unsent.popleft()):
                    return True
                missing_since = None
            if not self._unsent:
                if page.is_last and not self._overflowed:
                    return page.has_ended
                continue
            # Until they are there a short page does.
            self._mean_bytes = _PAGE_BYTES
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
        most = min(_PAGE_BYTES, self._share()) // self._mean_bytes
        most_rows = max((size for size in _PAGES if size <= most), default=_PAGES[0])
        limit = next(size for size in _PAGES if size >= min(remaining, most_rows))
        rows = self._rows(limit)
        if len(rows) < min(limit, remaining) and not (self._has_joined or has_ended):
            newest = queries.newest_message(self.topic_id)
            self._end_is_stored = self._end is not None and newest >= self._end
            has_ended = self._has_ended()
            if not has_ended:
                self._follower.join(self, newest)
                self._has_joined = True
            rows = self._rows(limit)
        deliveries = deque(delivery(row) for row in rows)
        if deliveries:
            self._mean_bytes = _size(deliveries) // len(deliveries)
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
                self._queued_bytes -= _size(deliveries)
                self._unsent = deque(deliveries)
                del deliveries
                while self._unsent:
                    each = self._unsent.popleft()
                    if self._end is not None and each.consensus_timestamp >= self._end:
                        self._end_is_stored = True
                        return False
                    if self._last is None:
                        if each.consensus_timestamp < self._start:
                            continue
                    elif self._is_missing_before(each):
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

    def _is_missing_before(self, each: Delivery) -> bool:
        """Return whether a message is not the next one."""
        return self._last is not None and each.sequence_number > self._last + 1

    def _share(self) -> int:
        """Return the part of the shared memory that a subscription may have."""
        return _SHARED_BYTES // max(self._count(), 1)

    def _has_ended(self) -> bool:
        """Return whether nothing more is expected before the end time."""
        if self._end is None:
            return False
        return self._end_is_stored or clock.now_ns() >= self._end + self._grace

    def _check(self) -> None:
        if self._is_stopping:
            raise CallError(StatusCode.UNAVAILABLE, _SHUTDOWN)


def _size(deliveries: Collection[Delivery]) -> int:
    """Return the bytes that messages take in memory."""
    return sum(len(each.data) for each in deliveries) + _OVERHEAD_BYTES * len(deliveries)
