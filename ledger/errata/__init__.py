"""The errata of mainnet: what is missing from its stream of files, and what is too much.

Nothing of it is bundled: an operator names a folder with files. How many there have to be is known.
"""

from dataclasses import dataclass
from enum import StrEnum

NETWORK = "mainnet"


class Part(StrEnum):
    """A kind of errata; the value is its name in `loaded_errata`."""

    TRANSACTIONS = "transactions"
    ACCOUNTS = "accounts"
    CONTRACTS = "contracts"
    BALANCE_FILES = "balance files"
    SPURIOUS = "spurious transfers"


#: How many there are, of those parts of which it is known.
KNOWN = {Part.TRANSACTIONS: 113, Part.ACCOUNTS: 15_380, Part.CONTRACTS: 89}


@dataclass(frozen=True)
class Done:
    """What there is now of a part, what this run has added, and what lies outside of what is loaded."""

    part: Part
    loaded: int
    added: int
    outside: int = 0
