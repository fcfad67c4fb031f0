"""Wrapped record blocks: a record file of format 2, 5 or 6 as the one item of a block, with its sidecars.

The file is rebuilt byte by byte, so that its hash is the one that nodes signed when they wrote it; a proof of
the block holds these signatures. Another one may have a threshold signature of the whole block, with or
without them. `amendments` are transactions that replace those of the same time, or are
added: in formats 2 and 5 the hash is over the amended file, in format 6 over the original one.
"""

from contextlib import suppress
from struct import Struct
from typing import Any, NamedTuple

from ledger.stream import record_names
from ledger.stream.binary_format import hash_object, stream_object
from ledger.stream.block.block_items import BlockContent
from ledger.stream.block.block_signature import RECORD_FILE, signature_of
from ledger.stream.block.tree import EMPTY_PREFIXED
from ledger.stream.errors import StreamFileError, damaged
from ledger.stream.record_file import RecordFile, SidecarFile, Wrapper, parse_sidecar
from ledger.stream.record_formats import V2, V5, V6, read_content
from ledger.stream.signature.quorum import Quorum, Votes
from ledger.stream.signature.signature_file import SignatureFile
from mirror.core import logs
from mirror.core.values import timestamp
from mirror.core.values.hapi import messages, wire
from mirror.core.values.hapi.messages import DecodeError, RecordFileItem, RecordStreamFile, RecordStreamItem
from mirror.core.values.hashes import sha384

log = logs.logger(__name__)

# HAPI of the first record files of format 6.
_FORMAT_6_SINCE = (0, 27)
_OBJECT_STREAM_VERSION = 1
_FORMATS = (V2, V5, V6)
_INT32 = Struct(">i")
_V2_HEADER = Struct(">iib48s")
_V5_HEADER = Struct(">iiiii")
_DIGEST = Struct("48s")
_RECORD_STREAM_ITEMS = RecordStreamFile.RECORD_STREAM_ITEMS_FIELD_NUMBER


class _Item(NamedTuple):
    """A transaction as its file holds it: serialized messages, and its consensus time (ns)."""

    consensus_timestamp: int
    transaction: bytes
    record: bytes
    serialized: bytes  # the RecordStreamItem


class _Contents(NamedTuple):
    """A RecordFileItem: its RecordStreamFile as message and as bytes, and its amended transactions."""

    message: Any
    serialized: bytes
    items: list[_Item]
    amendments: int


def read_wrapped(block: BlockContent, size: int) -> RecordFile:
    """Errors: StreamFileError."""
    assert block.record_file is not None
    try:
        item = messages.parse(RecordFileItem, block.record_file)
        contents = _contents(block.record_file)
    except DecodeError as error:
        raise damaged(block.name, f"the record file in it cannot be parsed ({error})") from error
    try:
        name = _name(item.creation_time)
        signed = _signed_file(block)
        version = signed.version if signed else _version(name, contents)
    except (ValueError, OverflowError, StreamFileError) as error:
        raise damaged(block.name, f"its creation time is impossible: {error}") from error
    if version not in _FORMATS:
        formats = ", ".join(map(str, _FORMATS))
        cause = f"a record file of format {version} in a block is unknown; known are {formats}"
        raise damaged(block.name, cause)
    try:
        name = _validated_name(name, contents)
    except (OverflowError, StreamFileError) as error:
        raise damaged(block.name, f"the time of a transaction in it is impossible: {error}") from error
    try:
        file = _rebuild(version, name, contents, size)
        file.sidecar_files = _sidecars(block, file)
    except StreamFileError as error:
        raise StreamFileError(
            block.name, error.position, f"{error.cause} (in {error.file}, rebuilt)", error.cure
        ) from error
    _check(block, file, contents.message)
    root = block.root_hash()
    file.block_number = block.header.number
    file.genesis = block.genesis_state()
    previous = block.footer.previous_block_root_hash
    file.previous_wrapper_hash = None if previous == EMPTY_PREFIXED else previous.hex()
    signatures = (signature_of(block, proof, root, file.items) for proof in block.proofs)
    file.block_signature = next(filter(None, signatures), None)
    if signed is None and file.block_signature is None:
        raise damaged(block.name, "its proof holds no signatures of the record file, and none of the block")
    file.wrapper = Wrapper(
        number=block.header.number,
        hash=root.hex(),
        signatures=tuple(
            (each.node_id, each.signatures_bytes)
            for each in (signed.record_file_signatures if signed else ())
        ),
        unsigned_amendments=contents.amendments if version == V6 else 0,
    )
    return file


