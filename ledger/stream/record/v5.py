"""Record file format 5: an object stream.

int32 5, three int32 of the HAPI version, int32 object stream version (ignored); the start running hash;
objects of a TransactionRecord and its Transaction, at least one; the end running hash. Not compressed.

Hashes: file hash over the whole file; metadata hash over the header (20 bytes) and both serialized hash
objects; the chain is the running hashes.
"""

from ledger.stream.record.item import HapiVersion, InvalidItem, ItemSource, RecordItem
from ledger.stream.record.names import StreamFileName
from ledger.stream.record.reader import HASH_CLASS_ID, MAX_MESSAGE, RECORD_CLASS_ID, Reader
from ledger.stream.record.record_file import RecordFile, item_failure, times_of
from mirror.core.values.hapi import messages
from mirror.core.values.hapi.messages import DecodeError, Transaction, TransactionRecord
from mirror.core.values.hashes import sha384

VERSION = 5


def read(name: StreamFileName, content: bytes, size: int) -> RecordFile:
    """Read a file of this format. Errors: StreamFileError."""
    reader = Reader(name.name, content)
    reader.int32("format version")
    hapi_version: HapiVersion = (
        reader.int32("HAPI version"),
        reader.int32("HAPI version"),
        reader.int32("HAPI version"),
    )
    reader.int32("object stream version")
    header = content[: reader.position]
    start_hash = reader.hash_object("start running hash")
    items: list[RecordItem] = []
    while not items or reader.peek_uint64() != HASH_CLASS_ID:
        items.append(_item(reader, len(items), items[-1] if items else None, hapi_version))
    end_hash = reader.hash_object("end running hash")
    reader.finish()
    start, end = times_of(items, name.instant)
    return RecordFile(
        name=name.name,
        version=VERSION,
        hapi_version=hapi_version,
        hash=end_hash.hash.hex(),
        previous_hash=start_hash.hash.hex(),
        file_hash=sha384(content).hex(),
        metadata_hash=sha384(header + start_hash.serialized + end_hash.serialized).hex(),
        block_number=None,
        consensus_start=start,
        consensus_end=end,
        size=size,
        items=items,
    )


def _item(reader: Reader, index: int, previous: RecordItem | None, hapi_version: HapiVersion) -> RecordItem:
    start = reader.position
    class_id = reader.uint64("next transaction or the end running hash")
    reader.expect(class_id, RECORD_CLASS_ID, "class id of a transaction", start)
    reader.int32("class version of a transaction")
    record_bytes = reader.blob("record", MAX_MESSAGE)
    transaction_bytes = reader.blob("transaction", MAX_MESSAGE)
    try:
        return RecordItem(
            index,
            messages.parse(Transaction, transaction_bytes),
            messages.parse(TransactionRecord, record_bytes),
            previous=previous,
            hapi_version=hapi_version,
            source=ItemSource(transaction_bytes, record_bytes),
        )
    except (DecodeError, InvalidItem) as error:
        raise item_failure(reader.file, index, start, error) from error
