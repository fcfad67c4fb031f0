"""Changes of the catalogue of a database that is in use.

ALTER TABLE needs a short exclusive lock. While it waits for a long reader, everybody who comes later
waits behind it. So it waits a fraction of a second, lets the others go first, and tries again.
"""

import time
from collections.abc import Callable
from typing import Any

from django.db import OperationalError, transaction
from psycopg import errors

from mirror.core import logs

log = logs.logger("mirror.db")

# No reader notices a wait of this length.
_LOCK_MILLISECONDS = 100
# A vacuum is cancelled for a session that has waited for deadlock_timeout, which is a second.
_VACUUM_GIVES_WAY_MILLISECONDS = 1500
_FIRST_PAUSE, _MAX_PAUSE = 0.2, 2.0
_SECONDS_BETWEEN_LINES = 10.0

# The sessions that use a table or a partition of it, the one that has done so longest first.
_USERS = """
    select a.backend_type = 'autovacuum worker', coalesce(nullif(a.application_name, ''), a.backend_type),
        a.pid, extract(epoch from now() - a.xact_start)::int
    from pg_locks l join pg_stat_activity a on a.pid = l.pid
    where l.relation in (select relid from pg_partition_tree(to_regclass(%s))
                         union select to_regclass(%s)::oid)
        and l.database = (select oid from pg_database where datname = current_database())
        and l.granted and a.pid <> pg_backend_pid()
    order by a.xact_start nulls last"""


def change_table(connection: Any, table: str, change: Callable[[], None]) -> None:
    """Change a table in a transaction, as soon as nobody has to wait for it; the log says who uses it."""
    pause, milliseconds = _FIRST_PAUSE, _LOCK_MILLISECONDS
    last_line = time.monotonic() - _SECONDS_BETWEEN_LINES
    while True:
        try:
            with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
                cursor.execute(f"set local lock_timeout = {milliseconds}")
                change()
            return
        except OperationalError as error:
            if not isinstance(error.__cause__, errors.LockNotAvailable | errors.DeadlockDetected):
                raise
        with connection.cursor() as cursor:
            name = connection.ops.quote_name(table)
            cursor.execute(_USERS, [name, name])
            users = cursor.fetchall()
        if time.monotonic() - last_line >= _SECONDS_BETWEEN_LINES:
            last_line = time.monotonic()
            log.warning("migration_waits", table=table, used_by=_named(users))
        only_vacuum = bool(users) and all(vacuum for vacuum, *_ in users)
        milliseconds = _VACUUM_GIVES_WAY_MILLISECONDS if only_vacuum else _LOCK_MILLISECONDS
        time.sleep(pause)
        pause = min(pause * 2, _MAX_PAUSE)


def _named(users: list[tuple[bool, str, int, int | None]]) -> str:
    """Return the first user in words: its program, its process, the age of its transaction."""
    if not users:
        return "nobody any more"
    _, program, pid, seconds = users[0]
    more = f", and {len(users) - 1} more" if len(users) > 1 else ""
    age = f", for {seconds} s" if seconds is not None else ""
    return f"{program!r} (server process {pid}{age}){more}"
