"""Record files of every format.

Formats 1 and 2: int32 format, int32 HAPI version (ignored), byte 1, 48 bytes hash of the previous file; then
per transaction byte 2, int32 length, Transaction, int32 length, TransactionRecord.
Format 5: int32 5, three int32 of the HAPI version, int32 object stream version (ignored); the start running
hash; objects of a TransactionRecord and its Transaction, at least one; the end running hash.
Format 6: int32 6, a RecordStreamFile message; stored compressed.

The file hash is over the whole content; in format 2 over the header (57 bytes) and the hash of the rest. It
is the chain up to format 2, later the running hashes are. The metadata hash of format 5 is over the header
(20 bytes) and both serialized hash objects; that of format 6 over int32 6, the three parts of the HAPI
version, both running hashes (48 bytes each) and int64 block number.
"""

from struct import Struct
from typing import Any

from ledger.stream import record_names
from ledger.stream.binary_format import HASH_CLASS_ID, MAX_MESSAGE, RECORD_CLASS_ID, Reader
from ledger.stream.content import content_of
from ledger.stream.errors import StreamFileError
from ledger.stream.record_file import RecordFile, SidecarMetadata, item_failure, times_of
from ledger.stream.record_item import NO_HAPI_VERSION, HapiVersion, InvalidItem, RecordItem
from ledger.stream.record_names import StreamFileName
from mirror.core import logs
from mirror.core.values.hapi import messages, wire
from mirror.core.values.hapi.messages import (
    DecodeError,
    RecordStreamFile,
    RecordStreamItem,
    Transaction,
    TransactionRecord,
)
from mirror.core.values.hashes import SHA_384_LENGTH, sha384

VERSIONS = V1, V2, V5, V6 = 1, 2, 5, 6

_PREVIOUS_HASH_MARKER, _RECORD_MARKER = 1, 2
_SHA_384 = 1  # enum HashAlgorithm
_ITEMS = RecordStreamFile.RECORD_STREAM_ITEMS_FIELD_NUMBER
_V6_START = 4
_V6_METADATA = Struct(">iiii48s48sq")
_CURE = "Fetch it from another node."

log = logs.logger(__name__)


def read_record_file(name: str, data: bytes) -> RecordFile:
    """Read a record file, whatever folder is before its name. Errors: StreamFileError, never another."""
    parsed = record_names.parse(name)
    if parsed.is_signature or parsed.sidecar is not None:
        raise record_names.invalid(name, record_names.RECORD)
    file = read_content(parsed, content_of(parsed, data), len(data))
    file.original = data
    return file


def read_content(name: StreamFileName, content: bytes, size: int) -> RecordFile:
    """Read a record file that is stored in `size` bytes from its content. Errors: StreamFileError."""
    reader = Reader(name.name, content)
    version = reader.int32("format version")
    if version in (V1, V2):
        return _read_v1_v2(reader, version, name, size)
    if version == V5:
        return _read_v5(reader, name, size)
    if version == V6:
        return _read_v6(name, content, size)
    versions = ", ".join(map(str, VERSIONS))
    raise StreamFileError(name.name, 0, f"record file format {version} is unknown; known are {versions}")


def _read_v1_v2(reader: Reader, version: int, name: StreamFileName, size: int) -> RecordFile:
    content = reader.content
    reader.int32("HAPI version")
    reader.expect(reader.byte, _PREVIOUS_HASH_MARKER, "previous hash marker")
    previous_hash = reader.take(SHA_384_LENGTH, "previous hash")
    header_length = reader.position
    items: list[RecordItem] = []
    while not reader.at_end:
        start = reader.position
        reader.expect(reader.byte, _RECORD_MARKER, "record marker")
        transaction, record = reader.blob("transaction", MAX_MESSAGE), reader.blob("record", MAX_MESSAGE)
        _add_item(reader, start, items, (transaction, record))
    hashed = content if version == V1 else content[:header_length] + sha384(content[header_length:])
    file_hash = sha384(hashed).hex()
    return _file(
        name,
        size,
        items,
        version=version,
        hash=file_hash,
        previous_hash=previous_hash.hex(),
        file_hash=file_hash,
    )


def _read_v5(reader: Reader, name: StreamFileName, size: int) -> RecordFile:
    content = reader.content
    major, minor, patch = (reader.int32("HAPI version") for _ in range(3))
    hapi_version = major, minor, patch
    reader.int32("object stream version")
    header = content[: reader.position]
    start_hash = reader.hash_object("start running hash")
    items: list[RecordItem] = []
    while not items or not reader.begins_with(HASH_CLASS_ID):
        start = reader.position
        reader.expect(
            reader.uint64,
            RECORD_CLASS_ID,
            "class id of a transaction",
            "next transaction or the end running hash",
        )
        reader.int32("class version of a transaction")
        record, transaction = reader.blob("record", MAX_MESSAGE), reader.blob("transaction", MAX_MESSAGE)
        _add_item(reader, start, items, (transaction, record), hapi_version)
    end_hash = reader.hash_object("end running hash")
    reader.finish()
    return _file(
        name,
        size,
        items,
        version=V5,
        hapi_version=hapi_version,
        hash=end_hash.hash.hex(),
        previous_hash=start_hash.hash.hex(),
        file_hash=sha384(content).hex(),
        metadata_hash=sha384(header + start_hash.serialized + end_hash.serialized).hex(),
    )


