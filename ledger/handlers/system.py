"""Network administration: freezes and upgrades, system delete and undelete; deletions that do no more."""

from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import handles, names_entity
from ledger.models import NetworkFreeze
from ledger.stream.record_item import RecordItem
from mirror.core.values import entity_id, timestamp
from mirror.core.values.hapi.transaction_types import name
from mirror.core.values.timestamp import NANOS_PER_DAY, NANOS_PER_SECOND

# The types of what transactions delete; tokens are with their handlers.
_DELETED = {"CONSENSUSDELETETOPIC": "TOPIC", "FILEDELETE": "FILE", "SCHEDULEDELETE": "SCHEDULE"}


@names_entity("FREEZE")
def update_file(item: RecordItem, batch: Batch) -> int:
    return entity_id.from_file(item.body.freeze.update_file)


@handles("FREEZE")
def freeze(item: RecordItem, batch: Batch) -> None:
    """Store one step of a freeze or upgrade. Source: body.freeze. Rows: network_freeze insert.

    Before HAPI 0.14 a freeze gave its start and end as hours and minutes of its UTC day; steps without a time
    start and end at midnight.
    """
    # BODY
    body, consensus_timestamp = item.body.freeze, item.consensus_timestamp
    end_time: int | None = None
    if body.HasField("start_time"):
        start_time = timestamp.to_ns(body.start_time)
    else:
        midnight = consensus_timestamp - consensus_timestamp % NANOS_PER_DAY
        start_time = midnight + (body.startHour * 60 + body.startMin) * 60 * NANOS_PER_SECOND
        end_time = midnight + (body.endHour * 60 + body.endMin) * 60 * NANOS_PER_SECOND
        if body.startHour > body.endHour:
            end_time += NANOS_PER_DAY
    # ROWS
    batch.insert(
        NetworkFreeze,
        consensus_timestamp=consensus_timestamp,
        type=body.freeze_type,
        start_time=start_time,
        end_time=end_time,
        file_id=item.entity_id or None,
        file_hash=body.file_hash,
        payer_account_id=item.payer_account_id,
    )


@names_entity("SYSTEMDELETE", "SYSTEMUNDELETE")
def file_or_contract(item: RecordItem, batch: Batch) -> int:
    body = getattr(item.body, item.body.WhichOneof("data"))
    if body.WhichOneof("id") == "contractID":
        return batch.lookup.contract(body.contractID)
    return entity_id.from_file(body.fileID)


@handles("SYSTEMDELETE", "SYSTEMUNDELETE")
def system_delete(item: RecordItem, batch: Batch) -> None:
    """Delete a file or contract on behalf of the network, or undo that.

    Source: body.systemDelete, systemUndelete. Rows: entity version.
    """
    data = item.body.WhichOneof("data")
    kind = "CONTRACT" if getattr(item.body, data).WhichOneof("id") == "contractID" else "FILE"
    batch.change_entity(item, id=item.entity_id, type=kind, deleted=data == "systemDelete")


@handles(*_DELETED)
def delete(item: RecordItem, batch: Batch) -> None:
    """Delete an entity; what other tables have of it stays. Rows: entity version."""
    batch.change_entity(item, id=item.entity_id, type=_DELETED[name(item.transaction_type)], deleted=True)
