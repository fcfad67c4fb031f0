"""Proofs of transactions in record files: the file, its signatures, and the keys of its signers.

A proof contains only valid signatures: by the node's key in the address book of the time, over the hashes of
the file in the proof. The signatures that have come with a file in a block are of the whole file: so it is
whole in a proof, whatever its format, and its signature files are of format 2.
"""

import time
from collections.abc import Iterator, Mapping
from fractions import Fraction
from struct import Struct
from typing import NamedTuple

from ledger.portable_proofs.documents import CompactRecordFileJson
from ledger.portable_proofs.strict_json import base64
from ledger.queries import state_proofs as queries
from ledger.queries.state_proofs import StoredBook, StoredFile
from ledger.state_proofs import NotFetched, NotStored, block_proofs, fetching, locations
from ledger.stream import record_names
from ledger.stream.binary_format import after_hashes, hash_object, stream_object
from ledger.stream.block.wrapped import read_wrapped, signed_content
from ledger.stream.content import content_of
from ledger.stream.errors import StreamFileError
from ledger.stream.record_file import RecordFile
from ledger.stream.record_formats import V5, V6, read_record_file
from ledger.stream.signature.quorum import ConsensusMode, Quorum, SignedHashes, Votes, required_for_proofs
from ledger.stream.signature.signature_file import signature_content_v2
from mirror.core import config, logs
from mirror.core.values import entity_id
from mirror.core.values.hapi import wire
from mirror.core.values.hapi.messages import RecordStreamFile, RecordStreamItem
from mirror.core.values.hashes import sha384

log = logs.logger(__name__)

# Real ones have less than a thousand bytes.
_MAX_SIGNATURE_BYTES = 64 * 1024

_ITEMS = RecordStreamFile.RECORD_STREAM_ITEMS_FIELD_NUMBER
_TRANSACTION = RecordStreamItem.TRANSACTION_FIELD_NUMBER
_RECORD = RecordStreamItem.RECORD_FIELD_NUMBER

_V5_HEAD_LENGTH = 20
_V6_HEAD = Struct(">iiii")
_V6_VERSION_LENGTH = 4
_BLOCK_NUMBER = Struct(">q")


class _SignedFile(NamedTuple):
    """A record file, its content, decompressed, and its signatures."""

    record: RecordFile
    content: bytes
    signed: SignedHashes


def document(consensus_timestamp: int, file: StoredFile) -> Mapping[str, object]:
    """Return the proof of the transaction of this time (ns), which is in this file. Errors: NoProof."""
    history = config.value("rest.stateproof.addressBookHistory")
    books = queries.address_books(consensus_timestamp, history=history)
    if books is None:
        raise NotStored("No address book found")
    deadline = time.monotonic() + config.value("rest.stateproof.streams.httpOptions.timeout")
    with fetching.limited(deadline):
        record, content, signed = _from_block(file, books, deadline) or _published(file, books, deadline)
        record_file_json: object = base64(content)
        # Without signatures of its metadata a file has to be whole.
        if can_be_compact(record) and signed.metadata_hash:
            record_file_json = compact(record, content, consensus_timestamp)
        return {
            "address_books": list(map(base64, books.contents)),
            "record_file": record_file_json,
            "signature_files": {
                entity_id.text(account): base64(data) for account, data in signed.files.items()
            },
            "version": record.version,
        }


def _from_block(file: StoredFile, books: StoredBook, deadline: float) -> _SignedFile | None:
    """Return the file and its signatures from the block it has come in, if that proves it."""
    if file.wrapped_record_block_hash is None:
        return None
    try:
        serialized, block = block_proofs.find_block(file, deadline)
        if block.record_file is None:
            raise NotFetched(f"There is no record file in block {file.number}")
        record = read_wrapped(block, len(serialized))
        if record.hash != file.hash:
            raise NotFetched(f"Another record file than {file.name} has been found in block {file.number}")
        assert record.wrapper is not None
        if record.wrapper.unsigned_amendments:
            raise NotFetched(f"Record file {file.name} was amended, which its signatures do not cover")
        file_hash = bytes.fromhex(record.file_hash)
        signatures = {
            node_id: signature_content_v2(file_hash, signature)
            for node_id, signature in record.wrapper.signatures
        }
        signed = _verify_signatures(record_names.signature_name(file.name), signatures, books)
        return _SignedFile(record, signed_content(block, record), signed)
    except (NotFetched, StreamFileError) as error:
        # Nodes may have published the file by itself, too.
        details = error.details if isinstance(error, NotFetched) else ""
        reason = f"{error}: {details}" if details else str(error)
        log.warning("wrapped_file_unusable", file=file.name, block=file.number, reason=reason)
        return None


