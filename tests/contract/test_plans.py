"""On a database with many rows, no request makes PostgreSQL read a table from end to end."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.db import connection

from mirror.urls import ROUTES
from tests.api import Api, route_of
from tests.contract.filled import fill
from tests.contract.requests import REQUESTS

# A table of fewer rows is read from end to end because that is cheapest.
_LARGE = 1000


class Statement(NamedTuple):
    text: str
    plan: dict[str, Any]


def test_there_are_requests_to_every_endpoint():
    assert sorted(REQUESTS) == sorted(ROUTES.views)


def test_no_request_reads_a_large_table_from_end_to_end(api):
    fill()
    with connection.cursor() as cursor:
        cursor.execute("select relname from pg_class where relkind = 'r' and reltuples >= %s", [_LARGE])
        large = {name for (name,) in cursor.fetchall()}
    known: set[str] = set()
    read = [
        f"{url} reads {table}:\n{statement.text}\n{json.dumps(statement.plan, indent=1)}"
        for url in _urls()
        for statement in _statements(api, url, known)
        for table in _read_whole(statement.plan)
        if table in large
    ]
    assert not read, "\n\n".join(read)


def _urls() -> Iterator[str]:
    for route, (paths, queries) in REQUESTS.items():
        for path in paths:
            parts = iter(path.split())
            filled = "/".join(next(parts) if part.startswith("{") else part for part in route.split("/"))
            for query in queries:
                url = f"/api/v1/{filled}{'?' if query else ''}{query}"
                assert route_of(url.partition("?")[0]) == route, url
                yield url


def _statements(api: Api, url: str, known: set[str]) -> Iterator[Statement]:
    """What the request asks of the database and none before it did, with the plans of every such request."""
    for _ in range(2):
        answer = api.get(url)
        assert answer.status in (200, 404), (url, answer.body)
    with connection.cursor() as cursor:
        cursor.execute(
            "select name, statement, coalesce(cardinality(parameter_types), 0) from pg_prepared_statements"
        )
        for name, text, parameters in cursor.fetchall():
            if name in known:
                continue
            known.add(name)
            values = f"({', '.join(['null'] * parameters)})" if parameters else ""
            cursor.execute(f'explain (format json) execute "{name}" {values}')
            ((found,),) = cursor.fetchall()
            yield Statement(text, found[0]["Plan"])


def _read_whole(plan: dict[str, Any]) -> Iterator[str]:
    if plan["Node Type"] == "Seq Scan":
        yield plan["Relation Name"]
    for part in plan.get("Plans", ()):
        yield from _read_whole(part)
