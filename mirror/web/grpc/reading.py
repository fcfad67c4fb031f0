"""Reading the database for the event loop: synchronous code in a few threads.

Errors of the database become refusals here, and an outage is reported to the log once for the whole node.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from weakref import WeakValueDictionary

from django.db import connection
from grpc import StatusCode
from psycopg.errors import QueryCanceled

from mirror.core.db.availability import outage
from mirror.web.grpc.requests import DATA_SOURCE, CallError

Result = TypeVar("Result")

THREADS = 4


class DatabaseUnavailable(CallError):
    """The database can't be reached."""

    def __init__(self) -> None:
        super().__init__(StatusCode.UNAVAILABLE, DATA_SOURCE)


class ReadingThreads:
    """The threads that read, each with a connection of its own.

    They work in the order of arrival. A client has at most as many reads in that order as there are threads,
    so that further clients don't wait for all of its reads.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, "gRPC reading")
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        # When each thread began what it reads (monotonic seconds).
        self._began: dict[int, float] = {}

    async def run(self, client: str, work: Callable[[], Result]) -> Result:
        """Return what `work` reads for a client. Errors: DatabaseUnavailable; CallError after a timeout."""
        turns = self._turns.setdefault(client, asyncio.Semaphore(THREADS))
        async with turns:
            return await asyncio.get_running_loop().run_in_executor(self._pool, self.call, work)

    def call(self, work: Callable[[], Result]) -> Result:
        """Return the same in this thread."""
        thread = threading.get_ident()
        self._began[thread] = time.monotonic()
        try:
            return work()
        except QueryCanceled:
            raise CallError(StatusCode.RESOURCE_EXHAUSTED, DATA_SOURCE) from None
        except outage.ERRORS as error:
            if not outage.is_outage(error):
                raise
            outage.report(error)
            raise DatabaseUnavailable from error
        finally:
            self._began.pop(thread, None)

    def is_at_work(self, seconds: float) -> bool:
        """Return whether a thread has been reading for so long."""
        earliest = time.monotonic() - seconds
        return any(began < earliest for began in list(self._began.values()))

    def close(self) -> None:
        """End the threads and close their connections, once they have finished."""
        barrier = threading.Barrier(THREADS)

        def close_own() -> None:
            barrier.wait()
            connection.close()

        for _ in range(THREADS):
            self._pool.submit(close_own)
        self._pool.shutdown()
