"""What backup and restore share: database sessions of their own, and work done by several of them at once."""

import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from django.db import connection

from mirror.core.config.errors import OperatorError
from mirror.core.values.human_readable import byte_size
from mirror.models import KEEPING_LOCK

Session = psycopg.Connection[tuple[Any, ...]]
Item = TypeVar("Item")

_SECONDS_BETWEEN_LOOKS = 0.2
# Long statements are the rule here, and text has to be the same from every server.
_PREPARE = (
    "set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0; "
    "set idle_session_timeout = 0; set timezone = 'UTC'; set datestyle = 'ISO, MDY'; "
    "set client_encoding = 'UTF8'; set extra_float_digits = 1; set jit = off; "
    "set application_name = 'ledger mirror: backup, restore or pruning'"
)


class Stopped(Exception):
    """Somebody has asked the command to stop."""


@contextmanager
def session() -> Iterator[Session]:
    """Yield a session of its own, which commits each statement unless a transaction is begun."""
    with psycopg.connect(**connection.get_connection_params()) as own:
        own.autocommit = True
        own.execute(_PREPARE)
        yield own


@contextmanager
def alone(own: Session) -> Iterator[None]:
    """Let one backup, restore or pruning at a time work on a database. Errors: OperatorError."""
    row = own.execute("select pg_try_advisory_lock(%s)", [KEEPING_LOCK]).fetchone()
    if row != (True,):
        raise OperatorError(
            "Another backup, restore or pruning of this database is at work: wait for it to end."
        )
    try:
        yield
    finally:
        with suppress(psycopg.Error):
            own.execute("select pg_advisory_unlock(%s)", [KEEPING_LOCK])


def share(
    items: Iterable[Item],
    work: Callable[[Session, Item], None],
    begin: Callable[[Session], None],
    *,
    jobs: int,
    stopping: threading.Event,
) -> None:
    """Let several sessions work on the items, one at a time each; `begin` prepares a session.

    Errors: the first one of `work`; Stopped. In both cases the statements at work are cancelled.
    """
    waiting = iter(list(items))
    lock, over = threading.Lock(), threading.Event()
    sessions: list[Session] = []

    def run() -> None:
        with session() as own:
            sessions.append(own)
            begin(own)
            while not (over.is_set() or stopping.is_set()):
                with lock:
                    item = next(waiting, None)
                if item is None:
                    return
                work(own, item)

    with ThreadPoolExecutor(jobs) as pool:
        running: set[Future[None]] = {pool.submit(run) for _ in range(jobs)}
        try:
            while running:
                done, running = wait(running, _SECONDS_BETWEEN_LOOKS, FIRST_COMPLETED)
                for each in done:
                    each.result()
                if stopping.is_set():
                    raise Stopped
        finally:
            over.set()
            for own in sessions:
                with suppress(psycopg.Error):
                    own.cancel()


def check_room(folder: Path, needed: float, what: str) -> None:
    """Raise OperatorError if the disk of a folder has not that many bytes left."""
    place = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(place).free
    if free < needed:
        raise OperatorError(
            f"{what} needs about {byte_size(needed)}, and the disk of {folder} has {byte_size(free)} left: "
            "make room, or choose another disk."
        )
