"""What a network has published of its ledger, by which its blocks are verified (HIP-1200).

It comes from a transaction of the stream itself (LedgerIdPublication), from the tables that such a
transaction has filled, or from a file that the operator names.
"""

from typing import Any, NamedTuple


class Contributor(NamedTuple):
    """A node of the ledger's first address book: number, weight, and its key for proofs of the history."""

    node_id: int
    weight: int
    key: bytes


class LedgerIdentity(NamedTuple):
    """The id of a ledger, the key for proofs of its history (WRAPS), and its first nodes."""

    ledger_id: bytes
    proof_key: bytes
    contributors: tuple[Contributor, ...]


def of_publication(body: Any) -> LedgerIdentity:
    """Return the identity in a LedgerIdPublicationTransactionBody."""
    return LedgerIdentity(
        body.ledger_id,
        body.history_proof_verification_key,
        tuple(
            Contributor(each.node_id, each.weight, each.history_proof_key) for each in body.node_contributions
        ),
    )
