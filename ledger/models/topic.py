"""Topics of the consensus service and their messages."""

from django.contrib.postgres.fields import BigIntegerRangeField
from django.db import models

from ledger.models.history import history_of
from mirror.core.db.schema import fields
from mirror.core.db.schema.indexes import Index
from mirror.core.db.schema.tables import KeylessTable, PartitionableTable
from mirror.core.db.writing.merge import MergeRule


class Topic(models.Model):
    """The keys of a topic as they are now; the rest of a topic is in entity.

    Written by CONSENSUSCREATETOPIC, CONSENSUSUPDATETOPIC and CONSENSUSDELETETOPIC.
    """

    merge = MergeRule(key=("id",), fixed=frozenset({"created_timestamp"}))

    admin_key = fields.KeyField(null=True)
    created_timestamp = fields.ConsensusTimestampField(null=True)
    fee_exempt_key_list = fields.MessageField("FeeExemptKeyList", null=True)
    fee_schedule_key = fields.KeyField(null=True)
    submit_key = fields.KeyField(null=True)
    timestamp_range = fields.ValidityField()
    id = fields.EntityIdField(primary_key=True)

    class Meta:
        db_table = "topic"


TopicHistory = history_of(
    Topic,
    "Earlier keys of a topic. Written when CONSENSUSUPDATETOPIC or CONSENSUSDELETETOPIC replaces them.",
    by_start="topic_history__id_lower_timestamp_range",
)


class TopicMessage(KeylessTable, PartitionableTable, models.Model):
    """One message, or one chunk of a longer one. Written by CONSENSUSSUBMITMESSAGE."""

    pk = models.CompositePrimaryKey("topic_id", "sequence_number")
    consensus_timestamp = fields.ConsensusTimestampField(domain="nanos_timestamp")
    message = fields.TextBytesField()
    running_hash = fields.HashField()
    sequence_number = fields.NumberField()
    running_hash_version = models.SmallIntegerField(null=True)
    chunk_num = models.IntegerField(null=True)
    chunk_total = models.IntegerField(null=True)
    payer_account_id = fields.EntityIdField(domain="entity_id", null=True)
    valid_start_timestamp = fields.NanosTimestampField(domain="nanos_timestamp", null=True)
    topic_id = fields.EntityIdField()
    initial_transaction_id = fields.MessageField("TransactionID", null=True)

    class Meta:
        db_table = "topic_message"
        indexes = [
            Index(fields=["topic_id", "consensus_timestamp"], name="topic_message__topic_id_timestamp"),
        ]
        constraints = [
            models.UniqueConstraint("topic_id", "sequence_number", name="topic_message__topic_id_seqnum"),
        ]


class TopicMessageLookup(models.Model):
    """The sequence numbers and times of a topic in one partition of topic_message.

    Used only where topic_message is partitioned by time; CONSENSUSSUBMITMESSAGE extends it there.
    """

    pk = models.CompositePrimaryKey("topic_id", "partition")
    partition = models.TextField()
    sequence_number_range = BigIntegerRangeField()
    timestamp_range = fields.NanosTimestampRangeField()
    topic_id = fields.EntityIdField()

    class Meta:
        db_table = "topic_message_lookup"
