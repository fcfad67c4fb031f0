"""Proofs of transactions in record files: the file, its signatures, and the keys of its signers.

A proof contains only valid signatures: by the node's key in the address book of the time, over the hashes of
the file in the proof.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ledger.archive.published_files import NodeFolders
from ledger.proofs.portable.document import base64
from ledger.proofs.state import fetching, locations, wrapped
from ledger.proofs.state.compact import CompactFile, can_be_compact, compact
from ledger.proofs.state.errors import NotFetched, NotStored
from ledger.queries import state_proofs as queries
from ledger.queries.state_proofs import StoredBook, StoredFile
from ledger.stream.content import content_of
from ledger.stream.errors import StreamFileError
from ledger.stream.record import names, v5
from ledger.stream.record.formats import read_record_file
from ledger.stream.record.record_file import RecordFile
from ledger.stream.signature.address_book import AddressBookNode
from ledger.stream.signature.quorum import least_for_proofs
from ledger.stream.signature.signature_file import SignatureFile, read_signature_file
from mirror.core import config, logs
from mirror.core.values import entity_id

log = logs.logger(__name__)

# Real ones have less than a thousand bytes.
_MOST_OF_SIGNATURE = 64 * 1024


class Signed(NamedTuple):
    """A signature file as it was published, and what it says."""

    content: bytes
    read: SignatureFile


def document(consensus_timestamp: int, file: StoredFile) -> Mapping[str, object]:
    """Return the proof of the transaction of this time (ns), which is in this file. Errors: NoProof."""
    history = config.value("rest.stateproof.addressBookHistory")
    books = queries.address_books(consensus_timestamp, history=history)
    if books is None:
        raise NotStored("No address book found")
    deadline = time.monotonic() + config.value("rest.stateproof.streams.httpOptions.timeout")
    with fetching.others_served(deadline):
        if file.wrapped_record_block_hash is not None and (found := _from_block(file, books, deadline)):
            return _json(consensus_timestamp, books, *found)
        buckets = locations.record_file_buckets()
        signatures = _signatures(file, books, buckets, deadline)
        record, content = _record_file(file, books, signatures, buckets, deadline)
        return _json(consensus_timestamp, books, signatures, record, content)


def _from_block(
    file: StoredFile, books: StoredBook, deadline: float
) -> tuple[Mapping[int, Signed], RecordFile, bytes] | None:
    """Return the file and its signatures from the block it has come in, if that proves it."""
    try:
        found = wrapped.from_block(file, deadline)
        signatures = _held(names.signature_name(file.name), found.signatures, books)
    except (NotFetched, StreamFileError) as error:
        # Nodes may have published the file by itself, too.
        reason = (
            f"{error}: {error.details}" if isinstance(error, NotFetched) and error.details else str(error)
        )
        log.warning("wrapped_file_unusable", file=file.name, block=file.number, reason=reason)
        return None
    return signatures, found.record, found.content


def _signatures(
    file: StoredFile, books: StoredBook, buckets: Sequence[NodeFolders], deadline: float
) -> Mapping[int, Signed]:
    """Return the signature files that nodes have published. Errors: NotFetched."""
    name = names.signature_name(_published_name(file))
    contents = fetching.from_all(buckets, books.nodes, name, deadline, most=_MOST_OF_SIGNATURE)
    return _held(name, contents, books)


def _published_name(file: StoredFile) -> str:
    """Return the name of a file where nodes publish it. One that came in a block has a shorter one."""
    if file.wrapped_record_block_hash is None or file.version < v5.VERSION:
        return file.name
    return names.record_name(names.parse(file.name).instant, file.version)


def _held(name: str, contents: Mapping[int, bytes], books: StoredBook) -> Mapping[int, Signed]:
    """Return the signature files that hold and sign the same hashes, by node id. Errors: NotFetched."""
    votes: dict[tuple[bytes, bytes | None], dict[int, Signed]] = defaultdict(dict)
    for node in books.nodes:
        signed = _signed(node, name, contents.get(node.node_id))
        if signed is not None:
            votes[signed.read.file_hash, signed.read.metadata_hash][node.node_id] = signed
    signatures = max(votes.values(), key=len, default={})
    if not signatures or len(signatures) < least_for_proofs(len(books.nodes)):
        raise NotFetched(
            f"Require at least 1/3 signature files to prove consensus, got {len(signatures)} out of "
            f"{len(books.nodes)} for file {name}"
        )
    return signatures


def _signed(node: AddressBookNode, name: str, content: bytes | None) -> Signed | None:
    if content is None:
        return None
    try:
        read = read_signature_file(name, content)
    except StreamFileError as error:
        log.warning("signature_file_unusable", file=name, node=node.node_id, reason=error.cause)
        return None
    if not read.is_signed_by(node.public_key):
        log.warning("signature_file_unusable", file=name, node=node.node_id, reason="not by the node's key")
        return None
    return Signed(content, read)


def _record_file(
    file: StoredFile,
    books: StoredBook,
    signatures: Mapping[int, Signed],
    buckets: Sequence[NodeFolders],
    deadline: float,
) -> tuple[RecordFile, bytes]:
    """Return the file that was signed, and its content, decompressed. Errors: NotFetched."""
    if file.content is not None and (stored := _checked(file.name, file.content, signatures)):
        return stored
    signers = [node for node in books.nodes if node.node_id in signatures]
    # A file that has come in a block is not called as nodes have published it.
    name = next(iter(signatures.values())).read.data_name
    for data in fetching.one_by_one(buckets, signers, name, deadline):
        if fetched := _checked(name, data, signatures):
            return fetched
    first = entity_id.text(signers[0].account_id)
    raise NotFetched(f"Failed to download record file {file.name} from node {first}")


def _checked(name: str, stored: bytes, signatures: Mapping[int, Signed]) -> tuple[RecordFile, bytes] | None:
    """Return the file and its content if it is the one that was signed."""
    try:
        record, content = read_record_file(name, stored), content_of(names.parse(name), stored)
    except StreamFileError as error:
        log.warning("record_file_unusable", file=name, reason=error.cause)
        return None
    signed = next(iter(signatures.values())).read
    hashes = signed.file_hash.hex(), None if signed.metadata_hash is None else signed.metadata_hash.hex()
    if hashes != (record.file_hash, record.metadata_hash):
        log.warning("record_file_unusable", file=name, reason="its hash is not the one that nodes signed")
        return None
    return record, content


def _json(
    consensus_timestamp: int,
    books: StoredBook,
    signatures: Mapping[int, Signed],
    record: RecordFile,
    content: bytes,
) -> Mapping[str, object]:
    accounts = {node.node_id: entity_id.text(node.account_id) for node in books.nodes}
    shown: object = base64(content)
    # Without signatures of its metadata a file has to be whole.
    if can_be_compact(record) and all(signed.read.metadata_hash for signed in signatures.values()):
        shown = compact_json(compact(record, content, consensus_timestamp))
    return {
        "address_books": _all_base64(books.contents),
        "record_file": shown,
        "signature_files": {accounts[node]: base64(signed.content) for node, signed in signatures.items()},
        "version": record.version,
    }


def compact_json(file: CompactFile) -> Mapping[str, object]:
    return {
        "head": base64(file.head),
        "start_running_hash_object": base64(file.start_running_hash_object),
        "hashes_before": _all_base64(file.hashes_before),
        "record_stream_object": base64(file.record_stream_object),
        "hashes_after": _all_base64(file.hashes_after),
        "end_running_hash_object": base64(file.end_running_hash_object),
        "block_number": None if file.block_number is None else base64(file.block_number),
    }


def _all_base64(contents: Iterable[bytes] | Sequence[bytes]) -> list[str]:
    return [base64(content) for content in contents]
