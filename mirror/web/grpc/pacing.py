"""Pacing of messages: each iteration of the event loop sends a limited number of them.

gRPC accepts one new call in an iteration. Without the limit an iteration would send a message of every busy
subscription, and clients that reconnect after a restart would wait long until they are accepted.
"""

import asyncio
from collections import deque

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
