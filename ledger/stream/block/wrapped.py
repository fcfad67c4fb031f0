"""Wrapped record blocks: a record file of format 2, 5 or 6 as the one item of a block, with its sidecars.

The file is rebuilt byte by byte, so that its hash is the one that nodes signed when they wrote it; a proof of
the block holds these signatures. Another one may have a threshold signature of the whole block, with or
without them. `amendments` are transactions that replace those of the same time, or are
added: in formats 2 and 5 the hash is over the amended file, in format 6 over the original one.
"""

from collections.abc import Callable
from contextlib import suppress
from struct import Struct
from typing import Any, NamedTuple

from ledger.stream.block.items import BlockContent
from ledger.stream.block.signature import RECORD_FILE, signature_of, unproved
from ledger.stream.block.tree import EMPTY_PREFIXED
from ledger.stream.errors import StreamFileError
from ledger.stream.record import names, v1_v2, v5, v6
from ledger.stream.record.reader import HASH_CLASS_ID, HASH_CLASS_VERSION, SHA_384_DIGEST_TYPE
from ledger.stream.record.record_file import RecordFile, Wrapper
from ledger.stream.record.running_hash import stream_object
from ledger.stream.record.sidecar import SidecarFile, parse_sidecar
from ledger.stream.signature.quorum import Quorum, Votes
from ledger.stream.signature.signature_file import SignatureFile
from mirror.core import logs
from mirror.core.values import timestamp
from mirror.core.values.hapi import messages, wire
from mirror.core.values.hapi.messages import DecodeError, RecordFileItem, RecordStreamFile, RecordStreamItem
from mirror.core.values.hashes import SHA_384_LENGTH, sha384

log = logs.logger(__name__)

# HAPI of the first record files of format 6.
_FORMAT_6_SINCE = (0, 27)
_OBJECT_STREAM_VERSION = 1
_INT32 = Struct(">i")
_V2_HEADER = Struct(">iib48s")
_V5_HEADER = Struct(">iiiii")
_HASH_OBJECT = Struct(">QiIi48s")
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
        raise _unusable(block, f"the record file in it cannot be parsed ({error})") from error
    try:
        name = _name(item.creation_time)
        signed = _signed_file(block)
        version = signed.version if signed else _version(name, contents)
        rebuild = _REBUILD.get(version)
    except (ValueError, OverflowError, StreamFileError) as error:
        raise _unusable(block, f"its creation time is impossible: {error}") from error
    if rebuild is None:
        known = ", ".join(map(str, _REBUILD))
        raise _unusable(block, f"a record file of format {version} in a block is unknown; known are {known}")
    try:
        name = _sound_name(name, contents)
    except (OverflowError, StreamFileError) as error:
        raise _unusable(block, f"the time of a transaction in it is impossible: {error}") from error
    try:
        file = rebuild(name, contents, size)
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
    file.block_signature = next(
        filter(None, (signature_of(block, proof, root, file.items) for proof in block.proofs)), None
    )
    if signed is None and file.block_signature is None:
        raise _unusable(block, "its proof holds no signatures of the record file, and none of the block")
    file.wrapper = Wrapper(
        number=block.header.number,
        hash=root.hex(),
        signatures=tuple(
            (each.node_id, each.signatures_bytes)
            for each in (signed.record_file_signatures if signed else ())
        ),
        unsigned_amendments=contents.amendments if version == v6.VERSION else 0,
    )
    return file


def _signed_file(block: BlockContent) -> Any | None:
    """Return the signatures of the record file (SignedRecordFileProof), None if no proof has any."""
    for proof in block.proofs:
        if proof.block != block.header.number:
            raise _unusable(block, f"one of its proofs says that it is block {proof.block}")
        if proof.WhichOneof("proof") == RECORD_FILE:
            return proof.signed_record_file_proof
    return None


def _version(name: names.StreamFileName, contents: _Contents) -> int:
    """Return the format of a record file that no proof tells: by its hash, or by the time of the format.

    Only the last hash of format 2 is one of the file, later ones are of its transactions.
    """
    message = contents.message
    version = message.hapi_proto_version
    if (version.major, version.minor) >= _FORMAT_6_SINCE:
        return v6.VERSION
    end_hash = message.end_object_running_hash.hash
    with suppress(StreamFileError):
        if not end_hash or _v2(name, contents, 0).hash == end_hash.hex():
            return v1_v2.VERSIONS[1]
    return v5.VERSION


def _sound_name(name: names.StreamFileName, contents: _Contents) -> names.StreamFileName:
    """Return the name of a file, which is the time of one of its transactions.

    Signatures do not cover the creation time that it comes from, so they have to agree.
    """
    times = [item.consensus_timestamp for item in contents.items]
    if not times or name.instant in times:
        return name
    log.warning("creation_time_wrong", file=name.name, consensus_start=min(times))
    return _named(min(times))


def signed_content(block: BlockContent, file: RecordFile) -> bytes:
    """Return the record file that was read from a block, byte by byte as nodes have signed it."""
    assert block.record_file is not None
    return _CONTENT[file.version](_contents(block.record_file))


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
    return votes(file, wrapper, quorum).require().signers