def _file(name: StreamFileName, size: int, items: list[RecordItem], **values: Any) -> RecordFile:
    start, end = times_of(items, name.instant)
    return RecordFile(
        name=name.name, size=size, items=items, consensus_start=start, consensus_end=end, **values
    )


def _add_item(
    reader: Reader,
    start: int,
    items: list[RecordItem],
    serialized: tuple[bytes, bytes],
    hapi_version: HapiVersion = NO_HAPI_VERSION,
) -> None:
    """Add the item of a serialized Transaction and TransactionRecord, which begins at `start`."""
    transaction, record = serialized
    try:
        item = RecordItem(
            len(items),
            messages.parse(Transaction, transaction),
            messages.parse(TransactionRecord, record),
            previous=items[-1] if items else None,
            hapi_version=hapi_version,
            serialized=(transaction, record),
        )
    except (DecodeError, InvalidItem) as error:
        raise item_failure(reader.file, len(items), start, error) from error
    items.append(item)


# FORMAT 6


def _read_v6(name: StreamFileName, content: bytes, size: int) -> RecordFile:
    try:
        message = messages.parse(RecordStreamFile, content[_V6_START:])
    except DecodeError as error:
        raise _locate(name.name, content, error) from error
    start_hash, end_hash = _running_hashes(name.name, message)
    version = message.hapi_proto_version
    hapi_version = version.major, version.minor, version.patch
    items: list[RecordItem] = []
    item: RecordItem | None = None
    try:
        for index, streamed in enumerate(message.record_stream_items):
            item = RecordItem(
                index, streamed.transaction, streamed.record, previous=item, hapi_version=hapi_version
            )
            items.append(item)
    except InvalidItem as error:
        raise item_failure(name.name, len(items), _item_position(content, len(items)), error) from error
    return _file(
        name,
        size,
        items,
        version=V6,
        hapi_version=hapi_version,
        hash=end_hash.hex(),
        previous_hash=start_hash.hex(),
        file_hash=sha384(content).hex(),
        metadata_hash=metadata_hash(hapi_version, start_hash, end_hash, message.block_number).hex(),
        block_number=message.block_number,
        sidecars=_sidecars(name.name, message),
    )


def metadata_hash(hapi_version: HapiVersion, start_hash: bytes, end_hash: bytes, block_number: int) -> bytes:
    """Return the second hash that nodes sign: it proves a block's hash without its transactions."""
    return sha384(_V6_METADATA.pack(V6, *hapi_version, start_hash, end_hash, block_number))


def _running_hashes(file: str, message: Any) -> tuple[bytes, bytes]:
    start, end = message.start_object_running_hash, message.end_object_running_hash
    if _SHA_384 not in (start.algorithm, end.algorithm):
        raise StreamFileError(file, _V6_START, "its running hashes are not SHA-384 (algorithm 1)")
    if start.algorithm != end.algorithm:
        log.warning("hash_algorithms_differ", file=file)
    for which, digest in (("start", start.hash), ("end", end.hash)):
        if len(digest) != SHA_384_LENGTH:
            cause = f"its {which} running hash has {len(digest)} bytes, not {SHA_384_LENGTH}"
            raise StreamFileError(file, _V6_START, cause)
    return start.hash, end.hash


def _sidecars(file: str, message: Any) -> list[SidecarMetadata]:
    sidecars: dict[int, SidecarMetadata] = {}
    for metadata in message.sidecars:
        number, digest = metadata.id, metadata.hash.hash
        if number < 1 or number in sidecars or len(digest) != SHA_384_LENGTH:
            raise StreamFileError(
                file,
                _V6_START,
                f"its sidecar number {number} is not described properly: numbers are unique and start at 1, "
                f"hashes have {SHA_384_LENGTH} bytes",
            )
        name = record_names.sidecar_name(file, number)
        sidecars[number] = SidecarMetadata(number, name, digest, tuple(metadata.types))
    return list(sidecars.values())


def _item_position(content: bytes, index: int) -> int:
    """Return where an item starts, or the start of the message if it has fields that `wire` can't skip."""
    try:
        starts = [
            field.start
            for field in wire.fields(content, _V6_START)
            if field.number == _ITEMS and field.wire_type == wire.LENGTH_DELIMITED
        ]
    except DecodeError:
        return _V6_START
    return starts[index]


def _locate(file: str, content: bytes, error: DecodeError) -> StreamFileError:
    """Return the error that says where the message cannot be parsed: in which item, or at which field."""
    position, index = _V6_START, 0
    try:
        for field in wire.fields(content, _V6_START):
            position = field.start
            if field.number == _ITEMS and field.wire_type == wire.LENGTH_DELIMITED:
                messages.parse(RecordStreamItem, content[field.value : field.end])
                index += 1
    except DecodeError as broken:
        cause = f"the content cannot be parsed after {index} transactions ({broken})"
        return StreamFileError(file, position, cause, _CURE)
    return StreamFileError(file, _V6_START, f"the content cannot be parsed ({error})", _CURE)