def _published(file: StoredFile, books: StoredBook, deadline: float) -> _SignedFile:
    """Return the file and its signatures as nodes have published them. Errors: NotFetched."""
    buckets = locations.record_file_buckets()
    name = record_names.signature_name(_published_name(file))
    contents = fetching.fetch_from_all(buckets, books.nodes, name, deadline, limit=_MAX_SIGNATURE_BYTES)
    signed = _verify_signatures(name, contents, books)
    if file.content is not None and (stored := _checked(file.name, file.content, signed)):
        return stored
    signers = [node for node in books.nodes if node.node_id in signed.signers]
    for data in fetching.fetch_one_by_one(buckets, signers, signed.data_name, deadline):
        if fetched := _checked(signed.data_name, data, signed):
            return fetched
    first = entity_id.text(signers[0].account_id)
    raise NotFetched(f"Failed to download record file {file.name} from node {first}")


def _published_name(file: StoredFile) -> str:
    """Return the name of a file where nodes publish it. One that came in a block has a shorter one."""
    if file.wrapped_record_block_hash is None or file.version < V5:
        return file.name
    return record_names.record_name(record_names.parse(file.name).instant, file.version)


def _verify_signatures(name: str, contents: Mapping[int, bytes], books: StoredBook) -> SignedHashes:
    """Return the hashes that most nodes signed, by their signature files. Errors: NotFetched."""
    votes = Votes(name, Quorum.from_address_book(books.nodes, {}, ConsensusMode.EQUAL, Fraction(0)))
    for node_id in sorted(contents):
        votes.add_file(node_id, contents[node_id])
        if (problem := votes.problem(node_id)) is not None:
            log.warning("signature_file_unusable", file=name, node=node_id, reason=problem)
    signed = votes.outcome
    count = len(signed.signers) if signed else 0
    if signed is None or count < required_for_proofs(len(books.nodes)):
        raise NotFetched(
            f"Require at least 1/3 signature files to prove consensus, got {count} out of "
            f"{len(books.nodes)} for file {name}"
        )
    return signed


def _checked(name: str, stored: bytes, signed: SignedHashes) -> _SignedFile | None:
    try:
        record = read_record_file(name, stored)
        signed.check(record)
        return _SignedFile(record, content_of(record_names.parse(name), stored), signed)
    except StreamFileError as error:
        log.warning("record_file_unusable", file=name, reason=error.cause)
        return None


# COMPACT FORM
# Nodes sign the hash of a whole file, and from format 5 on the hash of its metadata: the running hashes
# before and after its transactions. Each transaction is hashed onto the running hash before it. So the second
# signature proves a transaction without the others.


def can_be_compact(file: RecordFile) -> bool:
    return file.version in (V5, V6)


def compact(file: RecordFile, content: bytes, consensus_timestamp: int) -> CompactRecordFileJson:
    """Return the compact form of a file, decompressed as `content`, for a time (ns). Errors: NotFetched."""
    index = next((item.index for item in file.items if item.consensus_timestamp == consensus_timestamp), None)
    if index is None:
        raise NotFetched(f"Record file {file.name} does not have the transaction")
    objects = list(_objects(file, content))
    hashes = [sha384(each) for each in objects]
    start, end = bytes.fromhex(file.previous_hash), bytes.fromhex(file.hash)
    if after_hashes(start, hashes) != end:
        raise NotFetched(f"The running hash of record file {file.name} is not that of its transactions")
    number = file.block_number
    return {
        "head": base64(_head(file, content)),
        "start_running_hash_object": base64(hash_object(start)),
        "hashes_before": list(map(base64, hashes[:index])),
        "record_stream_object": base64(objects[index]),
        "hashes_after": list(map(base64, hashes[index + 1 :])),
        "end_running_hash_object": base64(hash_object(end)),
        "block_number": None if number is None else base64(_BLOCK_NUMBER.pack(number)),
    }


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
