"""Turns: at most `web.threads` requests are worked on at a time, each with a database connection.

A thread that waits for its turn, or for the body of its request, costs next to nothing, so the web server may
have hundreds. Connections belong to turns, not to threads.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper


class Turns:
    """A number of turns, which threads take in the order in which they ask."""

    def __init__(self, most: int) -> None:
        # The connections of the free turns; None before a turn's first statement.
        self._free = SimpleQueue[BaseDatabaseWrapper | None]()
        for _ in range(most):
            self._free.put(None)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait for a turn, and return it at the end of the block."""
        self._take()
        try:
            yield
        finally:
            self._give_back()

    @contextmanager
    def left(self) -> Iterator[None]:
        """Give up this thread's turn during the block, and wait for one after it."""
        if any(connection.in_atomic_block for connection in connections.all(initialized_only=True)):
            # A transaction stays with its connection.
            yield
            return
        self._give_back()
        try:
            yield
        finally:
            self._take()

    def _take(self) -> None:
        connection = self._free.get()
        if connection is not None:
            connections[DEFAULT_DB_ALIAS] = connection

    def _give_back(self) -> None:
        connection = next(iter(connections.all(initialized_only=True)), None)
        if connection is not None:
            if connection.errors_occurred:
                connection.close_if_unusable_or_obsolete()
            del connections[DEFAULT_DB_ALIAS]
            if not connection.allow_thread_sharing:
                connection.inc_thread_sharing()
        self._free.put(connection)
