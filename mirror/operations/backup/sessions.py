"""Database sessions of backups, restores and pruning, and work that several of them share."""

import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from django.db import connection

from mirror.core.config.setting import OperatorError
from mirror.core.logs import Echo
from mirror.core.values.human_readable import byte_size
from mirror.models import KEEPING_LOCK

Session = psycopg.Connection[tuple[Any, ...]]
Item = TypeVar("Item")

_SECONDS_BETWEEN_CHECKS = 0.2
# Statements take long here, and text has to be the same from every server.
_PREPARE = (
    "set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0; "
    "set idle_session_timeout = 0; set timezone = 'UTC'; set datestyle = 'ISO, MDY'; "
    "set client_encoding = 'UTF8'; set extra_float_digits = 1; set jit = off; "
    "set application_name = 'ledger mirror: backup, restore or pruning'"
)


class Stopped(OperatorError):
    """A signal has stopped the command."""

    def __init__(self) -> None:
        super().__init__("Stopped. The same command begins anew.")


@contextmanager
def session() -> Iterator[Session]:
    """Yield a new session, which commits each statement outside of transactions."""
    with psycopg.connect(**connection.get_connection_params()) as own:
        own.autocommit = True
        own.execute(_PREPARE)
        yield own


@contextmanager
def exclusive(own: Session) -> Iterator[None]:
    """Hold the lock of backups, restores and prunings for the block. Errors: OperatorError."""
    if not try_lock(own, KEEPING_LOCK):
        raise OperatorError(
            "Another backup, restore or pruning of this database is at work: wait for it to end."
        )
    try:
        yield
    finally:
        with suppress(psycopg.Error):
            own.execute("select pg_advisory_unlock(%s)", [KEEPING_LOCK])


def try_lock(own: Session, lock: int) -> bool:
    """Take an advisory lock, which ends with the session at the latest; return False if it is taken."""
    return own.execute("select pg_try_advisory_lock(%s)", [lock]).fetchone() == (True,)


@dataclass(frozen=True)
class Task:
    """A backup, a restore or a check: its folder, its output, its stop event, and its number of sessions."""

    folder: Path
    echo: Echo
    stopping: threading.Event
    jobs: int

    def check_stop(self) -> None:
        """Raise Stopped if the command is to stop."""
        if self.stopping.is_set():
            raise Stopped

    def run_all(self, items: Iterable[Item], work: Callable[[Session, Item], object]) -> None:
        """Let several sessions work on the items, one at a time each.

        Errors: the first one of `work`; Stopped. In both cases the running statements are cancelled.
        """
        sessions: set[Session] = set()

        def run(item: Item) -> None:
            with session() as own:
                sessions.add(own)
                self.check_stop()
                work(own, item)
                sessions.discard(own)

        with ThreadPoolExecutor(self.jobs) as pool:
            running = {pool.submit(run, item) for item in items}
            try:
                while running:
                    done, running = wait(running, _SECONDS_BETWEEN_CHECKS, FIRST_COMPLETED)
                    for future in done:
                        future.result()
                    self.check_stop()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
                for own in list(sessions):
                    with suppress(psycopg.Error):
                        own.cancel()


def check_room(folder: Path, needed: float, what: str) -> None:
    """Raise OperatorError if the disk of a folder has fewer free bytes."""
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < needed:
        raise OperatorError(
            f"{what} needs about {byte_size(needed)}, and the disk of {folder} has {byte_size(free)} left: "
            "make room, or choose another disk."
        )
