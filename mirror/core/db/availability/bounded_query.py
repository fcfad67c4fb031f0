"""Queries with a time limit that holds even if the server does not answer.

A server that was stopped, or whose machine is out of reach, neither answers nor closes its connections, and
then a statement timeout does not help. So a query runs in a thread and on a connection of its own; if
the answer does not come in time, the connection is shut, which ends the thread.
"""

import os
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any, TypeVar

import psycopg
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections
from psycopg.errors import QueryCanceled

Result = TypeVar("Result")

# The least that libpq allows: how long an attempt to connect may occupy a thread.
_CONNECT_SECONDS = 2


class QueryTimeout(Exception):
    """The database has not answered in time."""


def run_query(
    query: Callable[[], Result], seconds: float, settings: Mapping[str, Any] | None = None
) -> Result:
    """Return what `query` reads by Django's connection; `settings` are those of another database.

    Errors: QueryTimeout, those of the question.
    """
    wrapper = new_connection(settings)
    answer: Future[Result] = Future()
    closing = threading.Lock()

    def run() -> None:
        connections[DEFAULT_DB_ALIAS] = wrapper
        found: Any = None
        error: BaseException | None = None
        try:
            with wrapper.cursor() as cursor:
                # The server ends what is not answered in time, if it still works.
                milliseconds = str(round(seconds * 1000))
                cursor.execute("select set_config('statement_timeout', %s, false)", [milliseconds])
            found = query()
        except BaseException as raised:
            error = _without_frames(raised)
        # Whoever shuts the connection has done so.
        with closing, suppress(Exception):
            wrapper.close()
        if error is None:
            answer.set_result(found)
        else:
            answer.set_exception(error)

    threading.Thread(target=run, name="question", daemon=True).start()
    message = f"it has not answered within {seconds:g} s"
    if not wait([answer], seconds).done:
        with closing, suppress(Exception):
            shut_down(wrapper.connection)
        raise QueryTimeout(message)
    try:
        return answer.result()
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            raise QueryTimeout(message) from error
        raise


def new_connection(settings: Mapping[str, Any] | None = None, **limits: int) -> Any:
    """Return another connection of Django's, for any thread and not opened yet, with these limits of libpq.

    Whoever uses it sees to the end of its statements, not `mirror.core.db.availability.unresponsive`.
    """
    wrapper: Any = connections.create_connection(DEFAULT_DB_ALIAS)
    settings = dict(wrapper.settings_dict if settings is None else settings)
    options = {"connect_timeout": _CONNECT_SECONDS} | limits | settings.get("OPTIONS", {})
    wrapper.settings_dict = settings | {"OPTIONS": options}
    wrapper.is_bounded = True
    wrapper.inc_thread_sharing()
    return wrapper


def shut_down(opened: "psycopg.Connection[Any]") -> None:
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
