"""Util service: pseudorandom numbers (HIP-351) and atomic batches (HIP-551)."""

from typing import Any

from ledger.ingest.batch import Batch
from ledger.ingest.registry import Order, every_item, handles
from ledger.models import Prng
from ledger.stream.record.item import RecordItem
from mirror.values.transaction_types import NUMBERS

ATOMIC_BATCH = NUMBERS["ATOMICBATCH"]


class AtomicBatches(dict[int, dict[str, Any]]):
    """The transaction rows of the atomic batches in a file, by consensus timestamp."""


@handles("UTILPRNG")
def prng(item: RecordItem, batch: Batch) -> None:
    """A pseudorandom number below `range`, or 48 bytes without a range.

    Source: body.util_prng, record.prng_bytes or record.prng_number. Rows: prng insert.
    """
    drawn = item.record.WhichOneof("entropy")
    if drawn is None:
        batch.warning(item, "its record has no pseudorandom number")
        return
    batch.insert(
        Prng,
        consensus_timestamp=item.consensus_timestamp,
        payer_account_id=item.payer_account_id,
        range=item.body.util_prng.range,
        **{drawn: getattr(item.record, drawn)},
    )


@every_item(Order.TRANSACTION)
def inner_transactions(item: RecordItem, batch: Batch) -> None:
    """A batch knows payer and valid start of its transactions, which follow it in the file.

    Rows: transaction.inner_transactions of the batch. A transaction of a batch has a batch key and no nonce;
    what it causes has a nonce.
    """
    if item.transaction_type == ATOMIC_BATCH:
        batch.state(AtomicBatches)[item.consensus_timestamp] = batch.transaction
    elif batch.transaction["batch_key"] is not None and batch.transaction["nonce"] == 0:
        outer = batch.state(AtomicBatches).get(item.parent_consensus_timestamp or 0)
        if outer is None:
            batch.recoverable(item, "the batch it belongs to is not in its file")
            return
        inner = outer.setdefault("inner_transactions", [])
        inner += (item.payer_account_id, item.valid_start_ns)
