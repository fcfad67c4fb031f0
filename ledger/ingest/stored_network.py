"""The network whose ledger the database holds: its first loader stores the name, later ones have to match it.

Files do not name their network, and accounts of different networks have the same numbers.
"""

from django.db import connection
from django.db.backends.utils import CursorWrapper

from mirror.core import config
from mirror.core.config.errors import OperatorError

# An empty database belongs to no network yet.
_STORED = "select network from stored_network where exists (select from record_file)"
_STORE = """
    insert into stored_network (id, network) values (1, %s)
    on conflict (id) do update set network = excluded.network"""


def check() -> None:
    """Raise OperatorError when the database holds another network than the configured one."""
    with connection.cursor() as cursor:
        _check(cursor)


def remember(cursor: CursorWrapper) -> None:
    """Store the configured network as the one of this database. Errors: OperatorError, as above."""
    _check(cursor)
    cursor.execute(_STORE, [config.value("network")])


def _check(cursor: CursorWrapper) -> None:
    cursor.execute(_STORED)
    row = cursor.fetchone()
    configured = config.value("network")
    if row and row[0] != configured:
        variable = config.described("network").variable
        raise OperatorError(
            f"The database holds the network {row[0]}, and {variable} is {configured}: set it to {row[0]}, "
            f"or choose another database for {configured} (SVC_MIRROR_DATA or DATABASE_URL)."
        )
