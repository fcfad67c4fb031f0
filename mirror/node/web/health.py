"""GET /health/liveness and /health/readiness, for whatever watches the node.

Alive: the process answers, without asking the database. Ready: the network's address book is loaded, without
which answers would be wrong. Shape: {"status":"ok"}, or {"status":"error"} with 503.
"""

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse


def liveness(request: HttpRequest) -> HttpResponse:
    return _answer(True)


def readiness(request: HttpRequest) -> HttpResponse:
    """Source: address_book has a row."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("select exists (select from address_book)")
            (ready,) = cursor.fetchone()
    except DatabaseError:
        ready = False
    return _answer(ready)


def _answer(well: bool) -> HttpResponse:
    body = b'{"status":"ok"}' if well else b'{"status":"error"}'
    return HttpResponse(
        body,
        status=200 if well else 503,
        content_type="application/json; charset=utf-8",
        headers={"cache-control": "no-store"},
    )
