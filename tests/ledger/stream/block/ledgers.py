"""The ledgers of tests: nodes who sign blocks by threshold signatures, and what they publish of it."""

from typing import Any

from ledger.stream.ledger_identity import LedgerIdentity
from mirror.demo.streams.threshold_signer import ThresholdSigner

LEDGER = ThresholdSigner({0: 10, 1: 10, 2: 10}, "the network")
OTHERS = ThresholdSigner({0: 10, 1: 10, 2: 10}, "another network")


def publication(ledger: LedgerIdentity) -> dict[str, Any]:
    """The fields of a LedgerIdPublicationTransactionBody."""
    return {
        "ledger_id": ledger.ledger_id,
        "history_proof_verification_key": ledger.proof_key,
        "node_contributions": [
            {"node_id": node.node_id, "weight": node.weight, "history_proof_key": node.key}
            for node in ledger.contributors
        ],
    }
