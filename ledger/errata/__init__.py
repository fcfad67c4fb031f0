"""The errata of mainnet: what is missing from its stream of files, and what is too much.

Nothing of it is bundled: an operator names a folder with files. How many there have to be is known.
"""

from dataclasses import dataclass
from enum import StrEnum

from mirror.core import config
from mirror.core.db import statements

NETWORK = "mainnet"


class Part(StrEnum):
    """A kind of errata; the value is its name in `loaded_errata`."""

    TRANSACTIONS = "transactions"
    ACCOUNTS = "accounts"
    CONTRACTS = "contracts"
    BALANCE_FILES = "balance files"
    SPURIOUS = "spurious transfers"


#: How many there are, of those parts of which it is known.
EXPECTED = {Part.TRANSACTIONS: 113, Part.ACCOUNTS: 15_380, Part.CONTRACTS: 89}
# The first transactions of mainnet are of September 2019; transfers that did not happen are of that year.
_ERRATA_END = 1_577_836_800 * 10**9

# Index: the primary key (consensus_end).
_FIRST = "select consensus_start from record_file order by consensus_end limit 1"
_APPLIED = "select part, cardinality(applied) from loaded_errata"


@dataclass(frozen=True)
class Applied:
    """What there is now of a part, what this run has added, and what lies outside of what is loaded."""

    part: Part
    loaded: int
    added: int
    outside: int = 0


def sentence() -> str:
    """Return what is applied, or that nothing is; empty where the history has no errata."""
    if config.value("network") != NETWORK:
        return ""
    applied = dict(statements.rows(_APPLIED))
    if applied:
        counts = (
            f"{applied.get(part.value, 0):,} of {total:,} {part.value}" for part, total in EXPECTED.items()
        )
        return f"{', '.join(counts)} of mainnet's errata are applied"
    first = statements.value(_FIRST)
    if first is None or first >= _ERRATA_END:
        return ""
    return (
        "none of mainnet's errata are applied, so transactions are missing and balances are wrong: see "
        "`manage.py errata --help`"
    )