def _signed_file(block: BlockContent) -> Any | None:
    """Return the signatures of the record file (SignedRecordFileProof), None if no proof has any."""
    for proof in block.proofs:
        if proof.block != block.header.number:
            raise damaged(block.name, f"one of its proofs says that it is block {proof.block}")
        if proof.WhichOneof("proof") == RECORD_FILE:
            return proof.signed_record_file_proof
    return None


def _version(name: record_names.StreamFileName, contents: _Contents) -> int:
    """Return the format of a record file that no proof tells: by its hash, or by the time of the format."""
    message = contents.message
    version = message.hapi_proto_version
    if (version.major, version.minor) >= _FORMAT_6_SINCE:
        return V6
    end_hash = message.end_object_running_hash.hash
    with suppress(StreamFileError):
        if not end_hash or _rebuild(V2, name, contents, 0).hash == end_hash.hex():
            return V2
    return V5


def _validated_name(name: record_names.StreamFileName, contents: _Contents) -> record_names.StreamFileName:
    """Return the name of a file, the time of a transaction in it: no signature covers its creation time."""
    times = [item.consensus_timestamp for item in contents.items]
    if not times or name.instant in times:
        return name
    log.warning("creation_time_wrong", file=name.name, consensus_start=min(times))
    return _record_file_name(min(times))


def signed_content(block: BlockContent, file: RecordFile) -> bytes:
    """Return the record file that was read from a block, byte by byte as nodes have signed it."""
    assert block.record_file is not None
    return _signed_content(file.version, _contents(block.record_file))


def verify(
    file: RecordFile, wrapper: Wrapper, quorum: Quorum, *, block_is_signed: bool = False
) -> tuple[int, ...]:
    """Return the nodes that signed a wrapped record file, if they are a quorum.

    `block_is_signed` says that a threshold signature covers the whole block: then they may be missing.
    Errors: NoQuorum; StreamFileError when the file was amended and no signature covers that.
    """
    if block_is_signed and not wrapper.signatures:
        return ()
    if wrapper.unsigned_amendments and not block_is_signed:
        raise StreamFileError(
            file.name,
            0,
            f"{wrapper.unsigned_amendments} of its transactions were amended in block "
            f"{wrapper.number}, which the nodes' signatures do not cover",
            "If you trust where the block comes from, load it with --without-signatures.",
        )
    votes = Votes(file.name, quorum, missing="no signature")
    file_hash = bytes.fromhex(file.file_hash)
    for node_id, signature in wrapper.signatures:
        votes.add(node_id, SignatureFile(file.name, file.version, file_hash, signature))
    return votes.require().signers


def _name(creation_time: Any) -> record_names.StreamFileName:
    seconds, nanos = creation_time.seconds, creation_time.nanos
    if not 0 <= nanos < timestamp.NANOS_PER_SECOND:
        raise ValueError(f"{nanos} nanoseconds")
    return _record_file_name(seconds * timestamp.NANOS_PER_SECOND + nanos)


def _record_file_name(instant: int) -> record_names.StreamFileName:
    return record_names.parse(f"{record_names.shortest_time(instant)}.rcd")


