"""The database of a command: that of DATABASE_URL, or the node's own, started if it is not running."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import DatabaseError, OperationalError, connection, connections

from mirror import config
from mirror.config.errors import OperatorError
from mirror.node.postgres import server as embedded
from mirror.node.postgres.place import place

OLDEST_VERSION = 15


@contextmanager
def ready(say: Callable[[str], None], *, make: bool = True) -> Iterator[embedded.Server | None]:
    """Keep the database ready for the length of the block; yield the node's own server (None: DATABASE_URL).

    Errors: OperatorError if it can't be used, or if there is none yet and `make` is false.
    """
    if config.value("db.url"):
        _check()
        yield None
        return
    if not make and not place(settings.DATA_DIR).data.exists():
        raise OperatorError(
            f"There is no node in {settings.DATA_DIR} yet: `manage.py up` and `manage.py ingest` make one."
        )
    with embedded.in_use(settings.DATA_DIR, say) as server:
        try:
            yield server
        except OperationalError:
            server.check_disk()
            raise
        finally:
            connections.close_all()


def _check() -> None:
    """Raise OperatorError if the database of DATABASE_URL does not answer, is too old, or is not in UTF-8."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("select current_setting('server_version_num'), current_setting('server_encoding')")
            number, encoding = cursor.fetchone()
    except DatabaseError as error:
        reason = str(error).strip().splitlines()[0]
        raise OperatorError(f"The database of DATABASE_URL can't be used: {reason}") from error
    version = int(number) // 10_000
    if version < OLDEST_VERSION:
        raise OperatorError(
            f"DATABASE_URL names a PostgreSQL {version}, but version {OLDEST_VERSION} or later is needed."
        )
    if encoding != "UTF8":
        raise OperatorError(
            f"DATABASE_URL names a database that keeps text as {encoding}, which can't hold every name: "
            "make one by `create database NAME encoding 'UTF8' template template0`."
        )
