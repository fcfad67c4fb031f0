"""File service. Which file a transaction is about."""

from ledger.ingest.batch import Batch
from ledger.ingest.registry import names_entity
from ledger.stream.item import RecordItem
from mirror.values import entity_id


@names_entity("FILECREATE")
def created_file(item: RecordItem, rows: Batch) -> int:
    return entity_id.of_file(item.record.receipt.fileID)


@names_entity("FILEAPPEND")
def appended_file(item: RecordItem, rows: Batch) -> int:
    return entity_id.of_file(item.body.fileAppend.fileID)


@names_entity("FILEUPDATE")
def updated_file(item: RecordItem, rows: Batch) -> int:
    return entity_id.of_file(item.body.fileUpdate.fileID)


@names_entity("FILEDELETE")
def deleted_file(item: RecordItem, rows: Batch) -> int:
    return entity_id.of_file(item.body.fileDelete.fileID)
