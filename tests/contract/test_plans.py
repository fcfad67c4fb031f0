"""On a database with many rows, no request makes PostgreSQL read a table from end to end."""

import json
from collections.abc import Iterator

from mirror.urls import VIEWS
from tests.api import Api, route_of
from tests.contract.filled import fill
from tests.contract.plans import Statement, large_tables, prepared
from tests.contract.requests import REQUESTS
from tests.reading import as_reader


def test_there_are_requests_to_every_endpoint():
    # Others read the database in processes of their own.
    assert sorted(REQUESTS) == sorted(path for path, view in VIEWS.items() if "get" in view.actions)


def test_no_request_reads_a_large_table_from_end_to_end(api, all_endpoints):
    fill()
    # The statements run with the role of the web server, which may read and not write.
    with as_reader():
        _check_requests(api)


def _check_requests(api: Api) -> None:
    large = large_tables()
    known: set[str] = set()
    read = [
        f"{url} reads {table}:\n{statement.text}\n{json.dumps(statement.plan, indent=1)}"
        for url in urls()
        for statement in _statements(api, url, known)
        for table in statement.tables_read_whole()
        if table in large
    ]
    assert not read, "\n\n".join(read)


def urls() -> Iterator[str]:
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
    yield from prepared(known)
