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

from mirror.core.db.statements import Row, Values

if TYPE_CHECKING:
    from psycopg.abc import Transformer as Adapter

#: As many statements stay prepared; those that were not used for the longest time make room.
MAX_STATEMENTS = 100

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
        self.columns, self.has_columns = columns, False


class PreparedStatements:
    """The prepared statements of a connection. What `cursor` adapts is adapted here, too."""

    def __init__(self, cursor: psycopg.Cursor[Any]) -> None:
        self._cursor, self._connection = cursor, cursor.connection.pgconn
        self._values = Transformer(cursor)
        # Text -> statement, the one that was used last at the end; None after its first use.
        self._statements: OrderedDict[str, _Statement | None] = OrderedDict()
        self._count = 0

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
        sent = self._dumped(statement, values)
        if self._values.types != statement.types:
            # A value is None here and was a number before, or the other way round.
            return None
        result = self._connection.exec_prepared(statement.name, sent, self._values.formats, _BINARY)
        if result.status != _ROWS:
            raise self._error(result)
        return self._loaded(statement, result)

    def _dumped(self, statement: _Statement, values: "Values") -> Sequence[bytes]:
        if statement.order is not None:
            assert isinstance(values, Mapping)
            values = [values[name] for name in statement.order]
        dumped = self._values.dump_sequence(cast(Sequence[Any], values), statement.formats)
        return cast(Sequence[bytes], dumped)

    def _loaded(self, statement: _Statement, result: PGresult) -> "list[Row]":
        columns = statement.columns
        columns.set_pgresult(result, set_loaders=not statement.has_columns, format=_BINARY)
        statement.has_columns = True
        rows = columns.load_rows(0, result.ntuples, tuple)
        columns.set_pgresult(None, set_loaders=False)
        return rows

    def _prepare(self, text: str, values: "Values") -> _Statement:
        query = PostgresQuery(Transformer(self._cursor))
        query.convert(text, values)
        self._count += 1
        name = b"read_%d" % self._count
        self._check(self._connection.prepare(name, query.query, query.types))
        statement = _Statement(name, query, Transformer(self._cursor))
        self._add(text, statement)
        return statement

    def _check(self, result: PGresult) -> None:
        if result.status != _DONE:
            raise self._error(result)

    def _add(self, text: str, statement: _Statement | None) -> None:
        self._statements[text] = statement
        if len(self._statements) > MAX_STATEMENTS:
            _, oldest = self._statements.popitem(last=False)
            if oldest is not None:
                self._check(self._connection.exec_(b"deallocate " + oldest.name))

    def _error(self, result: PGresult) -> psycopg.Error:
        if result.error_field(pq.DiagnosticField.SQLSTATE) is not None:
            return psycopg.errors.error_from_result(result)
        # The server sent nothing: libpq lost it. While writing, it does not yet take its connection for lost.
        self._connection.finish()
        return psycopg.OperationalError(result.get_error_message())
