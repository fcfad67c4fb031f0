"""Patience with a server that says nothing: psycopg waits for ever for one that was stopped."""

from collections.abc import Callable, Generator
from typing import Any

import psycopg


def fail_when_gone(is_gone: Callable[[], bool], connection: psycopg.Connection[Any]) -> None:
    """Have all statements of psycopg's end with OperationalError once the server of a connection is gone."""
    wait = connection.wait

    def watched(statement: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        try:
            wanted = next(statement)
            while True:
                ready = yield wanted
                if not ready and is_gone():
                    connection.pgconn.finish()
                    raise psycopg.OperationalError("the server has not answered")
                wanted = statement.send(ready)
        except StopIteration as end:
            return end.value

    def wait_for(statement: Generator[Any, Any, Any], *options: Any, **named: Any) -> Any:
        return wait(watched(statement), *options, **named)

    connection.wait = wait_for  # type: ignore[method-assign,assignment]
