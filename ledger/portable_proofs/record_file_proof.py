"""Verifying the proof of a transaction in a record file.

Nodes sign the hash of a file, and from format 5 on a second one of its running hashes. A whole file is
compared with both. In the compact form of formats 5 and 6 there is only the transaction that is proved, with
hashes for the others: they lead from the first running hash to the last one, which are signed.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from typing import Any, NamedTuple

from ledger.portable_proofs.documents import RecordFileProofJson
from ledger.portable_proofs.strict_json import FORM, NotProved, read
from ledger.portable_proofs.verdict import Expected, Transaction, Trusted, Verdict
from ledger.stream import record_names
from ledger.stream.binary_format import (
    RECORD_CLASS_ID,
    RECORD_CLASS_VERSION,
    Reader,
    after_hashes,
    hash_object,
)
from ledger.stream.errors import StreamFileError
from ledger.stream.record_formats import V5, V6, VERSIONS, read_record_file
from ledger.stream.record_item import InvalidItem, RecordItem
from ledger.stream.signature.address_book import AddressBookNode, read_address_book
from ledger.stream.signature.quorum import ConsensusMode, NoQuorum, Quorum, Votes
from ledger.stream.signature.signature_file import SignatureFile, read_signature_file
from mirror.core.values import entity_id, timestamp, transaction_id
from mirror.core.values.hapi import messages, result_codes, transaction_types
from mirror.core.values.hapi.messages import DecodeError
from mirror.core.values.hashes import SHA_384_LENGTH, sha384

_STATED, _CHAIN, _SIGNATURES, _BOOK, _STAKES = (
    "The transaction", "The running hashes", "The signatures", "The address book", "The stakes",
)  # fmt: skip
# Files are read as if they had this name, which says nothing of a file with transactions.
_NAME = "1970-01-01T00_00_00Z.rcd"
_RATIO = Fraction(1, 3)
_HEAD_LENGTHS = {V5: 20, V6: 16}
_MAX_BYTES = 1 << 31


class _Record(NamedTuple):
    """What is known of a record file: the hashes that nodes have to have signed, and a transaction.

    `file_hash` is None in the compact form, `metadata_hash` before format 5.
    """

    file_hash: str | None
    metadata_hash: str | None
    hash: str
    number: int | None
    items: list[RecordItem]


def verify(document: Mapping[str, object], trusted: Trusted, expected: Expected | None = None) -> Verdict:
    """Return what a proof of the kind "record file" shows.

    Of a whole file one transaction is proved: that of the time and the transaction id that the document
    states, and that of `expected`. Errors: NotProved.
    """
    version = document.get("version")
    if version not in VERSIONS:
        raise NotProved(FORM, f"record files of version {version} are unknown")
    given = read(document, RecordFileProofJson)
    version, books, file = given["version"], given["address_books"], given["record_file"]
    stated = [given[name] for name in ("consensus_timestamp", "transaction_id") if name in given]
    try:
        record = _parse_whole(version, file) if isinstance(file, bytes) else _parse_compact(version, file)
    except (DecodeError, InvalidItem, StreamFileError) as error:
        cause = error.cause if isinstance(error, StreamFileError) else str(error)
        raise NotProved(FORM, f"its record file can't be read ({cause})") from error
    item = _select_item(record, stated, expected)
    rests_on = []
    if trusted.book is None:
        if not books:
            raise NotProved(_BOOK, "the document has none; name one by --address-book")
        rests_on.append(
            f"the address book in the document itself, SHA-256 {sha256(books[-1]).hexdigest()}: name one "
            "that you know by --address-book"
        )
    nodes = _nodes(trusted.book if trusted.book is not None else books[-1])
    quorum = _quorum(nodes, _known_stakes(nodes, trusted.stakes))
    signers = _signers(
        record, given["signature_files"], quorum, _quorum(_nodes(books[-1])) if books else quorum
    )
    return Verdict(
        version=version,
        transaction=_transaction(item),
        number=record.number,
        hash=record.hash,
        signers=f"{len(signers)} of {len(quorum.keys)} nodes ({', '.join(map(str, signers))})",
        signed=sum(quorum.stakes.get(node, 0) for node in signers),
        total=quorum.total_stake,
        rests_on=rests_on,
    )


# RECORD FILE


def _parse_whole(version: int, content: bytes) -> _Record:
    file = read_record_file(_NAME, content)
    if file.version != version:
        raise NotProved(FORM, f"its record file is one of version {file.version}, not {version}")
    return _Record(file.file_hash, file.metadata_hash, file.hash, file.block_number, list(file.items))


def _parse_compact(version: int, file: Any) -> _Record:
    head, number, stream_object = file["head"], file["block_number"], file["record_stream_object"]
    start, end = (_running_hash(file, f"{end_name}_running_hash_object") for end_name in ("start", "end"))
    before, after = file["hashes_before"], file["hashes_after"]
    reader = Reader(_NAME, head)
    if len(head) != _HEAD_LENGTHS.get(version) or reader.int32("version") != version:
        raise NotProved(FORM, f"the head of its record file is none of version {version}")
    if any(len(each) != SHA_384_LENGTH for each in (*before, *after)):
        raise NotProved(FORM, f"a hash of a transaction has another length than {SHA_384_LENGTH}")
    if after_hashes(start, [*before, sha384(stream_object), *after]) != end:
        raise NotProved(
            _CHAIN, "that of the transaction and the other hashes do not lead from the first to the last"
        )
    if version == V5:
        if number is not None:
            raise NotProved(FORM, "record files of version 5 have no block number")
        metadata = head + hash_object(start) + hash_object(end)
    else:
        if number is None or len(number) != 8:
            raise NotProved(FORM, "its block number has another length than 8 bytes")
        metadata = head + start + end + number
    block_number = None if number is None else int.from_bytes(number, "big", signed=True)
    hapi_version = tuple(reader.int32("HAPI version") for _ in range(3))
    return _Record(
        None, sha384(metadata).hex(), end.hex(), block_number, [_item(stream_object, hapi_version)]
    )


def _running_hash(file: Any, name: str) -> bytes:
    data: bytes = file[name]
    digest = data[-SHA_384_LENGTH:]
    if len(digest) != SHA_384_LENGTH or data != hash_object(digest):
        raise NotProved(FORM, f"record_file.{name} is no running hash")
    return digest


def _item(stream_object: bytes, hapi_version: tuple[int, ...]) -> RecordItem:
    """Return the transaction of a stream object, as format 5 has it. Errors: StreamFileError, DecodeError."""
    reader = Reader(_NAME, stream_object)
    reader.expect(reader.uint64, RECORD_CLASS_ID, "class id of the transaction", "transaction")
    reader.expect(reader.int32, RECORD_CLASS_VERSION, "class version of the transaction", "transaction")
    record = reader.blob("record", _MAX_BYTES)
    transaction = reader.blob("transaction", _MAX_BYTES)
    reader.finish()
    major, minor, patch = hapi_version
    return RecordItem(
        0,
        messages.parse(messages.Transaction, transaction),
        messages.parse(messages.TransactionRecord, record),
        hapi_version=(major, minor, patch),
        serialized=(transaction, record),
    )


def _select_item(record: _Record, stated: Sequence[str], expected: Expected | None) -> RecordItem:
    """Return the transaction that is proved: the only one of what is stated and expected."""
    found = [
        item
        for item in record.items
        if set(stated) <= {timestamp.text(item.consensus_timestamp), _transaction_id(item)}
    ]
    description = " and ".join(stated)
    if expected is not None and len(found) > 1:
        found = [item for item in found if expected.matches(_transaction(item))]
        description = " and ".join(dict.fromkeys((*stated, expected.name)))
    if len(found) == 1:
        return found[0]
    if not description:
        raise NotProved(_STATED, f"the record file has {len(found)}; name one of them by --id")
    if not found:
        raise NotProved(_STATED, f"the record file has none of {description}")
    raise NotProved(_STATED, f"the record file has {len(found)} of {description}; name its time by --id")


def _transaction_id(item: RecordItem) -> str:
    return transaction_id.text(item.payer_account_id, item.valid_start_ns)


def _transaction(item: RecordItem) -> Transaction:
    return Transaction(
        transaction_id=_transaction_id(item),
        nonce=item.nonce,
        scheduled=item.scheduled,
        consensus_timestamp=item.consensus_timestamp,
        type=transaction_types.name(item.transaction_type),
        result=result_codes.name(item.result),
    )


# SIGNATURES


def _nodes(book: bytes) -> list[AddressBookNode]:
    try:
        nodes = read_address_book("the address book", book)
    except StreamFileError as error:
        raise NotProved(_BOOK, error.cause) from error
    if not nodes:
        raise NotProved(_BOOK, "it has no nodes")
    return nodes


def _known_stakes(nodes: list[AddressBookNode], stakes: Mapping[int, int] | None) -> Mapping[int, int] | None:
    """Require that a reader who names stakes names those of all nodes: a node without one would not count."""
    if stakes is None:
        return None
    if missing := [str(node.node_id) for node in nodes if node.node_id not in stakes]:
        raise NotProved(
            _STAKES,
            f"there is none of node {', '.join(missing)}, which the address book has: name every page of "
            "/api/v1/network/nodes?limit=25 by --stakes",
        )
    if sum(stakes[node.node_id] for node in nodes) <= 0:
        raise NotProved(_STAKES, "the nodes of the address book have none")
    return stakes


def _quorum(nodes: list[AddressBookNode], stakes: Mapping[int, int] | None = None) -> Quorum:
    """Return the quorum of a third of the stakes, or of the nodes: a book does not tell their stakes."""
    return Quorum.from_address_book(nodes, stakes or {}, ConsensusMode.STAKE_IN_ADDRESS_BOOK, _RATIO)


def _signers(
    record: _Record, signatures: Mapping[str, bytes], quorum: Quorum, stated: Quorum
) -> tuple[int, ...]:
    """Return the nodes that have signed, if enough; others have to hold by the book of the document."""
    votes = Votes("the record file", quorum, missing="no signature in the document")
    for account, data in signatures.items():
        try:
            signature = read_signature_file(record_names.signature_name(_NAME), data)
        except StreamFileError as error:
            raise NotProved(_SIGNATURES, f"that of {account} can't be read ({error.cause})") from error
        _check_hashes(record, account, signature)
        node = _node_with_account(account, quorum)
        if node is not None and signature.is_signed_by(quorum.keys[node]):
            votes.add(node, signature)
            continue
        document_node = _node_with_account(account, stated)
        if document_node is None or not signature.is_signed_by(stated.keys[document_node]):
            raise NotProved(
                _SIGNATURES, f"that of {account} is not by the key that this account has in the address book"
            )
    try:
        return votes.require().signers
    except NoQuorum as error:
        hint = "; exactly a third, which is not enough here, is enough for a node to answer with a proof"
        is_third = Fraction(error.stake, quorum.total_stake) == _RATIO
        raise NotProved(_SIGNATURES, error.cause + hint * is_third) from error


def _check_hashes(record: _Record, account: str, signature: SignatureFile) -> None:
    metadata = None if signature.metadata_hash is None else signature.metadata_hash.hex()
    is_of_file = record.file_hash in (None, signature.file_hash.hex())
    # Of a file that came in a block there are signatures of the file alone.
    is_alone = metadata is None and record.file_hash is not None
    if not is_of_file or (metadata != record.metadata_hash and not is_alone):
        raise NotProved(_SIGNATURES, f"that of {account} is one of another file")


def _node_with_account(account: str, quorum: Quorum) -> int | None:
    return next(
        (node for node, encoded in quorum.accounts.items() if entity_id.text(encoded) == account), None
    )
