"""The ledger's id and the keys that prove its blocks (HIP-1200)."""

from base64 import b64encode

from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import handles
from ledger.stream.record.item import RecordItem
from network.models import Ledger


@handles("LEDGERIDPUBLICATION")
def ledger_id_publication(item: RecordItem, batch: Batch) -> None:
    """Store a ledger id with its key; the last publication of an id counts.

    Source: body.ledger_id_publication. Rows: ledger upsert.
    """
    body = item.body.ledger_id_publication
    batch.upsert(
        Ledger,
        ledger_id=body.ledger_id,
        consensus_timestamp=item.consensus_timestamp,
        history_proof_verification_key=body.history_proof_verification_key,
        node_contributions=[
            {
                "history_proof_key": b64encode(contribution.history_proof_key).decode(),
                "node_id": contribution.node_id,
                "weight": contribution.weight,
            }
            for contribution in body.node_contributions
        ],
    )
