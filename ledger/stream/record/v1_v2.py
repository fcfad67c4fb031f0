"""Record file formats 1 and 2.

int32 format, int32 HAPI version (ignored), byte 1, 48 bytes hash of the previous file; then per transaction
byte 2, int32 length, Transaction, int32 length, TransactionRecord. Not compressed; a file may hold no
transactions.

Hashes: format 1 over the whole file; format 2 over the header (57 bytes) and the hash of the rest. The file
hash is the chain too; there is no metadata hash.
"""

from ledger.stream.record.item import InvalidItem, ItemSource, RecordItem
from ledger.stream.record.names import StreamFileName
from ledger.stream.record.reader import MAX_MESSAGE, Reader
from ledger.stream.record.record_file import RecordFile, item_failure, times_of
from mirror.core.values.hapi import messages
from mirror.core.values.hapi.messages import DecodeError, Transaction, TransactionRecord
from mirror.core.values.hashes import SHA_384_LENGTH, sha384

VERSIONS = (1, 2)

_PREVIOUS_HASH_MARKER, _RECORD_MARKER = 1, 2


def read(name: StreamFileName, content: bytes, size: int) -> RecordFile:
    """Read a file of these formats. Errors: StreamFileError."""
    reader = Reader(name.name, content)
    version = reader.int32("format version")
    reader.int32("HAPI version")
    start = reader.position
    reader.expect(reader.byte("previous hash marker"), _PREVIOUS_HASH_MARKER, "previous hash marker", start)
    previous_hash = reader.take(SHA_384_LENGTH, "previous hash")
    header_length = reader.position
    items: list[RecordItem] = []
    while not reader.at_end:
        items.append(_item(reader, len(items), items[-1] if items else None))
    hashed = content if version == 1 else content[:header_length] + sha384(content[header_length:])
    file_hash = sha384(hashed).hex()
    start, end = times_of(items, name.instant)
    return RecordFile(
        name=name.name,
        version=version,
        hapi_version=None,
        hash=file_hash,
        previous_hash=previous_hash.hex(),
        file_hash=file_hash,
        metadata_hash=None,
        block_number=None,
        consensus_start=start,
        consensus_end=end,
        size=size,
        items=items,
    )


def _item(reader: Reader, index: int, previous: RecordItem | None) -> RecordItem:
    start = reader.position
    reader.expect(reader.byte("record marker"), _RECORD_MARKER, "record marker", start)
    transaction_bytes = reader.blob("transaction", MAX_MESSAGE)
    record_bytes = reader.blob("record", MAX_MESSAGE)
    try:
        return RecordItem(
            index,
            messages.parse(Transaction, transaction_bytes),
            messages.parse(TransactionRecord, record_bytes),
            previous=previous,
            source=ItemSource(transaction_bytes, record_bytes),
        )
    except (DecodeError, InvalidItem) as error:
        raise item_failure(reader.file, index, start, error) from error
