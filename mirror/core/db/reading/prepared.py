"""Prepared statements of a connection, run by libpq at once instead of by a cursor of psycopg's.

A cursor lets a thread that waits take signals, and finds out anew what the values and columns of a statement
are. That takes ten microseconds each time, as long as PostgreSQL works for a short statement. A web request
needs no signals: its thread is not the main one, and whoever wants it to end cancels its statement.
"""

import select
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import psycopg
from psycopg import pq
from psycopg._queries import PostgresQuery
from psycopg.adapt import Transformer
from psycopg.pq.abc import PGresult

from mirror.core.db.sql.types import Row, Values

if TYPE_CHECKING:
    from psycopg.abc import Transformer as Adapter

#: As many statements stay prepared; those that were not used for the longest time make room.
MAX_STATEMENTS = 100

_DONE = pq.ExecStatus.COMMAND_OK
_ROWS = pq.ExecStatus.TUPLES_OK
_END = pq.ExecStatus.PIPELINE_SYNC
_BINARY = pq.Format.BINARY
# How often a thread that waits for a server checks whether it was given up.
_POLL_SECONDS = 0.5


class _Statement:
    """A statement prepared for values of certain types."""

    def __init__(self, name: bytes, query: PostgresQuery, columns: "Adapter") -> None:
        self.name, self.types, self.formats = name, query.types, query._want_formats or []
        #: The names of its placeholders, if they have any.
        self.order = query._order
        #: Reads its rows, and has found out how.
        self.columns, self.has_columns = columns, False


class PreparedStatements:
    """The prepared statements of a connection. What `cursor` adapts is adapted here, too.

    `is_gone` tells whether to give the server up while it says nothing. `first` is a statement without values
    that is sent before each other one.
    """

    def __init__(
        self, cursor: psycopg.Cursor[Any], is_gone: Callable[[], bool] | None = None, first: str = ""
    ) -> None:
        self._cursor, self._is_gone = cursor, is_gone or (lambda: False)
        self._connection = cursor.connection.pgconn
        self._first = first
        #: The rows of `first` that came with those of the last statement.
        self.first_rows: list[Row] = []
        self._values = Transformer(cursor)
        # Text -> statement, the one that was used last at the end; None after its first use.
        self._statements: OrderedDict[str, _Statement | None] = OrderedDict()
        self._count = 0
        self._readable, self._usable = select.poll(), select.poll()
        self._readable.register(self._connection.socket, select.POLLIN)
        self._usable.register(self._connection.socket, select.POLLIN | select.POLLOUT)

    def rows(self, text: str, values: "Values") -> "list[Row] | None":
        """Return all rows of a statement; None for one that is not prepared, as it is used once so far.

        Errors: psycopg.Error.
        """
        if self._first:
            return self._rows_of_both(text, values)
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

    def _rows_of_both(self, text: str, values: "Values") -> "list[Row]":
        """Return the rows of a statement, and note those of `first`, which is sent together with it."""
        ready = self._ready(self._first, ()), self._ready(text, values)
        connection = self._connection
        connection.enter_pipeline_mode()
        try:
            for statement, sent, formats in ready:
                connection.send_query_prepared(statement.name, sent, formats, _BINARY)
            connection.pipeline_sync()
            results = [self._result() for _ in ready]
            # The sync itself.
            self._result()
        except BaseException:
            # Unread results would answer the next statement.
            connection.finish()
            raise
        connection.exit_pipeline_mode()
        for result in results:
            if result.status != _ROWS:
                raise self._error(result)
        self.first_rows, rows = (
            self._loaded(each[0], result) for each, result in zip(ready, results, strict=True)
        )
        return rows

    def _ready(self, text: str, values: "Values") -> tuple[_Statement, Sequence[bytes], list[pq.Format]]:
        """Return a statement, prepared for values like these, with the values as they are sent."""
        statement = self._statements.get(text) or self._prepare(text, values)
        sent = self._dumped(statement, values)
        if self._values.types != statement.types:
            self._deallocate(statement)
            statement = self._prepare(text, values)
            sent = self._dumped(statement, values)
        self._statements.move_to_end(text)
        return statement, sent, list(self._values.formats or ())

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

    def _result(self) -> PGresult:
        """Return the result of what was sent; of a pipeline that of the next statement, or of its end."""
        connection = self._connection
        self._wait()
        result = connection.get_result()
        if result is None:
            raise self._connection_lost(connection.get_error_message())
        if result.status != _END:
            # The end of this statement's results.
            self._wait()
            connection.get_result()
        return result

    def _wait(self) -> None:
        """Wait until libpq has a result at hand: fetching it earlier would block all threads."""
        connection = self._connection
        while (is_sending := connection.flush()) or connection.is_busy():
            poll = self._usable if is_sending else self._readable
            if not poll.poll(_POLL_SECONDS * 1000) and self._is_gone():
                raise self._connection_lost("the server has not answered")
            connection.consume_input()

    def _connection_lost(self, message: str) -> psycopg.Error:
        self._connection.finish()
        return psycopg.OperationalError(message)

    def _prepare(self, text: str, values: "Values") -> _Statement:
        query = PostgresQuery(Transformer(self._cursor))
        query.convert(text, values)
        self._count += 1
        name = b"read_%d" % self._count
        self._connection.send_prepare(name, query.query, query.types)
        self._done()
        statement = _Statement(name, query, Transformer(self._cursor))
        self._add(text, statement)
        return statement

    def _deallocate(self, statement: _Statement) -> None:
        self._connection.send_query(b"deallocate " + statement.name)
        self._done()

    def _done(self) -> None:
        """Wait until what was sent is done. Errors: psycopg.Error."""
        try:
            result = self._result()
        except BaseException:
            # As above.
            self._connection.finish()
            raise
        if result.status != _DONE:
            raise self._error(result)

    def _add(self, text: str, statement: _Statement | None) -> None:
        self._statements[text] = statement
        if len(self._statements) > MAX_STATEMENTS:
            _, oldest = self._statements.popitem(last=False)
            if oldest is not None:
                self._deallocate(oldest)

    def _error(self, result: PGresult) -> psycopg.Error:
        if result.error_field(pq.DiagnosticField.SQLSTATE) is not None:
            return psycopg.errors.error_from_result(result)
        # The server sent nothing: libpq lost it. While writing, it does not yet take its connection for lost.
        return self._connection_lost(result.get_error_message())
