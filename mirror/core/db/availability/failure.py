"""Explanations of database and disk failures for the operator."""

import errno

from django.db import Error, InterfaceError, OperationalError
from psycopg import errors

from mirror.core.db.availability import outage

_NO_TABLES = (
    "The database has no tables yet, or old ones: `manage.py up`, `manage.py ingest` and `manage.py upgrade` "
    "make them."
)


def sentence(error: Error | OSError) -> str | None:
    """Return a sentence on the failure and its cure; None for a fault of the program."""
    if isinstance(error, OSError):
        return _system_sentence(error)
    origin = _origin(error)
    reason = outage.reason(origin).rstrip(" .")
    match origin:
        case errors.DiskFull():
            return f"The disk of the database is full: free some space and start again ({reason})."
        case errors.ReadOnlySqlTransaction():
            return (
                f"The database takes no changes ({reason}): if it is a replica, let DATABASE_URL name its "
                "primary."
            )
        case errors.InsufficientPrivilege():
            return (
                f"The role of the database may not do what the node has to ({reason}): let it own the "
                "database (`alter database NAME owner to ROLE`), or name another one by DATABASE_URL."
            )
        case errors.DuplicateTable() | errors.DuplicateObject():
            return (
                f"The database has something of another program where the node makes its tables ({reason}): "
                "name an empty database by DATABASE_URL. If that is a mirror node, `manage.py migrate "
                "--fake-initial` takes its tables over."
            )
        case errors.UndefinedTable() | errors.UndefinedColumn():
            return _NO_TABLES
        case errors.CheckViolation() if reason.startswith("no partition of relation"):
            return (
                f"A partition is missing ({reason}): loading makes those of months when it starts, so start "
                "it again; make another one by `create table NAME partition of TABLE for values ...`."
            )
    if isinstance(error, OperationalError | InterfaceError):
        return f"The database does not answer as it should: {reason}."
    return None


def line(error: Error) -> str:
    """Return the sentence, or the first line of what PostgreSQL says."""
    return sentence(error) or f"The database failed: {outage.reason(_origin(error))}"


def _origin(error: BaseException) -> BaseException:
    """Return what PostgreSQL or its client raised, without the Django exceptions around it."""
    while inner := error.__cause__ or error.__context__:
        error = inner
    return error


def _system_sentence(error: OSError) -> str | None:
    if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO):
        return None
    where = f" {error.filename}" if error.filename else " a file"
    return f"Can't write{where}: {error.strerror}. Make room, or repair the disk, and start again."
