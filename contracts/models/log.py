"""Contract logs."""

from django.db import models
from django.db.models.functions import Substr
from django.db.models.lookups import IsNull

from mirror.core.db.schema import fields
from mirror.core.db.schema.indexes import Index
from mirror.core.db.schema.tables import Compared, PartitionableTable

#: The first bytes of a topic that its index holds: enough to tell topics apart, and a third of the room.
TOPIC_PREFIX = 8


def _topic_index(topic: str) -> Index:
    # The condition names the same bytes: PostgreSQL takes no comparison of the whole topic for it.
    prefix = Substr(topic, 1, TOPIC_PREFIX)
    return Index(
        prefix,
        models.F("consensus_timestamp"),
        models.F("index"),
        condition=models.Q(IsNull(prefix, False)),
        name=f"contract_log__{topic}_timestamp",
    )


class ContractLog(PartitionableTable, models.Model):
    """One log of a contract, or a synthetic one of a transfer or approval of tokens, for Ethereum tools.

    Written with contract_result; `index` counts within the block. Topics lack leading zero bytes.
    """

    compared = Compared(older=(("synthetic", "false"),))

    pk = models.CompositePrimaryKey("consensus_timestamp", "index")
    bloom = fields.BytesField()
    consensus_timestamp = fields.ConsensusTimestampField()
    contract_id = fields.EntityIdField()
    data = fields.BytesField()
    index = models.IntegerField()
    topic0 = fields.WordField(null=True)
    topic1 = fields.WordField(null=True)
    topic2 = fields.WordField(null=True)
    topic3 = fields.WordField(null=True)
    payer_account_id = fields.EntityIdField()
    root_contract_id = fields.EntityIdField(null=True)
    transaction_hash = fields.HashField(null=True)
    transaction_index = models.IntegerField(null=True)
    # True for what the mirror logs itself; null in rows of an older release.
    synthetic = models.BooleanField(null=True)

    class Meta:
        db_table = "contract_log"
        indexes = [
            Index(
                fields=["contract_id", "-consensus_timestamp", "index"],
                name="contract_log__contract_id_timestamp_index",
            ),
            Index(
                fields=["-consensus_timestamp", "-index"],
                condition=models.Q(synthetic=True),
                name="contract_log__synthetic_timestamp",
            ),
            Index(
                fields=["contract_id", "-consensus_timestamp", "index"],
                condition=models.Q(synthetic=True),
                name="contract_log__synthetic_contract_timestamp",
            ),
            *(_topic_index(topic) for topic in ("topic0", "topic1", "topic2", "topic3")),
        ]
