"""Token service, single serials: their metadata."""

from ledger.ingest.batch import Batch
from ledger.ingest.registry import handles
from ledger.stream.record.item import RecordItem
from tokens.models import Nft
from tokens.models.nft import KEEP


@handles("TOKENUPDATENFTS")
def token_update_nfts(item: RecordItem, batch: Batch) -> None:
    """Serials get new metadata; owner and spenders stay (HIP-657).

    Source: body.token_update_nfts. Rows: nft version per serial; none when the body sets nothing.
    """
    # BODY
    body = item.body.token_update_nfts
    if not body.HasField("metadata") or not batch.persist.tokens:
        return
    # ROWS
    for serial in body.serial_numbers:
        batch.upsert(
            Nft,
            since=item.consensus_timestamp,
            token_id=item.entity_id,
            serial_number=serial,
            metadata=body.metadata.value,
            delegating_spender=KEEP,
            spender=KEEP,
        )
