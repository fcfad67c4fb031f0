"""Questions to the database whose answers are not waited for longer than the asker wants.

A server that was stopped, or whose machine is out of reach, neither answers nor closes its connections, and
then a statement timeout does not help. So a query runs in a thread and on a connection of its own; if
the answer does not come in time, the connection is shut, which ends the thread.
"""

import os
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Generic, TypeVar

import psycopg
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections
from psycopg.errors import QueryCanceled

Answer = TypeVar("Answer")

# The least that libpq allows: how long an attempt to connect may occupy a thread.
_CONNECT_SECONDS = 2


class NoAnswer(Exception):
    """The database has not answered in time."""


def ask(question: Callable[[], Answer], seconds: float, settings: Mapping[str, Any] | None = None) -> Answer:
    """Return what `question` reads by Django's connection; `settings` are those of another database.

    Errors: NoAnswer, those of the question.
    """
    asking = _Asking(question, seconds, settings)
    threading.Thread(target=asking.run, name="question", daemon=True).start()
    return asking.answer()


class _Asking(Generic[Answer]):
    def __init__(
        self, question: Callable[[], Answer], seconds: float, settings: Mapping[str, Any] | None
    ) -> None:
        self._question, self._seconds, self._settings = question, seconds, settings
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._wrapper: Any = None
        self._answer: Answer
        self._error: BaseException | None = None

    def run(self) -> None:
        wrapper: Any = connections.create_connection(DEFAULT_DB_ALIAS)
        settings = dict(wrapper.settings_dict if self._settings is None else self._settings)
        connect_options = {"connect_timeout": _CONNECT_SECONDS} | settings.get("OPTIONS", {})
        wrapper.settings_dict = settings | {"OPTIONS": connect_options}
        wrapper.is_bounded = True
        self._wrapper = connections[DEFAULT_DB_ALIAS] = wrapper
        try:
            with wrapper.cursor() as cursor:
                # The server ends what is not answered in time, if it still works.
                cursor.execute("select set_config('statement_timeout', %s, false)", [self._milliseconds])
            self._answer = self._question()
        except BaseException as error:
            self._error = _without_frames(error)
        finally:
            # Whoever shuts the connection has done so.
            with self._lock, suppress(Exception):
                wrapper.close()
            self._ended.set()

    @property
    def _milliseconds(self) -> str:
        return str(round(self._seconds * 1000))

    def answer(self) -> Answer:
        late = f"it has not answered within {self._seconds:g} s"
        if not self._ended.wait(self._seconds):
            self._shut()
            raise NoAnswer(late)
        if isinstance(self._error, OperationalError) and isinstance(self._error.__cause__, QueryCanceled):
            raise NoAnswer(late) from self._error
        if self._error is not None:
            raise self._error
        return self._answer

    def _shut(self) -> None:
        with self._lock, suppress(Exception):
            shut(self._wrapper.connection)


def shut(opened: "psycopg.Connection[Any]") -> None:
    """End what a connection waits for; the thread that waits closes it."""
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(opened.fileno())) as other:
        other.shutdown(socket.SHUT_RDWR)


def _without_frames(error: BaseException) -> BaseException:
    """Return an error without references to other objects.

    Its frames have the connection that could not be made: as long as they live, so does its session.
    """
    cause: BaseException | None = error
    while cause is not None:
        cause.__traceback__ = None
        cause = cause.__cause__ or cause.__context__
    return error
