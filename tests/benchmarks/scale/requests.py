"""A process that answers requests as a web server's does, and says what each cost: one worker, cache off.

    python -m tests.benchmarks.scale.requests

It reads orders from standard input, a JSON object on each line, and answers each with a line: the URL's
milliseconds, and, on request, what its statements read and the tables that they read from end to end.
"""

import json
import sys
import time
from collections.abc import Iterator
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from psycopg._queries import PostgresQuery
from psycopg.adapt import Transformer

from mirror.core.db.reading import statements as notes

# Larger ones are not run again to see what they read.
_EXPLAIN_SECONDS = 1.0
#: Stands for the tables of a statement that took too long.
STOPPED = "(stopped)"
_MANY_ROWS = 10_000


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        answer = ask(order["url"], order["runs"], order["seconds"], explain=order["explain"])
        print(json.dumps(answer), flush=True)


def ask(url: str, runs: int, seconds: float, *, explain: bool) -> dict[str, Any]:
    """Ask so many times, or for so long, and say how long each time took and what came."""
    # The first one plans the statements, the second one prepares them. A slow one is sent once.
    noted: list[notes.Noted] = []
    end = notes.end

    def remember() -> list[notes.Noted]:
        noted.extend(found := end())
        return found

    notes.end = remember
    first, status, body = timed(url)
    notes.end = end
    statements = [(text, values) for text, values, *_ in noted]
    times = [first]
    if first.wall < seconds * 1000:
        timed(url)
        times.clear()
        ends = time.monotonic() + seconds
        while not times or (len(times) < runs and time.monotonic() < ends):
            taken, status, body = timed(url)
            times.append(taken)
    rows, more = _shape(body)
    answer = {"status": status, "times": times, "rows": rows, "more": more, "bytes": len(body)}
    if explain:
        answer |= explained(statements, run=first.wall < _EXPLAIN_SECONDS * 1000)
    return answer


class Time(NamedTuple):
    """Milliseconds of a request: by the clock, and those of a processor, for it and for its statements.

    The latter says more on a machine that does other things at the same time, but leaves out waits for the
    disk. It is 0 for a PostgreSQL on another machine.
    """

    wall: float
    processor: float


def timed(url: str) -> tuple[Time, int, bytes]:
    from mirror.wsgi import application

    path, _, query = url.partition("?")
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SCRIPT_NAME": "",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(),
        "wsgi.errors": StringIO(),
    }
    statuses: list[str] = []
    used = time.thread_time() + _used_by_postgres()
    began = time.perf_counter()
    response: Any = application(environ, lambda status, headers: statuses.append(status))  # type: ignore[arg-type]
    body = b"".join(response)
    wall = time.perf_counter() - began
    used = time.thread_time() + _used_by_postgres() - used
    if hasattr(response, "close"):
        response.close()
    return Time(wall * 1000, used * 1000), int(statuses[0].split()[0]), body


def _used_by_postgres() -> float:
    """Processor seconds of the process that serves this one's connection."""
    from django.db import connection

    if connection.connection is None:
        return 0.0
    try:
        spent = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat").read_text()
    except OSError:
        return 0.0
    return int(spent.split()[0]) / 10**9


def _shape(body: bytes) -> tuple[int | None, bool]:
    """How many rows an answer lists, and whether there is a next page."""
    answer = json.loads(body)
    rows = next((len(value) for value in answer.values() if isinstance(value, list)), None)
    return rows, bool((answer.get("links") or {}).get("next"))


# STATEMENTS


def explained(statements: list[tuple[str, Any]], *, run: bool) -> dict[str, Any]:
    """By the plans of statements: the tables read whole, and the pages read if they are `run`."""
    from django.db import connection

    connection.ensure_connection()
    given: psycopg.Connection[Any] = connection.connection
    pages, whole = 0, set[str]()
    for statement, values in statements:
        found = _plan(given, statement, values, run)
        if found is None:
            whole.add(STOPPED)
            continue
        plan = found["Plan"]
        pages += plan.get("Shared Hit Blocks", 0) + plan.get("Shared Read Blocks", 0)
        whole.update(_read_whole(plan))
    large = _large_tables(given)
    return {
        **({"pages": pages} if run and STOPPED not in whole else {}),
        "statements": len(statements),
        "whole": sorted(whole & (large | {STOPPED})),
    }


def _plan(connection: psycopg.Connection[Any], statement: str, values: Any, run: bool) -> Any:
    """The plan that any values get, with these; None if running it takes too long."""
    query = PostgresQuery(Transformer(connection))
    query.convert(statement, values)
    positional = [] if not values else list(values)
    if isinstance(values, dict):
        positional = [values[name] for name in query._order or ()]
    literals = ", ".join(_literal(connection, value) for value in positional)
    types = ", ".join(
        _type(connection, oid, value) for oid, value in zip(query.types, positional, strict=True)
    )
    with connection.cursor() as cursor:
        cursor.execute(f"set statement_timeout = '{_EXPLAIN_SECONDS * 4:.0f}s'")
        named = "measured" + (f" ({types})" if types else "")
        try:
            # As psycopg sends it: with places for values.
            connection.pgconn.exec_(f"prepare {named} as ".encode() + query.query)
            given = f"({literals})" if literals else ""
            how = "analyze, buffers, format json" if run else "format json"
            cursor.execute(f"explain ({how}) execute measured {given}".encode())
            ((found,),) = cursor.fetchall()
            return found[0]
        except psycopg.errors.QueryCanceled:
            return None
        finally:
            cursor.execute("deallocate all")
            # Whatever the reader set before counts as unknown: it sets it again.
            _forget_reader()


def _forget_reader() -> None:
    from django.db import connection

    connection.reading = None  # type: ignore[attr-defined]
    connection.connection._prepared.clear()


def _literal(connection: psycopg.Connection[Any], value: Any) -> str:
    return psycopg.sql.Literal(value).as_string(connection)


def _type(connection: psycopg.Connection[Any], oid: int, value: Any) -> str:
    # Readers send every whole number as bigint.
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "bigint"
    if isinstance(value, list) and value and isinstance(value[0], int):
        return "bigint[]"
    known = connection.adapters.types.get(oid) if oid else None
    if known is None:
        return "unknown"
    return f"{known.name}[]" if oid == known.array_oid else known.name


def _read_whole(plan: dict[str, Any]) -> Iterator[str]:
    if plan["Node Type"] == "Seq Scan" and plan.get("Actual Loops", 1):
        yield plan["Relation Name"]
    for part in plan.get("Plans", ()):
        yield from _read_whole(part)


_large: set[str] = set()


def _large_tables(connection: psycopg.Connection[Any]) -> set[str]:
    if not _large:
        rows = connection.execute(
            "select relname from pg_class where relkind = 'r' and reltuples >= %s", [_MANY_ROWS]
        )
        _large.update(name for (name,) in rows.fetchall())
    return _large


if __name__ == "__main__":
    main()
