"""Notifications of commits, for readers that wait for new rows.

The loader notifies within the transaction of each batch, so a notification arrives when the rows are visible
on the primary. It may be lost: by a connection pooler, or in an outage. Whoever waits therefore looks by
itself once in a while, too.
"""

import time
from contextlib import suppress
from typing import Any

from mirror.core.db.availability import bounded_query, outage

_CHANNEL = "mirror_commit"
# A server that refuses LISTEN, or is away, is not tried again before this.
_RETRY_SECONDS = 5.0
# libpq's: the other end of an idle connection is probed, so that one to a lost machine ends.
_KEEPALIVES = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3}


def notify(cursor: Any) -> None:
    """Notify all listeners once the transaction of a cursor is committed. Errors: DatabaseError."""
    cursor.execute(f"notify {_CHANNEL}")


class CommitListener:
    """Waits for commits, on a connection of its own to the primary."""

    def __init__(self) -> None:
        self._wrapper: Any = None
        self._retry_at = 0.0

    def wait(self, seconds: float) -> None:
        """Wait for a commit, or for so many seconds where none is notified."""
        try:
            if self._wrapper is None:
                self._connect(seconds)
            else:
                for _ in self._wrapper.connection.notifies(timeout=seconds, stop_after=1):
                    pass
        except outage.ERRORS:
            self.close()
            self._retry_at = time.monotonic() + _RETRY_SECONDS
            time.sleep(seconds)

    def _connect(self, seconds: float) -> None:
        """Listen from now on; a commit before that is not notified, so this counts as one."""
        if time.monotonic() < self._retry_at:
            time.sleep(seconds)
            return
        self._wrapper = bounded_query.new_connection(None, **_KEEPALIVES)
        with self._wrapper.cursor() as cursor:
            cursor.execute(f"listen {_CHANNEL}")

    def close(self) -> None:
        if self._wrapper is not None:
            with suppress(*outage.ERRORS):
                self._wrapper.close()
            self._wrapper = None
