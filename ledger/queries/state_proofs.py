"""Reading what a state proof is of: a transaction, the file it is in, and the address books up to then."""

from collections.abc import Sequence
from typing import NamedTuple

from ledger.stream import ledger_identity
from ledger.stream.block_names import BLOCK_VERSION
from ledger.stream.ledger_identity import LedgerIdentity, named_ledger
from ledger.stream.signature.address_book import AddressBookNode
from mirror.core import config
from mirror.core.db.reading.by_month import and_months
from mirror.core.db.reading.query import Bounds
from mirror.core.db.reading.sql import MAX_INT64, fetch
from mirror.core.values.hapi import result_codes
from mirror.core.values.timestamp import NANOS_PER_SECOND

_ADDRESS_BOOK = 102

# How far consensus may be from a transaction's valid start, and the end of a file from a transaction in it.
_SOON = "rest.query.maxTransactionConsensusTimestampRange"
_LATER = "rest.query.maxScheduledTransactionConsensusTimestampRange"
_CLOSE_INTERVAL = "rest.query.maxRecordFileCloseInterval"


class StoredFile(NamedTuple):
    """A record file or block as the database has it. `content` is its stored bytes, None if not stored.

    Hashes are lower-case hex; `file_hash` is "" for a block. Times are ns.
    """

    name: str
    version: int
    number: int
    hash: str
    file_hash: str
    content: bytes | None
    consensus_start: int
    consensus_end: int
    wrapped_record_block_hash: bytes | None

    @property
    def is_block(self) -> bool:
        """Return whether it is a block of a block stream, not a record file nor one that came in a block."""
        return self.version >= BLOCK_VERSION

    @property
    def block_hash(self) -> str:
        """The hash of the block that it is, or that it has come in; "" for a record file that came alone."""
        if self.is_block:
            return self.hash
        return bytes(self.wrapped_record_block_hash or b"").hex()


class StoredBook(NamedTuple):
    """The address books up to a time, serialized, the oldest first, and the nodes of the last one."""

    contents: Sequence[bytes]
    nodes: Sequence[AddressBookNode]


def successful_transaction(payer: int, valid_start: int, nonce: int, scheduled: bool) -> int | None:
    """Return when the successful transaction of an id reached consensus (ns), None if there is none."""
    if valid_start > MAX_INT64:
        return None
    longest = config.value(_LATER if scheduled else _SOON)
    times = Bounds(valid_start, min(valid_start + int(longest * NANOS_PER_SECOND), MAX_INT64))
    # Index: transaction__transaction_id (valid_start_ns, payer_account_id). A condition on the time would
    # tempt PostgreSQL to read all that this payer did in that time instead.
    rows = fetch(
        f"""
        select t.consensus_timestamp from transaction t
        where t.valid_start_ns = %s and t.payer_account_id = %s and t.nonce = %s and t.scheduled = %s
            and t.result = any(%s) {and_months(times, "t.consensus_timestamp")}
        order by t.consensus_timestamp
        """,
        (valid_start, payer, nonce, scheduled, sorted(result_codes.SUCCESS)),
    )
    assert times.lower is not None and times.upper is not None
    return next((timestamp for (timestamp,) in rows if times.lower <= timestamp <= times.upper), None)


def transactions(payer: int, valid_start: int, nonce: int, scheduled: bool) -> list[int]:
    """Return when the transactions of an id reached consensus (ns), whatever their results."""
    if valid_start > MAX_INT64:
        return []
    # Index: transaction__transaction_id (valid_start_ns, payer_account_id).
    rows = fetch(
        """
        select consensus_timestamp from transaction
        where valid_start_ns = %s and payer_account_id = %s and nonce = %s and scheduled = %s
        order by consensus_timestamp
        """,
        (valid_start, payer, nonce, scheduled),
    )
    return [timestamp for (timestamp,) in rows]


def file_at(consensus_timestamp: int) -> StoredFile | None:
    """Return the record file or block with the transaction of this time, None if it is not loaded."""
    longest = int(config.value(_CLOSE_INTERVAL) * NANOS_PER_SECOND)
    # Index: the primary key (consensus_end).
    rows = fetch(
        """
        select name, version, index, hash, file_hash, bytes, consensus_start, consensus_end,
            wrapped_record_block_hash
        from record_file where consensus_end >= %s and consensus_end <= %s
        order by consensus_end limit 1
        """,
        (consensus_timestamp, consensus_timestamp + longest),
    )
    return StoredFile(*rows[0]) if rows else None


def address_books(consensus_timestamp: int, *, history: bool) -> StoredBook | None:
    """Return the address book of a time, with `history` after all before it; None if there is none."""
    # Indexes: address_book has few rows; the primary key of address_book_entry (consensus_timestamp,
    # node_id).
    rows = fetch(
        f"""
        with book as materialized (
            select start_consensus_timestamp, file_data from address_book
            where file_id = %s and start_consensus_timestamp <= %s
            order by start_consensus_timestamp desc {"" if history else "limit 1"}
        )
        select b.file_data, (
            select json_agg(json_build_array(e.node_id, e.node_account_id, e.public_key) order by e.node_id)
            from address_book_entry e
            where e.consensus_timestamp = b.start_consensus_timestamp
        )
        from book b order by b.start_consensus_timestamp
        """,
        (config.own_id(_ADDRESS_BOOK), consensus_timestamp),
    )
    if not rows:
        return None
    nodes = [AddressBookNode(node, account, key or "") for node, account, key in rows[-1][1] or ()]
    return StoredBook([bytes(content) for content, _ in rows], nodes)


def published_ledger() -> LedgerIdentity | None:
    """Return the ledger in the table, else the one that the operator names, None if neither is there.

    Errors: OperatorError for a file of the operator's that can't be read.
    """
    # The table has a row for each ledger id, which a network has one of.
    rows = fetch(
        "select ledger_id, history_proof_verification_key, node_contributions from ledger "
        "order by consensus_timestamp desc limit 1",
        (),
    )
    return ledger_identity.identity_from_row(*rows[0]) if rows else named_ledger()
