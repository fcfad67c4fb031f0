"""Whose signatures count: the nodes of the latest address book and their stakes, as the tables tell."""

from fractions import Fraction

from django.db import connection

from ledger.ingest.errors import IngestError
from ledger.stream.record.item import RecordItem
from ledger.stream.signature.address_book import AddressBookNode, read_address_book
from ledger.stream.signature.quorum import ConsensusMode, Electorate, electorate
from mirror import config
from mirror.values import entity_id
from mirror.values.timestamp import MAX
from mirror.values.transaction_types import NUMBERS

_BOOK_FILES = (101, 102)
_CURRENT_BOOK_FILE = 102
_CHANGES_A_FILE = frozenset(NUMBERS[name] for name in ("FILECREATE", "FILEUPDATE", "FILEAPPEND"))
_NODE_STAKE_UPDATE = NUMBERS["NODESTAKEUPDATE"]

_NODES = """
    select node_id, node_account_id, coalesce(public_key, '') from address_book_entry
    where consensus_timestamp =
        (select max(start_consensus_timestamp) from address_book
         where file_id = %s and start_consensus_timestamp <= %s)"""
_STAKES = """
    select node_id, stake from node_stake
    where consensus_timestamp =
        (select max(consensus_timestamp) from node_stake where consensus_timestamp <= %s)"""


class Trust:
    """The nodes whose signatures count now. `first_book` is taken as long as the tables have no book.

    Source: address_book_entry of the latest book in file 102; node_stake of the latest update.
    """

    def __init__(self, first_book: bytes | None = None) -> None:
        self._first_book = first_book
        self._mode = ConsensusMode(config.value("importer.consensusMode"))
        self._ratio: Fraction = config.value("importer.downloader.consensusRatio")
        self._key: str = config.value("importer.nodePublicKey")
        self._electorate: Electorate | None = None

    def electorate(self) -> Electorate:
        """Errors: IngestError when no address book is known."""
        if self._electorate is None:
            self._electorate = self.electorate_at(MAX)
        return self._electorate

    def forget(self) -> None:
        """Read the tables again when next asked: they may say something else now."""
        self._electorate = None

    def electorate_at(self, at: int) -> Electorate:
        """Whose signatures counted at a time (ns) of the past. Errors: IngestError, as above."""
        file = entity_id.encode(
            config.value("common.shard"), config.value("common.realm"), _CURRENT_BOOK_FILE
        )
        with connection.cursor() as cursor:
            cursor.execute(_NODES, [file, at])
            nodes = [AddressBookNode(*row) for row in cursor.fetchall()]
            cursor.execute(_STAKES, [at])
            stakes = dict(cursor.fetchall())
        if not nodes and self._first_book:
            nodes = read_address_book("first address book", self._first_book)
        if not nodes:
            raise IngestError(
                "signatures",
                "start",
                f"no address book of the network {config.value('network')} is known, so no signature can be "
                "verified",
                "Name its first one by importer.initialAddressBook, or load without verifying by "
                "--without-signatures.",
            )
        if self._key:
            nodes = [node._replace(public_key=self._key) for node in nodes]
        return electorate(nodes, stakes, self._mode, self._ratio)


def changes_nodes(item: RecordItem) -> bool:
    """Whether a transaction changes the nodes or their stakes, once it is stored. Needs `item.entity_id`."""
    kind = item.transaction_type
    if kind == _NODE_STAKE_UPDATE:
        return True
    return kind in _CHANGES_A_FILE and entity_id.decode(item.entity_id or 0)[2] in _BOOK_FILES
