"""Consensus service: topics and their messages. Which topic a transaction is about."""

from ledger.ingest.batch import Batch
from ledger.ingest.registry import names_entity
from ledger.stream.item import RecordItem
from mirror.values import entity_id


@names_entity("CONSENSUSCREATETOPIC")
def created_topic(item: RecordItem, rows: Batch) -> int:
    return entity_id.of_topic(item.record.receipt.topicID)


@names_entity("CONSENSUSUPDATETOPIC")
def updated_topic(item: RecordItem, rows: Batch) -> int:
    return entity_id.of_topic(item.body.consensusUpdateTopic.topicID)


@names_entity("CONSENSUSDELETETOPIC")
def deleted_topic(item: RecordItem, rows: Batch) -> int:
    return entity_id.of_topic(item.body.consensusDeleteTopic.topicID)


@names_entity("CONSENSUSSUBMITMESSAGE")
def topic_of_message(item: RecordItem, rows: Batch) -> int:
    """Kept also when the topic does not exist."""
    return entity_id.of_topic(item.body.consensusSubmitMessage.topicID)
