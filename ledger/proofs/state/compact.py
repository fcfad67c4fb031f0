"""The compact form of a record file: one transaction, and hashes in the place of all others.

Nodes sign the hash of a whole file, and from format 5 on the hash of its metadata: the running hashes before
and after its transactions. Each transaction is hashed onto the running hash before it. So the second
signature proves a transaction without the others.
"""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from ledger.proofs.state.errors import NotFetched
from ledger.stream.record.formats import V5, V6
from ledger.stream.record.record_file import RecordFile
from ledger.stream.record.running_hash import after_hashes, hash_object, stream_object
from mirror.core.values.hapi import wire
from mirror.core.values.hapi.messages import RecordStreamFile, RecordStreamItem
from mirror.core.values.hashes import sha384

_ITEMS = RecordStreamFile.RECORD_STREAM_ITEMS_FIELD_NUMBER
_TRANSACTION = RecordStreamItem.TRANSACTION_FIELD_NUMBER
_RECORD = RecordStreamItem.RECORD_FIELD_NUMBER

_V5_HEAD_LENGTH = 20
_V6_HEAD = Struct(">iiii")
_V6_VERSION_LENGTH = 4
_BLOCK_NUMBER = Struct(">q")


class CompactFile(NamedTuple):
    """A record file of format 5 or 6 in which hashes stand for all transactions but one.

    The metadata hash of format 5 is over `head` and both hash objects. That of format 6 is over `head`, the
    last 48 bytes of each hash object, and `block_number`.
    """

    head: bytes
    start_running_hash_object: bytes
    hashes_before: list[bytes]
    record_stream_object: bytes
    hashes_after: list[bytes]
    end_running_hash_object: bytes
    block_number: bytes | None


def can_be_compact(file: RecordFile) -> bool:
    """Return whether the format of a record file has a compact form."""
    return file.version in (V5, V6)


def compact(file: RecordFile, content: bytes, consensus_timestamp: int) -> CompactFile:
    """Return the compact form of a file for the transaction of this time (ns).

    `content` is what the file was read from, decompressed. Errors: NotFetched.
    """
    index = next((item.index for item in file.items if item.consensus_timestamp == consensus_timestamp), None)
    if index is None:
        raise NotFetched(f"Record file {file.name} does not have the transaction")
    objects = list(_objects(file, content))
    hashes = [sha384(each) for each in objects]
    start, end = bytes.fromhex(file.previous_hash), bytes.fromhex(file.hash)
    if after_hashes(start, hashes) != end:
        raise NotFetched(f"The running hash of record file {file.name} is not that of its transactions")
    return CompactFile(
        head=_head(file, content),
        start_running_hash_object=hash_object(start),
        hashes_before=hashes[:index],
        record_stream_object=objects[index],
        hashes_after=hashes[index + 1 :],
        end_running_hash_object=hash_object(end),
        block_number=None if file.block_number is None else _BLOCK_NUMBER.pack(file.block_number),
    )


def _head(file: RecordFile, content: bytes) -> bytes:
    if file.version == V5:
        return content[:_V5_HEAD_LENGTH]
    assert file.hapi_version is not None
    return _V6_HEAD.pack(V6, *file.hapi_version)


def _objects(file: RecordFile, content: bytes) -> Iterator[bytes]:
    """Yield the stream objects of all transactions, of the very bytes in the file."""
    if file.version == V5:
        for item in file.items:
            yield stream_object(item.record_bytes, item.transaction_bytes)
        return
    for field in wire.fields(content, _V6_VERSION_LENGTH):
        if field.number == _ITEMS:
            item_bytes = content[field.value : field.end]
            yield stream_object(
                wire.last_bytes(item_bytes, _RECORD), wire.last_bytes(item_bytes, _TRANSACTION)
            )
