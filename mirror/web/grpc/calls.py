"""A call of the gRPC API, which is counted and logged, and the pacing of its messages.

gRPC accepts one new call in an iteration of the event loop. Without pacing, clients that reconnect after a
restart would wait long until they are accepted: an iteration would send a message of every busy subscription.
"""

import asyncio
import secrets
import time
from collections import deque
from typing import Any

from grpc import StatusCode

from mirror.core import logs
from mirror.core.config import reverse_proxies
from mirror.core.metrics import grpc as metrics
from mirror.core.values import entity_id
from mirror.web.grpc import clients
from mirror.web.grpc.requests import CallError, TopicFilter

log = logs.logger("mirror.grpc")

# In an iteration of the event loop.
_MAX_MESSAGES = 32


class Pacer:
    """Lets messages be sent, in the order in which they wait."""

    def __init__(self) -> None:
        self._left = _MAX_MESSAGES
        self._is_due = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    def take(self) -> asyncio.Future[None] | None:
        """Return what to wait for before one more message is sent; None if it may be sent at once."""
        loop = asyncio.get_running_loop()
        if not self._is_due:
            self._is_due = True
            loop.call_soon(self._begin)
        if self._left:
            self._left -= 1
            return None
        waiting = loop.create_future()
        self._waiting.append(waiting)
        return waiting

    def _begin(self) -> None:
        self._left = _MAX_MESSAGES
        while self._left and self._waiting:
            waiting = self._waiting.popleft()
            # Its call may have ended meanwhile.
            if not waiting.done():
                waiting.set_result(None)
                self._left -= 1
        self._is_due = bool(self._waiting)
        if self._is_due:
            asyncio.get_running_loop().call_soon(self._begin)


class Call:
    """A call of a client: what it is counted and logged as."""

    def __init__(self, service: str, method: str, context: Any, pacer: Pacer) -> None:
        self.client = clients.address(context)
        self.network = reverse_proxies.network(self.client)
        self.status = StatusCode.OK
        self.refusal: CallError | None = None
        self._task = asyncio.current_task()
        # Since when its client has taken nothing of what is sent (monotonic seconds).
        self._waiting_since: float | None = None
        self._labels = (service, method, "SERVER_STREAMING")
        self._send, self._pacer = context.write, pacer
        self._sent = 0
        self._began = time.monotonic()
        self._subscriber: str | None = None
        metrics.RECEIVED.labels(*self._labels).inc()

    async def write(self, data: bytes) -> None:
        if (waiting := self._pacer.take()) is not None:
            await waiting
        self._waiting_since = time.monotonic()
        await self._send(data)
        self._waiting_since = None
        self._sent += 1

    @property
    def stalled_seconds(self) -> float:
        """For how long the client has taken nothing of what is sent to it."""
        return 0.0 if self._waiting_since is None else time.monotonic() - self._waiting_since

    def end(self, refusal: CallError) -> None:
        """End the call, which waits for its client, with a status."""
        self.refusal = refusal
        if self._task is not None:
            self._task.cancel()

    def log_start(self, requested: TopicFilter) -> None:
        self._subscriber = secrets.token_hex(4)
        log.info(
            "subscription_started",
            subscriber=self._subscriber,
            client=self.client,
            topic=entity_id.bound(requested.topic_id),
            start=requested.start,
            end=requested.end,
            limit=requested.limit,
        )

    def count(self) -> None:
        """Count the call, which has ended, and log the end of a subscription."""
        if self.refusal is not None:
            self.status = self.refusal.code
        seconds = time.monotonic() - self._began
        metrics.CALLS.labels(*self._labels, self.status.name).observe(seconds)
        if self._sent:
            metrics.SENT.labels(*self._labels).inc(self._sent)
        if self._subscriber:
            log.info(
                "subscription_ended",
                subscriber=self._subscriber,
                status=self.status.name,
                messages=self._sent,
                seconds=round(seconds, 3),
            )
