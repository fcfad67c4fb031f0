"""Scheduled transactions (schedule service): created, signed, executed, deleted."""

from typing import Any

from google.protobuf.unknown_fields import UnknownFieldSet

from ledger.handlers.columns import convert, text
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import Order, every_item, handles, names_entities
from ledger.models import Schedule, TransactionSignature
from ledger.stream.record_item import RecordItem
from mirror.core.db.distribution import choose
from mirror.core.values import entity_id, timestamp
from mirror.core.values.hapi.messages import SignaturePair
from mirror.core.values.hapi.transaction_types import NUMBERS
from mirror.core.values.hapi.wire import LENGTH_DELIMITED

ETHEREUM_TRANSACTION = NUMBERS["ETHEREUMTRANSACTION"]

_SIGNATURE_TYPES = {field.name: field.number for field in SignaturePair.DESCRIPTOR.oneofs[0].fields}


names_entities(
    entity_id.from_schedule,
    # In the receipt of a failed transaction: the identical schedule that existed.
    SCHEDULECREATE="record.receipt.scheduleID",
    SCHEDULEDELETE="body.scheduleDelete.scheduleID",
    SCHEDULESIGN="body.scheduleSign.scheduleID",
)


@handles("SCHEDULECREATE")
def schedule_create(item: RecordItem, batch: Batch) -> None:
    """Create a schedule.

    Source: body.scheduleCreate, receipt.scheduleID. Rows: entity version, schedule upsert.
    """
    # BODY
    body, consensus_timestamp = item.body.scheduleCreate, item.consensus_timestamp
    creator = _creator(item)
    payer = entity_id.from_account(body.payerAccountID) if body.HasField("payerAccountID") else creator
    # ROWS
    batch.change_entity(
        item,
        id=item.entity_id,
        type="SCHEDULE",
        created_timestamp=consensus_timestamp,
        deleted=False,
        memo=text(body.memo),
        **convert(item, batch, body, "adminKey"),
    )
    batch.mention(payer)
    if batch.persist.schedules:
        batch.upsert(
            Schedule,
            schedule_id=item.entity_id,
            consensus_timestamp=consensus_timestamp,
            creator_account_id=creator,
            payer_account_id=payer,
            expiration_time=timestamp.to_ns(body.expiration_time)
            if body.HasField("expiration_time")
            else None,
            transaction_body=body.scheduledTransactionBody.SerializeToString(),
            wait_for_expiry=body.wait_for_expiry,
        )


def _creator(item: RecordItem) -> int:
    """Return the payer; of a schedule that a contract created in an Ethereum transaction, its sender."""
    parent = item.parent
    if parent and parent.transaction_type == ETHEREUM_TRANSACTION:
        result = parent.function_result
        sender = entity_id.from_account(result.sender_id) if result is not None else 0
        return sender or item.payer_account_id
    return item.payer_account_id


@every_item(Order.SCHEDULE_EXECUTION)
def execution(item: RecordItem, batch: Batch) -> None:
    """Note that a scheduled transaction was executed, whatever its result. Source: record.scheduleRef.

    Rows: schedule.executed_timestamp, if the schedule is stored.
    """
    if not item.scheduled:
        return
    schedule = entity_id.from_schedule(item.record.scheduleRef)
    batch.mention(schedule)
    if batch.persist.schedules and schedule:
        batch.upsert(Schedule, schedule_id=schedule, executed_timestamp=item.consensus_timestamp)


@every_item(Order.LOOKUPS)
def signatures(item: RecordItem, batch: Batch) -> None:
    """Store the signatures of a successful transaction of a configured type, the first of each key prefix.

    Source: the signature map. Rows: transaction_signature insert; `type` is the signature's field number.
    """
    if item.transaction_type not in batch.persist.transaction_signatures or not item.successful:
        return
    prefixes = set()
    for pair in item.signature_map.sigPair:
        if pair.pubKeyPrefix in prefixes:
            continue
        signature_type, signature = _signature(pair)
        if not signature_type:
            batch.recoverable(item, f"its signature for key {pair.pubKeyPrefix.hex()} is of an unknown type")
            continue
        prefixes.add(pair.pubKeyPrefix)
        batch.insert(
            TransactionSignature,
            consensus_timestamp=item.consensus_timestamp,
            # A distributed table takes no NULL where its rows are distributed by it.
            entity_id=item.entity_id or choose(None, distributed=0),
            public_key_prefix=pair.pubKeyPrefix,
            signature=signature,
            type=signature_type,
        )


def _signature(pair: Any) -> tuple[int, bytes]:
    """Return field number and signature; of a newer type, those of the one unknown field; else 0 and b""."""
    field = pair.WhichOneof("signature")
    if field:
        return _SIGNATURE_TYPES[field], getattr(pair, field)
    unknown: dict[int, list[Any]] = {}
    fields = UnknownFieldSet(pair)
    for index in range(len(fields)):
        unknown.setdefault(fields[index].field_number, []).append(fields[index])
    for number, values in unknown.items():
        if len(values) == 1 and values[0].wire_type == LENGTH_DELIMITED:
            return number, values[0].data
    return 0, b""
