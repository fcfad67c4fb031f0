"""Prepared statements of a connection, run by libpq at once instead of by a cursor of psycopg's.

A cursor lets a thread that waits take signals, and finds out anew what the values and columns of a statement
are. That takes ten microseconds each time, as long as PostgreSQL works for a short statement. A web request
needs no signals: its thread is not the main one, and whoever wants it to end cancels its statement.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import psycopg
from psycopg import pq
from psycopg._queries import PostgresQuery
from psycopg.adapt import Transformer
from psycopg.pq.abc import PGresult

if TYPE_CHECKING:
    from psycopg.abc import Transformer as Adapter

    from mirror.db.sql import Row, Values

#: As many statements stay prepared; those that were not used for the longest time make room.
MOST = 100

_DONE = pq.ExecStatus.COMMAND_OK
_ROWS = pq.ExecStatus.TUPLES_OK
_BINARY = pq.Format.BINARY


class _Statement:
    """A statement prepared for values of certain types."""

    def __init__(self, name: bytes, query: PostgresQuery, columns: "Adapter") -> None:
        self.name, self.types, self.formats = name, query.types, query._want_formats or []
        #: The names of its placeholders, if they have any.
        self.order = query._order
        #: Reads its rows, and has found out how.
        self.columns, self.knows_columns = columns, False


class PreparedStatements:
    """The prepared statements of a connection. What `cursor` adapts is adapted here, too."""

    def __init__(self, cursor: psycopg.Cursor[Any]) -> None:
        self._cursor = cursor
        self._connection = cursor.connection.pgconn
        self._values = Transformer(cursor)
        # Text -> statement, the one that was used last at the end; None after its first use.
        self._statements: OrderedDict[str, _Statement | None] = OrderedDict()
        self._made = 0

    def rows(self, text: str, values: "Values") -> "list[Row] | None":
        """Return all rows of a statement; None for one that is not prepared, as it is used once so far.

        Errors: psycopg.Error.
        """
        statements = self._statements
        if text not in statements:
            self._add(text, None)
            return None
        statement = statements[text]
        if statement is None:
            statement = self._prepare(text, values)
        statements.move_to_end(text)
        if statement.order is not None:
            assert isinstance(values, Mapping)
            values = [values[name] for name in statement.order]
        dumped = self._values.dump_sequence(cast(Sequence[Any], values), statement.formats)
        if self._values.types != statement.types:
            # A value is None here and was a number before, or the other way round.
            return None
        sent = cast(Sequence[bytes], dumped)
        result = self._connection.exec_prepared(statement.name, sent, self._values.formats, _BINARY)
        if result.status != _ROWS:
            raise self._error(result)
        columns = statement.columns
        columns.set_pgresult(result, set_loaders=not statement.knows_columns, format=_BINARY)
        statement.knows_columns = True
        rows = columns.load_rows(0, result.ntuples, tuple)
        columns.set_pgresult(None, set_loaders=False)
        return rows

    def _prepare(self, text: str, values: "Values") -> _Statement:
        query = PostgresQuery(Transformer(self._cursor))
        query.convert(text, values)
        self._made += 1
        name = b"read_%d" % self._made
        result = self._connection.prepare(name, query.query, query.types)
        if result.status != _DONE:
            raise self._error(result)
        statement = _Statement(name, query, Transformer(self._cursor))
        self._add(text, statement)
        return statement

    def _add(self, text: str, statement: _Statement | None) -> None:
        self._statements[text] = statement
        if len(self._statements) > MOST:
            _, oldest = self._statements.popitem(last=False)
            if oldest is not None:
                self._cursor.execute(b"deallocate " + oldest.name, prepare=False)

    def _error(self, result: PGresult) -> psycopg.Error:
        if result.error_field(pq.DiagnosticField.SQLSTATE) is not None:
            return psycopg.errors.error_from_result(result)
        # The server told nothing: libpq lost it. While writing, it does not yet take its connection for lost.
        message = result.get_error_message()
        self._connection.finish()
        return psycopg.OperationalError(message)
