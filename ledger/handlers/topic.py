"""Topics (consensus service): created, updated, deleted, and their messages with running hashes.

The keys of a topic are in `topic`, the admin key there alone; what it shares with other entities is in
`entity`.
"""

from typing import Any

from ledger.handlers.columns import convert, serialized, text
from ledger.handlers.custom_fees import replace_topic_fees
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.publishing import publication, publish
from ledger.ingest.rows.registry import handles, names_entities
from ledger.models import Topic, TopicMessage
from ledger.stream.record_item import RecordItem
from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import FeeExemptKeyList

_KEYS = {"admin_key": "adminKey", "fee_schedule_key": "fee_schedule_key", "submit_key": "submitKey"}

# The column is null for this version, which nearly all messages have.
USUAL_RUNNING_HASH_VERSION = 3


names_entities(
    entity_id.from_topic,
    CONSENSUSCREATETOPIC="record.receipt.topicID",
    CONSENSUSUPDATETOPIC="body.consensusUpdateTopic.topicID",
    CONSENSUSDELETETOPIC="body.consensusDeleteTopic.topicID",
    CONSENSUSSUBMITMESSAGE="body.consensusSubmitMessage.topicID",
)


@handles("CONSENSUSCREATETOPIC")
def topic_create(item: RecordItem, batch: Batch) -> None:
    """Create a topic.

    Source: body.consensusCreateTopic, receipt.topicID.
    Rows: entity version, topic version, custom_fee version (HIP-991).
    """
    # BODY
    body, time = item.body.consensusCreateTopic, item.consensus_timestamp
    columns: dict[str, Any] = {"memo": text(body.memo)}
    if body.HasField("autoRenewAccount"):
        columns["auto_renew_account_id"] = entity_id.from_account(body.autoRenewAccount)
        batch.mention(columns["auto_renew_account_id"])
    columns |= convert(item, batch, body, "autoRenewPeriod")
    exempt = FeeExemptKeyList(keys=body.fee_exempt_key_list)
    # ROWS
    batch.change_entity(
        item, id=item.entity_id, type="TOPIC", created_timestamp=time, deleted=False, **columns
    )
    if item.entity_id:
        batch.upsert(
            Topic,
            since=time,
            id=item.entity_id,
            created_timestamp=time,
            fee_exempt_key_list=exempt.SerializeToString(),
            **serialized(body, **_KEYS),
        )
        replace_topic_fees(item, batch, body.custom_fees)


@handles("CONSENSUSUPDATETOPIC")
def topic_update(item: RecordItem, batch: Batch) -> None:
    """Change what the body sets of a topic; an empty list of keys or fees clears the list.

    Source: body.consensusUpdateTopic. Rows: entity version, topic version, custom_fee version.
    """
    # BODY
    body = item.body.consensusUpdateTopic
    columns = convert(item, batch, body, "autoRenewAccount", "autoRenewPeriod", "expirationTime", "memo")
    keys = serialized(body, **_KEYS, fee_exempt_key_list="fee_exempt_key_list")
    # ROWS
    batch.change_entity(item, id=item.entity_id, type="TOPIC", deleted=False, **columns)
    if item.entity_id:
        batch.upsert(Topic, since=item.consensus_timestamp, id=item.entity_id, **keys)
        if body.HasField("custom_fees"):
            replace_topic_fees(item, batch, body.custom_fees.fees)


@handles("CONSENSUSSUBMITMESSAGE")
def submit_message(item: RecordItem, batch: Batch) -> None:
    """Store a message, or one chunk of a longer one, whether or not the topic is stored.

    Source: body.consensusSubmitMessage, receipt (topicRunningHash, topicSequenceNumber).
    Rows: topic_message insert.
    """
    if not batch.persist.topics:
        return
    # BODY
    body, receipt = item.body.consensusSubmitMessage, item.record.receipt
    version: int | None = receipt.topicRunningHashVersion or 1
    number = total = initial = None
    if body.HasField("chunkInfo"):
        info = body.chunkInfo
        number, total = info.number, info.total
        if info.HasField("initialTransactionID"):
            initial = info.initialTransactionID.SerializeToString()
    # ROWS
    row = (
        item.consensus_timestamp,
        body.message,
        receipt.topicRunningHash,
        receipt.topicSequenceNumber,
        None if version == USUAL_RUNNING_HASH_VERSION else version,
        number,
        total,
        item.payer_account_id,
        None,  # valid_start_timestamp
        item.entity_id,
        initial,
    )
    batch.rows_for(TopicMessage).append(row)
    if batch.persist.publishes_topics:
        batch.defer(publish, publication(row))
