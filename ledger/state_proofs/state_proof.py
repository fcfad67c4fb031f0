"""State proofs: a transaction, the file it is in, and what shows that the network has agreed on that file.

`find` and `document` are what the endpoint and `manage.py prove` call.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ledger.queries import state_proofs as queries
from ledger.queries.state_proofs import StoredFile
from ledger.state_proofs import NotStored, block_proofs, record_file_proofs


class TransactionLocation(NamedTuple):
    """Where a transaction is: its consensus timestamp (ns), and the record file or block with it."""

    consensus_timestamp: int
    file: StoredFile


def find(payer: int, valid_start: int, nonce: int, scheduled: bool) -> TransactionLocation:
    """Return the place of the successful transaction of an id; `payer` is encoded. Errors: NotStored."""
    at = queries.successful_transaction(payer, valid_start, nonce, scheduled)
    if at is None:
        raise NotStored("Transaction not found")
    return at_time(at)


def at_time(consensus_timestamp: int) -> TransactionLocation:
    """Return the place of what happened at a time. Errors: NotStored."""
    file = queries.file_at(consensus_timestamp)
    if file is None:
        raise NotStored(f"No matching RCD file found with {consensus_timestamp} in the range")
    return TransactionLocation(consensus_timestamp, file)


def document(location: TransactionLocation, *, max_before: int | None = None) -> Mapping[str, object]:
    """Return the proof as JSON, with at most `max_before` bytes of a block before it. Errors: NoProof."""
    if location.file.is_block:
        return block_proofs.document(location.consensus_timestamp, location.file, max_before=max_before)
    return record_file_proofs.document(location.consensus_timestamp, location.file)
