"""How a run loads, and what it has done so far."""

from dataclasses import dataclass

from ledger.ingest.balances.start import Start
from ledger.ingest.coverage import Range
from ledger.ingest.hash_chain import Position
from ledger.ingest.stages.reader_processes import Readers
from ledger.ingest.trusted_nodes import Quorums


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """How a run loads.

    `quorums`: published files have to be signed by a quorum. `readers` read files on disk in advance.
    `allow_gap`: load files that don't follow the last one. `start` (ns): allow a gap that ends there.
    `balances`: if nothing is stored, begin with them, and with the first file that ends after them.
    `require_archive`: stop at the first file that can't be archived.
    """

    quorums: Quorums | None = None
    readers: Readers | None = None
    allow_gap: bool = False
    start: int | None = None
    balances: Start | None = None
    require_archive: bool = False


@dataclass
class Progress:
    """The work that a run has done so far."""

    files: int = 0
    # Files that were loaded before.
    skipped: int = 0
    transactions: int = 0
    bytes: int = 0
    # Files from before the balances that loading begins with.
    earlier: int = 0
    # Files that a quorum signed, those of them with a threshold signature, and the nodes that signed others.
    verified: int = 0
    proved: int = 0
    signed_by: frozenset[int] = frozenset()
    # Files that a reader process read in advance.
    prefetched: int = 0
    last: Position | None = None
    # The time of the last balance snapshot, or what stands for it (ns).
    snapshot: int | None = None
    # The range of loaded files that the last one lies in.
    covered: Range | None = None
