"""Record file format 6: int32 6, then a RecordStreamFile message; stored compressed.

The message may have no transactions.
Hashes: file hash over the content with its first four bytes; metadata hash over int32 6, the three parts of
the HAPI version, both running hashes (48 bytes each) and int64 block number; the chain is the running
hashes.
"""

from struct import Struct
from typing import Any

from ledger.stream.errors import StreamFileError
from ledger.stream.record.item import HapiVersion, InvalidItem, RecordItem
from ledger.stream.record.names import StreamFileName, sidecar_name
from ledger.stream.record.record_file import RecordFile, SidecarMetadata, item_failure, times_of
from mirror.core import logs
from mirror.core.values.hapi import messages, wire
from mirror.core.values.hapi.messages import DecodeError, RecordStreamFile, RecordStreamItem
from mirror.core.values.hashes import SHA_384_LENGTH, sha384

VERSION = 6

_SHA_384 = 1  # enum HashAlgorithm
_ITEMS = RecordStreamFile.RECORD_STREAM_ITEMS_FIELD_NUMBER
_VERSION_LENGTH = 4
_METADATA = Struct(">iiii48s48sq")

log = logs.logger(__name__)


def read(name: StreamFileName, content: bytes, size: int) -> RecordFile:
    """Read a file of this format. Errors: StreamFileError."""
    message = _parse(name.name, content)
    start_hash, end_hash = _running_hashes(name.name, message)
    version = message.hapi_proto_version
    hapi_version: HapiVersion = (version.major, version.minor, version.patch)
    items = _items(name.name, content, message, hapi_version)
    block_number: int = message.block_number
    start, end = times_of(items, name.instant)
    return RecordFile(
        name=name.name,
        version=VERSION,
        hapi_version=hapi_version,
        hash=end_hash.hex(),
        previous_hash=start_hash.hex(),
        file_hash=sha384(content).hex(),
        metadata_hash=metadata_hash(hapi_version, start_hash, end_hash, block_number).hex(),
        block_number=block_number,
        consensus_start=start,
        consensus_end=end,
        size=size,
        items=items,
        sidecars=_sidecars(name.name, message),
    )


def metadata_hash(hapi_version: HapiVersion, start_hash: bytes, end_hash: bytes, block_number: int) -> bytes:
    """Return the second hash that nodes sign: it proves a block's hash without its transactions."""
    return sha384(_METADATA.pack(VERSION, *hapi_version, start_hash, end_hash, block_number))


def _parse(file: str, content: bytes) -> Any:
    try:
        return messages.parse(RecordStreamFile, content[_VERSION_LENGTH:])
    except DecodeError as error:
        raise _locate(file, content, error) from error


def _running_hashes(file: str, message: Any) -> tuple[bytes, bytes]:
    start, end = message.start_object_running_hash, message.end_object_running_hash
    if _SHA_384 not in (start.algorithm, end.algorithm):
        raise StreamFileError(file, _VERSION_LENGTH, "its running hashes are not SHA-384 (algorithm 1)")
    if start.algorithm != end.algorithm:
        log.warning("hash_algorithms_differ", file=file)
    for which, hash_object in (("start", start), ("end", end)):
        if len(hash_object.hash) != SHA_384_LENGTH:
            raise StreamFileError(
                file,
                _VERSION_LENGTH,
                f"its {which} running hash has {len(hash_object.hash)} bytes, not {SHA_384_LENGTH}",
            )
    return start.hash, end.hash


def _items(file: str, content: bytes, message: Any, hapi_version: HapiVersion) -> list[RecordItem]:
    items: list[RecordItem] = []
    item: RecordItem | None = None
    try:
        for index, streamed in enumerate(message.record_stream_items):
            item = RecordItem(
                index, streamed.transaction, streamed.record, previous=item, hapi_version=hapi_version
            )
            items.append(item)
    except InvalidItem as error:
        raise item_failure(file, len(items), _item_position(content, len(items)), error) from error
    return items


def _sidecars(file: str, message: Any) -> list[SidecarMetadata]:
    sidecars: dict[int, SidecarMetadata] = {}
    for metadata in message.sidecars:
        number: int = metadata.id
        if number < 1 or number in sidecars or len(metadata.hash.hash) != SHA_384_LENGTH:
            raise StreamFileError(
                file,
                _VERSION_LENGTH,
                f"its sidecar number {number} is not described properly: numbers are unique and start at 1, "
                f"hashes have {SHA_384_LENGTH} bytes",
            )
        sidecars[number] = SidecarMetadata(
            number, sidecar_name(file, number), metadata.hash.hash, tuple(metadata.types)
        )
    return list(sidecars.values())


def _item_position(content: bytes, index: int) -> int:
    """Return where an item starts, or the start of the message if it has fields that `wire` can't skip."""
    try:
        starts = [
            field.start
            for field in wire.fields(content, _VERSION_LENGTH)
            if field.number == _ITEMS and field.wire_type == wire.LENGTH_DELIMITED
        ]
    except DecodeError:
        return _VERSION_LENGTH
    return starts[index]


def _locate(file: str, content: bytes, error: DecodeError) -> StreamFileError:
    """Return the error that says where the message cannot be parsed: in which item, or at which field."""
    position, index = _VERSION_LENGTH, 0
    try:
        for field in wire.fields(content, _VERSION_LENGTH):
            position = field.start
            if field.number == _ITEMS and field.wire_type == wire.LENGTH_DELIMITED:
                messages.parse(RecordStreamItem, content[field.value : field.end])
                index += 1
    except DecodeError as broken:
        return StreamFileError(
            file,
            position,
            f"the content cannot be parsed after {index} transactions ({broken})",
            "Fetch it from another node.",
        )
    return StreamFileError(
        file, _VERSION_LENGTH, f"the content cannot be parsed ({error})", "Fetch it from another node."
    )
