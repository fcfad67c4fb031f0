"""The nodes whose signatures count: those of the latest address book with their stakes, from the tables."""

from fractions import Fraction

from ledger.stream import ledger_identity
from ledger.stream.ledger_identity import FIRST_LEDGER, LedgerIdentity, named_ledger
from ledger.stream.record_item import RecordItem
from ledger.stream.signature.address_book import AddressBookNode, read_address_book
from ledger.stream.signature.quorum import ConsensusMode, Quorum
from ledger.stream.source.stream_settings import PUBLIC_BUCKETS
from mirror.core import config
from mirror.core.config.setting import OperatorError
from mirror.core.db import statements
from mirror.core.values import entity_id
from mirror.core.values.hapi.transaction_types import NUMBERS
from mirror.core.values.timestamp import MAX

_BOOK_FILES = (101, 102)
_CURRENT_BOOK_FILE = 102
_CHANGES_A_FILE = frozenset(NUMBERS[name] for name in ("FILECREATE", "FILEUPDATE", "FILEAPPEND"))
# Networks whose first address books come with the program. If their first blocks were trusted without
# proof, blocks of any network could be loaded as theirs. Demo networks can't be mistaken for anything else.
KNOWN_NETWORKS = frozenset(PUBLIC_BUCKETS) - {"demo"}
_CHANGE_NODES = frozenset((NUMBERS["NODESTAKEUPDATE"], NUMBERS["LEDGERIDPUBLICATION"]))

_NODES = """
    select node_id, node_account_id, coalesce(public_key, '') from address_book_entry
    where consensus_timestamp =
        (select max(start_consensus_timestamp) from address_book
         where file_id = %s and start_consensus_timestamp <= %s)"""
_STAKES = """
    select node_id, stake from node_stake
    where consensus_timestamp =
        (select max(consensus_timestamp) from node_stake where consensus_timestamp <= %s)"""


# The table has a row for each ledger id, which a network has one of. A publication that is repeated replaces
# the row, so that the only row may be later than a block of the past that it is of.
_LEDGER = """
    select ledger_id, history_proof_verification_key, node_contributions from ledger
    where (consensus_timestamp <= %(at)s) = %(before)s
    order by abs(%(at)s - consensus_timestamp) limit 1"""


class Quorums:
    """The quorum that has to sign files. `first_book` counts as long as the tables have no book.

    Source: address_book_entry of the latest book in file 102; node_stake of the latest update; ledger.
    """

    def __init__(self, first_book: bytes | None = None) -> None:
        """Errors: OperatorError if the operator names a ledger wrongly."""
        self._first_book = first_book
        self._mode = ConsensusMode(config.value("importer.consensusMode"))
        self._ratio: Fraction = config.value("importer.downloader.consensusRatio")
        self._key: str = config.value("importer.nodePublicKey")
        self._first_ledger = named_ledger()
        if self._first_ledger is not None:
            _require_loaded(self._first_ledger)
        self._latest: Quorum | None = None

    def quorum(self) -> Quorum:
        """Return the quorum of the tables as they are now. Errors: NoAddressBook."""
        latest = self.latest()
        latest.require_nodes("signatures")
        return latest

    def latest(self) -> Quorum:
        """Return the quorum of the tables as they are now; blocks may need none of the nodes."""
        if self._latest is None:
            self._latest = self.quorum_at(MAX)
        return self._latest

    def latest_quorum(self, timestamp: int) -> Quorum:
        """Return the quorum for a file that is being loaded: whatever its time, the latest one."""
        return self.latest()

    def clear(self) -> None:
        self._latest = None

    def quorum_at(self, timestamp: int) -> Quorum:
        """Return the quorum at a time (ns) of the past. It has no nodes if no address book is known."""
        file = config.own_id(_CURRENT_BOOK_FILE)
        nodes = [AddressBookNode(*row) for row in statements.rows(_NODES, [file, timestamp])]
        stakes = dict(statements.rows(_STAKES, [timestamp]))
        if not nodes and self._first_book:
            nodes = read_address_book("first address book", self._first_book)
        if self._key:
            nodes = [node._replace(public_key=self._key) for node in nodes]
        return Quorum.from_address_book(
            nodes,
            stakes,
            self._mode,
            self._ratio,
            self._ledger(timestamp),
            first_block_trusted=config.value("network") not in KNOWN_NETWORKS,
        )

    def _ledger(self, timestamp: int) -> LedgerIdentity | None:
        """Return the last publication before a time, the operator's, or a later one, which may repeat it."""
        return _published(timestamp, before=True) or self._first_ledger or _published(timestamp, before=False)


def _require_loaded(named: LedgerIdentity) -> None:
    """Require that blocks of no other ledger are loaded. Errors: OperatorError."""
    ledgers = statements.rows("select ledger_id from ledger order by consensus_timestamp desc")
    loaded = [bytes(ledger_id) for (ledger_id,) in ledgers]
    if loaded and named.ledger_id not in loaded:
        variable, other = config.lookup(FIRST_LEDGER).variable, loaded[0].hex()
        raise OperatorError(
            f"{variable} names the ledger {named.ledger_id.hex()}, but what is loaded comes from the ledger "
            f"{other}: name that one's publication, or load the other ledger into another database."
        )


def _published(timestamp: int, *, before: bool) -> LedgerIdentity | None:
    """Return the publication that is the closest one before a time (ns), or after it."""
    row = statements.row(_LEDGER, {"at": timestamp, "before": before})
    return ledger_identity.identity_from_row(*row) if row else None


def changes_nodes(item: RecordItem) -> bool:
    """Return whether a transaction changes the nodes or their stakes once stored. Needs `item.entity_id`."""
    kind = item.transaction_type
    if kind in _CHANGE_NODES:
        return True
    return kind in _CHANGES_A_FILE and entity_id.decode(item.entity_id or 0)[2] in _BOOK_FILES
