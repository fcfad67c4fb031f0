"""The database as one call reads it: until its deadline, with short statements."""

import time

import psycopg
from django.db import OperationalError

from mirror.core.db.reading.sql import Row, Values, fetch
from web3sim.engine.interface import DeadlinePassed

_TIMEOUT = "web3.db.statementTimeout"


class DatabaseUnavailable(Exception):
    """A statement took longer than it may, or the database does not answer."""


class Reading:
    """`deadline` is a time of `time.monotonic`, in seconds."""

    def __init__(self, deadline: float | None = None) -> None:
        self._deadline = deadline

    def check_deadline(self) -> None:
        """Errors: DeadlinePassed."""
        if self._deadline is not None and time.monotonic() >= self._deadline:
            raise DeadlinePassed("the call had no time left to read its state")

    def fetch(self, statement: str, values: Values = ()) -> list[Row]:
        """All rows of a statement. Errors: DeadlinePassed, DatabaseUnavailable."""
        self.check_deadline()
        try:
            return fetch(statement, values, timeout=_TIMEOUT)
        except (psycopg.OperationalError, OperationalError) as error:
            raise DatabaseUnavailable(str(error).strip()) from error

    def fetch_one(self, statement: str, values: Values = ()) -> Row | None:
        """The first row of a statement, or None. Errors: as `fetch`."""
        rows = self.fetch(statement, values)
        return rows[0] if rows else None
