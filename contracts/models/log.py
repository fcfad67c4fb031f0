"""Contract logs."""

from django.db import models

from mirror.db.fields import BytesField
from mirror.db.indexes import Index


class ContractLog(models.Model):
    """One log of a contract, or one made up for a token transfer so that Ethereum tools see it.

    Written with contract_result; `index` counts within the block. Topics lack leading zero bytes.
    """

    pk = models.CompositePrimaryKey("consensus_timestamp", "index")
    bloom = BytesField()
    consensus_timestamp = models.BigIntegerField()
    contract_id = models.BigIntegerField()
    data = BytesField()
    index = models.IntegerField()
    topic0 = BytesField(null=True)
    topic1 = BytesField(null=True)
    topic2 = BytesField(null=True)
    topic3 = BytesField(null=True)
    payer_account_id = models.BigIntegerField()
    root_contract_id = models.BigIntegerField(null=True)
    transaction_hash = BytesField(null=True)
    transaction_index = models.IntegerField(null=True)

    class Meta:
        db_table = "contract_log"
        indexes = [
            Index(
                fields=["contract_id", "-consensus_timestamp", "index"],
                name="contract_log__contract_id_timestamp_index",
            ),
        ]
