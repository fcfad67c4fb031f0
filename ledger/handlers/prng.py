"""Pseudorandom numbers (HIP-351)."""

from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import handles
from ledger.models import Prng
from ledger.stream.record_item import RecordItem


@handles("UTILPRNG")
def prng(item: RecordItem, batch: Batch) -> None:
    """Store a pseudorandom number below `range`, or 48 bytes when there is no range.

    Source: body.util_prng, record.prng_bytes or record.prng_number. Rows: prng insert.
    """
    entropy = item.record.WhichOneof("entropy")
    if entropy is None:
        batch.warning(item, "its record has no pseudorandom number")
        return
    batch.insert(
        Prng,
        consensus_timestamp=item.consensus_timestamp,
        payer_account_id=item.payer_account_id,
        range=item.body.util_prng.range,
        **{entropy: getattr(item.record, entropy)},
    )
