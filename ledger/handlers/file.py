"""Files (file service): created, appended to, updated, deleted.

The key of a file is a serialized KeyList, not a Key.
"""

from ledger.handlers.columns import convert, text
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.lookups import Chunk
from ledger.ingest.rows.registry import handles, names_entities
from ledger.models import FileData
from ledger.stream.record_item import RecordItem
from mirror.core.values import entity_id

LAST_SYSTEM_FILE = 999
# No stream can be verified without these, so they are stored whatever is configured.
ADDRESS_BOOKS = (101, 102)


names_entities(
    entity_id.from_file,
    FILECREATE="record.receipt.fileID",
    FILEAPPEND="body.fileAppend.fileID",
    FILEUPDATE="body.fileUpdate.fileID",
    FILEDELETE="body.fileDelete.fileID",
)


@handles("FILECREATE")
def file_create(item: RecordItem, batch: Batch) -> None:
    """Create a file. Source: body.fileCreate, receipt.fileID. Rows: entity version, file_data insert."""
    body = item.body.fileCreate
    batch.change_entity(
        item,
        id=item.entity_id,
        type="FILE",
        created_timestamp=item.consensus_timestamp,
        deleted=False,
        memo=text(body.memo),
        **convert(item, batch, body, "expirationTime", "keys"),
    )
    _store_content(item, batch, body.contents)


@handles("FILEAPPEND")
def file_append(item: RecordItem, batch: Batch) -> None:
    """Append to a file; the entity does not change. Source: body.fileAppend. Rows: file_data insert."""
    _store_content(item, batch, item.body.fileAppend.contents)


@handles("FILEUPDATE")
def file_update(item: RecordItem, batch: Batch) -> None:
    """Change what the body sets of a file; content that is not empty replaces the old content.

    Source: body.fileUpdate. Rows: entity version, file_data insert (also of empty content).
    """
    body = item.body.fileUpdate
    columns = convert(item, batch, body, "expirationTime", "keys", "memo")
    batch.change_entity(item, id=item.entity_id, type="FILE", deleted=False, **columns)
    _store_content(item, batch, body.contents)


def stores_content(file: int, batch: Batch) -> bool:
    """Return whether the settings want the content of a file, by its encoded id."""
    num = entity_id.decode(file)[2]
    persisted = batch.persist.files or (batch.persist.system_files and num <= LAST_SYSTEM_FILE)
    return persisted or num in ADDRESS_BOOKS


def _store_content(item: RecordItem, batch: Batch, contents: bytes) -> None:
    if stores_content(item.entity_id, batch):
        batch.files.add(item.entity_id, Chunk(item.consensus_timestamp, item.transaction_type, contents))
        batch.insert(
            FileData,
            consensus_timestamp=item.consensus_timestamp,
            entity_id=item.entity_id,
            file_data=contents,
            transaction_type=item.transaction_type,
        )