def _contents(serialized: bytes) -> _Contents:
    file = wire.last_bytes(serialized, RecordFileItem.RECORD_FILE_CONTENTS_FIELD_NUMBER)
    items = list(map(_item, wire.repeated_bytes(file, _RECORD_STREAM_ITEMS)))
    amendments = wire.repeated_bytes(serialized, RecordFileItem.AMENDMENTS_FIELD_NUMBER)
    if amendments:
        by_time = {item.consensus_timestamp: item for item in [*items, *map(_item, amendments)]}
        items = [by_time[at] for at in sorted(by_time)]
    return _Contents(messages.parse(RecordStreamFile, file), file, items, len(amendments))


def _item(serialized: bytes) -> _Item:
    record = messages.parse(RecordStreamItem, serialized).record
    return _Item(
        timestamp.to_ns(record.consensusTimestamp),
        wire.last_bytes(serialized, RecordStreamItem.TRANSACTION_FIELD_NUMBER),
        wire.last_bytes(serialized, RecordStreamItem.RECORD_FIELD_NUMBER),
        serialized,
    )


# FORMATS


def _rebuild(version: int, name: record_names.StreamFileName, contents: _Contents, size: int) -> RecordFile:
    """Return the file with its amendments."""
    signed = _signed_content(version, contents)
    if version != V6 or not contents.amendments:
        return read_content(name, signed, size)
    message = RecordStreamFile()
    message.CopyFrom(contents.message)
    del message.record_stream_items[:]
    for item in contents.items:
        message.record_stream_items.append(messages.parse(RecordStreamItem, item.serialized))
    file = read_content(name, _INT32.pack(V6) + message.SerializeToString(), size)
    file.file_hash = sha384(signed).hex()
    return file


def _signed_content(version: int, contents: _Contents) -> bytes:
    """Return the content that nodes signed: in format 6 without amendments."""
    if version == V6:
        return _INT32.pack(V6) + contents.serialized
    message, hapi = contents.message, contents.message.hapi_proto_version
    start, end = message.start_object_running_hash.hash, message.end_object_running_hash.hash
    if version == V2:
        parts = (b"\2" + _blob(item.transaction) + _blob(item.record) for item in contents.items)
        return b"".join((_V2_HEADER.pack(V2, hapi.minor, 1, start), *parts))
    objects = (stream_object(item.record, item.transaction) for item in contents.items)
    header = _V5_HEADER.pack(V5, hapi.major, hapi.minor, hapi.patch, _OBJECT_STREAM_VERSION)
    return b"".join((header, _hash_object(start), *objects, _hash_object(end)))


def _blob(data: bytes) -> bytes:
    return _INT32.pack(len(data)) + data


def _hash_object(digest: bytes) -> bytes:
    return hash_object(_DIGEST.pack(digest))


# AROUND THE FILE


def _check(block: BlockContent, file: RecordFile, message: Any) -> None:
    """Require that block and file agree, as signatures are over the file alone."""
    if message.block_number != block.header.number:
        raise damaged(block.name, f"the record file in it says that it is block {message.block_number}")
    for which, stated, actual in (
        ("start", message.start_object_running_hash.hash, file.previous_hash),
        ("end", message.end_object_running_hash.hash, file.hash),
    ):
        # Format 2 has no running hashes; its end is the file hash, which contents may leave out.
        if (stated or file.version != V2) and stated.hex() != actual:
            raise damaged(block.name, f"the {which} hash of the record file in it is not {actual}")


def _sidecars(block: BlockContent, file: RecordFile) -> dict[int, SidecarFile]:
    assert block.record_file is not None
    contents = wire.repeated_bytes(block.record_file, RecordFileItem.SIDECAR_FILE_CONTENTS_FIELD_NUMBER)
    if len(contents) != len(file.sidecars):
        cause = f"it holds {len(contents)} sidecars, but its record file names {len(file.sidecars)}"
        raise damaged(block.name, cause)
    ids = [metadata.id for metadata in file.sidecars]
    if sorted(ids) != list(range(1, len(contents) + 1)):
        raise damaged(block.name, f"its sidecars have the ids {ids}, but should be counted from 1")
    return {
        metadata.id: parse_sidecar(
            metadata.name, content := contents[metadata.id - 1], metadata.hash, size=len(content)
        )
        for metadata in file.sidecars
    }
