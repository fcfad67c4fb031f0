"""A sentence about which errata are applied, for `manage.py status`."""

from django.db import connection

from ledger.errata import KNOWN, NETWORK
from mirror.core import config

# The first transactions of mainnet are of September 2019; transfers that did not happen are of that year.
_CONCERNED_BEFORE = 1_577_836_800 * 10**9

# Index: the primary key (consensus_end).
_FIRST = "select consensus_start from record_file order by consensus_end limit 1"
_APPLIED = "select part, cardinality(applied) from loaded_errata"


def sentence() -> str:
    """Return what is applied, or that nothing is; empty where the history has no errata."""
    if config.value("network") != NETWORK:
        return ""
    with connection.cursor() as cursor:
        cursor.execute(_APPLIED)
        applied = dict(cursor.fetchall())
        cursor.execute(_FIRST)
        first = cursor.fetchone()
    if applied:
        counts = (
            f"{applied.get(part.value, 0):,} of {known:,} {part.value}" for part, known in KNOWN.items()
        )
        return f"{', '.join(counts)} of mainnet's errata are applied"
    if first is None or first[0] >= _CONCERNED_BEFORE:
        return ""
    return (
        "none of mainnet's errata are applied, so transactions are missing and balances are wrong: see "
        "`manage.py errata --help`"
    )
