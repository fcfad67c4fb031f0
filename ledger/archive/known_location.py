"""Whether files have been kept in the place of the settings, as the table archive_location remembers.

A node that is started while the disk of its place is away finds an empty folder, which looks like a new
place.
"""

from django.db import connection
from django.db.backends.utils import CursorWrapper

from ledger.archive.location import archive_location

# Index: the primary key (location).
_USED = "select exists (select from archive_location where location = %s)"
_NOTE = "insert into archive_location (location, since) values (%s, now()) on conflict (location) do nothing"


def before() -> bool:
    """Tell if a batch with a file that was kept there has been committed."""
    with connection.cursor() as cursor:
        cursor.execute(_USED, [_location()])
        return bool(cursor.fetchone()[0])


def note(cursor: CursorWrapper) -> None:
    """Remember the place, in the transaction of the cursor."""
    cursor.execute(_NOTE, [_location()])


def _location() -> str:
    return archive_location().rstrip("/")