def votes(file: RecordFile, wrapper: Wrapper, quorum: Quorum) -> Votes:
    """Count the signatures that came with a wrapped record file."""
    counted = Votes(file.name, quorum, missing="no signature")
    file_hash = bytes.fromhex(file.file_hash)
    for node_id, signature in wrapper.signatures:
        counted.add(node_id, SignatureFile(file.name, file.version, file_hash, signature))
    return counted


def _unusable(block: BlockContent, cause: str) -> StreamFileError:
    return unproved(block, cause)


def _name(creation_time: Any) -> names.StreamFileName:
    seconds, nanos = creation_time.seconds, creation_time.nanos
    if not 0 <= nanos < timestamp.NANOS_PER_SECOND:
        raise ValueError(f"{nanos} nanoseconds")
    return _named(seconds * timestamp.NANOS_PER_SECOND + nanos)


def _named(instant: int) -> names.StreamFileName:
    return names.parse(f"{names.shortest_time(instant)}.rcd")


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
        timestamp.of(record.consensusTimestamp),
        wire.last_bytes(serialized, RecordStreamItem.TRANSACTION_FIELD_NUMBER),
        wire.last_bytes(serialized, RecordStreamItem.RECORD_FIELD_NUMBER),
        serialized,
    )


# Formats


def _v2(name: names.StreamFileName, contents: _Contents, size: int) -> RecordFile:
    return v1_v2.read(name, _v2_content(contents), size)


def _v2_content(contents: _Contents) -> bytes:
    """Rebuild a file of format 2, whose header has only the minor HAPI version."""
    message = contents.message
    previous_hash = message.start_object_running_hash.hash
    out = bytearray(_V2_HEADER.pack(2, message.hapi_proto_version.minor, 1, previous_hash))
    for item in contents.items:
        out += b"\2" + _blob(item.transaction) + _blob(item.record)
    return bytes(out)


def _v5(name: names.StreamFileName, contents: _Contents, size: int) -> RecordFile:
    return v5.read(name, _v5_content(contents), size)


def _v5_content(contents: _Contents) -> bytes:
    message = contents.message
    version = message.hapi_proto_version
    out = bytearray(_V5_HEADER.pack(5, version.major, version.minor, version.patch, _OBJECT_STREAM_VERSION))
    out += _hash_object(message.start_object_running_hash.hash)
    for item in contents.items:
        out += stream_object(item.record, item.transaction)
    out += _hash_object(message.end_object_running_hash.hash)
    return bytes(out)


def _v6(name: names.StreamFileName, contents: _Contents, size: int) -> RecordFile:
    original = _v6_content(contents)
    if not contents.amendments:
        return v6.read(name, original, size)
    message = RecordStreamFile()
    message.CopyFrom(contents.message)
    del message.record_stream_items[:]
    for item in contents.items:
        message.record_stream_items.append(messages.parse(RecordStreamItem, item.serialized))
    file = v6.read(name, _INT32.pack(v6.VERSION) + message.SerializeToString(), size)
    file.file_hash = sha384(original).hex()
    return file


def _v6_content(contents: _Contents) -> bytes:
    """Rebuild a file of format 6, without amendments."""
    return _INT32.pack(v6.VERSION) + contents.serialized


_REBUILD: dict[int, Callable[[names.StreamFileName, _Contents, int], RecordFile]] = {2: _v2, 5: _v5, 6: _v6}
_CONTENT: dict[int, Callable[[_Contents], bytes]] = {2: _v2_content, 5: _v5_content, 6: _v6_content}


def _blob(data: bytes) -> bytes:
    return _INT32.pack(len(data)) + data


def _hash_object(digest: bytes) -> bytes:
    return _HASH_OBJECT.pack(HASH_CLASS_ID, HASH_CLASS_VERSION, SHA_384_DIGEST_TYPE, SHA_384_LENGTH, digest)


# Around the file


def _check(block: BlockContent, file: RecordFile, message: Any) -> None:
    """Require that block and file agree, as signatures are over the file alone."""
    if message.block_number != block.header.number:
        raise _unusable(block, f"the record file in it says that it is block {message.block_number}")
    for which, stated, actual in (
        ("start", message.start_object_running_hash.hash, file.previous_hash),
        ("end", message.end_object_running_hash.hash, file.hash),
    ):
        # Format 2 has no running hashes; its end is the file hash, which contents may leave out.
        if (stated or file.version != v1_v2.VERSIONS[1]) and stated.hex() != actual:
            raise _unusable(block, f"the {which} hash of the record file in it is not {actual}")


def _sidecars(block: BlockContent, file: RecordFile) -> dict[int, SidecarFile]:
    assert block.record_file is not None
    contents = wire.repeated_bytes(block.record_file, RecordFileItem.SIDECAR_FILE_CONTENTS_FIELD_NUMBER)
    if len(contents) != len(file.sidecars):
        raise _unusable(
            block, f"it holds {len(contents)} sidecars, but its record file names {len(file.sidecars)}"
        )
    ids = [metadata.id for metadata in file.sidecars]
    if sorted(ids) != list(range(1, len(contents) + 1)):
        raise _unusable(block, f"its sidecars have the ids {ids}, but should be counted from 1")
    return {
        metadata.id: parse_sidecar(
            metadata.name, content := contents[metadata.id - 1], metadata.hash, size=len(content)
        )
        for metadata in file.sidecars
    }
