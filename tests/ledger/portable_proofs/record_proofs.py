"""Proofs of transactions in composed record files of every format, as documents."""

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from ledger.state_proofs.record_file_proofs import can_be_compact, compact
from ledger.stream.record_file import RecordFile
from mirror.core.values import timestamp
from tests.ledger.state_proofs.files import BOOK, Published


def proof_of(file: Published, *, whole: bool = False, signers: int | None = None) -> dict[str, Any]:
    """The document, as it comes out of a file; signed by some of the nodes, or by all."""
    at = file.proved.consensus_timestamp
    signed = list(file.signatures.items())[:signers]
    signatures = {f"0.0.{node.account_id}": data for node, data in signed}
    document = document_of(file.record, file.content, at, signatures, whole=whole)
    document["address_books"] = [_base64(BOOK)]
    document["transaction_id"] = file.transaction_id
    read: dict[str, Any] = json.loads(json.dumps(document))
    return read


def document_of(
    file: RecordFile, content: bytes, at: int, signatures: Mapping[str, bytes], *, whole: bool = False
) -> dict[str, Any]:
    """The document of the transaction of a time, without an address book; signature files are by accounts."""
    record: Any = _base64(content)
    if can_be_compact(file) and not whole:
        record = compact(file, content, at)
    return {
        "address_books": [],
        "record_file": record,
        "signature_files": {account: _base64(data) for account, data in signatures.items()},
        "version": file.version,
        "consensus_timestamp": timestamp.text(at),
    }


def _base64(data: bytes) -> str:
    return b64encode(data).decode()
