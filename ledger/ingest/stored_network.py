"""The network whose ledger the database holds: its first loader stores the name, later ones have to match it.

Files do not name their network, and accounts of different networks have the same numbers.
"""

from mirror.core import config
from mirror.core.config.setting import OperatorError
from mirror.core.db import statements

# An empty database belongs to no network yet.
_STORED = "select network from stored_network where exists (select from record_file)"
_STORE = """
    insert into stored_network (id, network) values (1, %s)
    on conflict (id) do update set network = excluded.network"""


def check() -> None:
    """Raise OperatorError when the database holds another network than the configured one."""
    stored, configured = statements.value(_STORED), config.value("network")
    if stored and stored != configured:
        variable = config.lookup("network").variable
        raise OperatorError(
            f"The database holds the network {stored}, and {variable} is {configured}: set it to {stored}, "
            f"or choose another database for {configured} (SVC_MIRROR_DATA or DATABASE_URL)."
        )


def remember() -> None:
    """Store the configured network as the one of this database. Errors: OperatorError, as above."""
    check()
    statements.execute(_STORE, [config.value("network")])
