"""Results of contract calls and creations, and their hashes."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from mirror.core.db.schema import fields
from mirror.core.db.schema.indexes import HashIndex, Index
from mirror.core.db.schema.tables import Compared, KeylessTable, PartitionableTable


class ContractResult(PartitionableTable, models.Model):
    """The result of one contract call or creation.

    Written by CONTRACTCALL, CONTRACTCREATEINSTANCE, ETHEREUMTRANSACTION and any other transaction whose
    record has one.
    """

    compared = Compared(older=(("gas_consumed", "case when gas_used = 0 then 0 end"),))

    function_parameters = fields.BytesField()
    gas_limit = fields.NumberField()
    function_result = fields.OutputField(null=True)
    gas_used = fields.NumberField(null=True)
    consensus_timestamp = fields.ConsensusTimestampField(domain="nanos_timestamp", primary_key=True)
    amount = fields.TinybarField(null=True)
    bloom = fields.BytesField(null=True)
    call_result = fields.OutputField(null=True)
    contract_id = fields.EntityIdField()
    created_contract_ids = ArrayField(fields.EntityIdField(), null=True)
    error_message = fields.ErrorTextField(null=True)
    payer_account_id = fields.EntityIdField()
    sender_id = fields.EntityIdField(null=True)
    failed_initcode = fields.BytesField(null=True)
    transaction_hash = fields.HashField(null=True)
    transaction_index = models.IntegerField(null=True)
    transaction_result = fields.TransactionResultField()
    transaction_nonce = models.IntegerField(db_default=0)
    gas_consumed = fields.NumberField(null=True)

    class Meta:
        db_table = "contract_result"
        indexes = [
            Index(
                fields=["contract_id", "sender_id", "consensus_timestamp"],
                name="contract_result__id_sender_timestamp",
            ),
            Index(fields=["contract_id", "consensus_timestamp"], name="contract_result__id_timestamp"),
            Index(fields=["sender_id", "consensus_timestamp"], name="contract_result__sender_timestamp"),
        ]


class ContractTransaction(PartitionableTable, models.Model):
    """One contract that took part in a contract transaction, or its payer. Written with contract_result."""

    pk = models.CompositePrimaryKey("consensus_timestamp", "entity_id")
    consensus_timestamp = fields.ConsensusTimestampField()
    entity_id = fields.EntityIdField()
    contract_ids = ArrayField(fields.EntityIdField())
    payer_account_id = fields.EntityIdField()

    class Meta:
        db_table = "contract_transaction"


class ContractTransactionHash(KeylessTable, models.Model):
    """The consensus timestamp of the contract result of a 32-byte transaction or Ethereum hash.

    Written with contract_result.
    """

    pk = models.CompositePrimaryKey("hash", "consensus_timestamp")
    consensus_timestamp = fields.ConsensusTimestampField()
    hash = fields.HashField()
    payer_account_id = fields.EntityIdField()
    entity_id = fields.EntityIdField()
    transaction_result = fields.TransactionResultField()

    class Meta:
        db_table = "contract_transaction_hash"
        verbose_name_plural = "contract transaction hashes"
        indexes = [
            HashIndex(fields=["hash"], name="contract_transaction_hash__hash"),
        ]
