"""The items of a block that a proof has, and which transaction and which result belong together.

A block's root hash is over its transactions and over its results in two lists, each in the order of the
block. So the paths alone do not prove which result is whose. Where every transaction has one result, the
number of those before does: the same of transactions as of results. Not counted are signatures of the state
by nodes, which have no result, and the results of inner transactions, which are in no list: they name the
time of their atomic batch as that of their parent. Other transactions that nodes send
for themselves may have no result; if they are among those before, their number proves nothing.
"""

from collections.abc import Sequence
from typing import Any

from ledger.portable_proofs.verdict import Transaction
from ledger.stream.signature import verify_proof
from mirror.core.values import entity_id, timestamp, transaction_id
from mirror.core.values.hapi import messages, result_codes, transaction_types, wire
from mirror.core.values.hapi.messages import BlockItem, SignedTransaction, TransactionBody

HEADER, SIGNED, RESULT, OUTPUT = (
    "block_header",
    "signed_transaction",
    "transaction_result",
    "transaction_output",
)
CHANGES = "state_changes"

_WITHOUT_RESULT = "state_signature_transaction"
_KINDS = {field.number: field.name for field in BlockItem.DESCRIPTOR.fields}


def kind_of(serialized: bytes) -> str | None:
    """Return the name of a serialized BlockItem's only field, None if it is none. Errors: DecodeError."""
    fields = list(wire.fields(serialized))
    if len(fields) != 1 or fields[0].wire_type != wire.LENGTH_DELIMITED:
        return None
    return _KINDS.get(fields[0].number)


def body_of(signed: bytes) -> Any:
    """Return the TransactionBody of a serialized SignedTransaction. Errors: DecodeError."""
    return messages.parse(TransactionBody, SignedTransaction.FromString(signed).bodyBytes)


def read(item: bytes) -> Any:
    """Return what is in a serialized BlockItem that has a kind. Errors: DecodeError."""
    message = messages.parse(BlockItem, item)
    return getattr(message, message.WhichOneof("item"))


def transaction_of(signed: bytes, result: Any, position: int | None) -> Transaction:
    """Return what a transaction, or one in a batch, and its result say. Errors: DecodeError; IndexError."""
    body = body_of(signed)
    if position is not None:
        body = body_of(body.atomic_batch.transactions[position])
    stated = body.transactionID
    kind = body.WhichOneof("data")
    return Transaction(
        transaction_id=transaction_id.text(
            entity_id.from_account(stated.accountID), timestamp.to_ns(stated.transactionValidStart)
        ),
        nonce=stated.nonce,
        scheduled=result.HasField("schedule_ref"),
        consensus_timestamp=timestamp.to_ns(result.consensus_timestamp),
        type=transaction_types.name(TransactionBody.DESCRIPTOR.fields_by_name[kind].number)
        if kind
        else transaction_types.UNKNOWN,
        result=result_codes.name(result.status),
        position=position,
    )


def has_no_result(signed: bytes) -> bool:
    return bool(body_of(signed).WhichOneof("data") == _WITHOUT_RESULT)


def match_by_order(signed: Sequence[bytes], outputs: Sequence[bytes], result: bytes) -> bool:
    """Return whether the last of `signed` and `result` belong together, by `outputs`. Errors: DecodeError."""
    for item in signed:
        body_of(read(item))
    try:
        verify_proof.check_numbers(list(signed), list(outputs), result)
    except verify_proof.Rejected:
        return False
    return True


def parent_of(result: Any) -> int | None:
    """Return the time of the transaction that has caused another one, or of the batch with it."""
    if not result.HasField("parent_consensus_timestamp"):
        return None
    return timestamp.to_ns(result.parent_consensus_timestamp)
