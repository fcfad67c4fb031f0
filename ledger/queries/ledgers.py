"""The ledger that the network has published, by whose nodes blocks are signed."""

from ledger.stream import ledger_identity
from ledger.stream.ledger_identity import LedgerIdentity, named_ledger
from mirror.core.db.reading.sql import fetch


def published() -> LedgerIdentity | None:
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
