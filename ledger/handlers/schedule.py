"""Schedule service. Which schedule a transaction is about."""

from ledger.ingest.batch import Batch
from ledger.ingest.registry import names_entity
from ledger.stream.item import RecordItem
from mirror.values import entity_id


@names_entity("SCHEDULECREATE")
def created_schedule(item: RecordItem, rows: Batch) -> int:
    """Also present when an identical schedule existed and the transaction failed."""
    return entity_id.of_schedule(item.record.receipt.scheduleID)


@names_entity("SCHEDULEDELETE")
def deleted_schedule(item: RecordItem, rows: Batch) -> int:
    return entity_id.of_schedule(item.body.scheduleDelete.scheduleID)


@names_entity("SCHEDULESIGN")
def signed_schedule(item: RecordItem, rows: Batch) -> int:
    return entity_id.of_schedule(item.body.scheduleSign.scheduleID)
