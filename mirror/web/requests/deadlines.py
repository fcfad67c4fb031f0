"""Deadlines of requests, which the web server meets itself: whatever hangs, its client is answered 503.

Shorter limits come first: of statements, of calls, of a silent database. A deadline allows for them, and for
the wait of a slow request for others.
"""

import time
from typing import Protocol

from mirror.core import config, logs
from mirror.core.db.reading import budget

log = logs.logger("mirror.web")

_LOOK_SECONDS, _MARGIN_SECONDS = 0.5, 5.0


class Request(Protocol):
    #: The time of `time.monotonic`.
    arrived: float
    client: str
    is_call: bool

    def refuse(self) -> bool:
        """Answer 503, and return True; False if an answer has begun."""


class Deadlines:
    """The requests of a process that are not answered yet."""

    def __init__(self) -> None:
        # In the order in which they have come.
        self._requests: dict[Request, None] = {}

    def add(self, request: Request) -> None:
        self._requests[request] = None

    def discard(self, request: Request) -> None:
        self._requests.pop(request, None)

    def has(self, seconds: float) -> bool:
        """Return whether a request has not been answered for so long."""
        return bool(self._older_than(seconds, most=1))

    def last_of(self, client: str) -> float | None:
        """Return when the last unanswered request of a client arrived."""
        arrived = [each.arrived for each in list(self._requests) if each.client == client]
        return max(arrived, default=None)

    def watch(self) -> None:
        """Refuse requests at their deadline, for ever."""
        while True:
            time.sleep(_LOOK_SECONDS)
            # A slow request may wait for others as long as a statement.
            statement: float = config.value("rest.db.statementTimeout")
            read = statement + (config.value(budget.SETTING) or statement) + _MARGIN_SECONDS
            # A call may wait as long for the start of its process.
            call: float = 2 * config.value("web3.requestTimeout") + _MARGIN_SECONDS
            for request in self._older_than(min(read, call)):
                seconds = call if request.is_call else read
                if time.monotonic() - request.arrived >= seconds:
                    self.discard(request)
                    if request.refuse():
                        log.error("request_overdue", seconds=round(seconds))

    def _older_than(self, seconds: float, most: int | None = None) -> list[Request]:
        arrived = time.monotonic() - seconds
        found: list[Request] = []
        for request in list(self._requests):
            if request.arrived > arrived or len(found) == most:
                break
            found.append(request)
        return found
