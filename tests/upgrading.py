"""A database that an older release has filled: chosen backfills are ahead of it."""

import threading

from django.db import connection

from mirror.core.db.schema.backfill import TITLES
from mirror.upgrade import remaining, runner
from mirror.upgrade.remaining import Remaining

ALL_TIME = (1 << 63) - 1


def put_ahead(*names: str, newest: int = ALL_TIME) -> None:
    """Leave these backfills to be done, of the rows up to `newest`, and no others."""
    with connection.cursor() as cursor:
        cursor.execute("delete from backfill")
        for name in TITLES:
            cursor.execute(
                "insert into backfill (name, newest, rows, seconds, finished) "
                "values (%s, %s, 0, 0, case when not %s then now() end)",
                [name, newest, name in names],
            )


def upgrade(*names: str, newest: int = ALL_TIME) -> list[Remaining]:
    """Run backfills (without names: those that are ahead) to the end; return their states."""
    if names:
        put_ahead(*names, newest=newest)
    names = names or tuple(remaining.names())
    assert runner.run(lambda state: None, threading.Event())
    assert not remaining.names()
    return [remaining.get(name) for name in names]
