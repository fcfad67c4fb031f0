"""A list as a file, in its order and with its filters: CSV, or a JSON object in each line (NDJSON).

Columns of raw bytes that the list does not show are left out: one of them may have megabytes. The rows come
by a cursor of PostgreSQL on a connection of its own, a few at a time, as fast as the client takes them. Each
statement has the time limit of the pages. A client that reads nothing for a while loses its cursor: its
transaction would prevent others from dropping rows.
"""

import csv
import io
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import orjson
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Field, QuerySet
from django.http import StreamingHttpResponse

from mirror.core import config
from mirror.core.admin import columns
from mirror.core.admin.kinds.base import Text
from mirror.core.admin.kinds.bytes import TextBytes
from mirror.core.db.schema.fields import BytesField

#: Form -> content type.
FORMS = {"csv": "text/csv; charset=utf-8", "ndjson": "application/x-ndjson"}

_CHUNK_ROWS, _IDLE_SECONDS = 500, 60
# Each has a connection, in each web server process.
_slots = threading.BoundedSemaphore(2)

# A spreadsheet takes a text that begins so for a formula, and people may put any into a memo.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


class TooManyExports(Exception):
    """Other exports run already."""


def response(rows: QuerySet[Any], columns: Sequence[str], form: str) -> StreamingHttpResponse:
    """Return the file of a list. Errors: TooManyExports; DatabaseError where the first rows fail."""
    model = rows.model
    content = _content(rows, [model._meta.get_field(name) for name in names(model, columns)], form)
    # Read at once, so that an error is still a page.
    first = next(content, b"")
    answer = StreamingHttpResponse(content, content_type=FORMS[form])
    # Closing the response closes the content it was made with, too.
    answer.streaming_content = chain([first], content)
    answer.headers["Content-Disposition"] = f'attachment; filename="{model._meta.db_table}.{form}"'
    answer.headers["Cache-Control"] = "no-store"
    return answer


def names(model: Any, columns: Sequence[str]) -> list[str]:
    """Return the columns of an export: those of the list first."""
    others = [
        field.name
        for field in model._meta.concrete_fields
        if field.column is not None and field.name not in columns and type(field) is not BytesField
    ]
    return [*columns, *others]


def _content(rows: QuerySet[Any], fields: "Sequence[Field[Any, Any]]", form: str) -> Generator[bytes]:
    """Yield the pieces of a file. Errors: TooManyExports."""
    if not _slots.acquire(blocking=False):
        raise TooManyExports
    own = connections.create_connection(DEFAULT_DB_ALIAS)
    # The thread that sends a piece need not be the one that read the first.
    own.inc_thread_sharing()
    try:
        _begin(own)
        limited = rows.values_list(*(field.name for field in fields))[: config.value("web.exportRows")]
        compiler = limited.query.get_compiler(connection=own)
        yield from chunks(compiler.results_iter(chunked_fetch=True, chunk_size=_CHUNK_ROWS), fields, form)
    finally:
        own.close()
        _slots.release()


def _begin(own: Any) -> None:
    timeout = round(config.value("rest.db.statementTimeout") * 1000)
    own.set_autocommit(False)
    with own.cursor() as cursor:
        cursor.execute(
            "select set_config('transaction_read_only', 'on', true), set_config('jit', 'off', true), "
            "set_config('statement_timeout', %s, true), "
            "set_config('idle_in_transaction_session_timeout', %s, true)",
            [str(timeout), str(_IDLE_SECONDS * 1000)],
        )


def chunks(rows: Iterable[Sequence[Any]], fields: "Sequence[Field[Any, Any]]", form: str) -> Iterator[bytes]:
    kinds = [columns.kind(field) for field in fields]
    labels = [field.name for field in fields]
    texts = [isinstance(kind, Text | TextBytes) for kind in kinds]
    if form == "csv":
        yield _csv([labels])
    json_values = (
        [None if value is None else kind.json_value(value) for value, kind in zip(row, kinds, strict=True)]
        for row in rows
    )
    while part := list(islice(json_values, _CHUNK_ROWS)):
        if form == "csv":
            yield _csv([[_cell(*pair) for pair in zip(row, texts, strict=True)] for row in part])
        else:
            lines = (dict(zip(labels, row, strict=True)) for row in part)
            yield b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines)


def _cell(value: Any, is_text: bool) -> Any:
    if isinstance(value, bool | list | dict):
        return orjson.dumps(value).decode()
    return f"'{value}" if is_text and value and value.startswith(_FORMULAS) else value


def _csv(rows: list[list[Any]]) -> bytes:
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    return file.getvalue().encode()
