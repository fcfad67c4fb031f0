"""Contract calls and creations, and the ways to find one."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from mirror.db.fields import BytesField, NanosTimestampField
from mirror.db.indexes import HashIndex, Index
from mirror.db.tables import KeylessTable


class ContractResult(models.Model):
    """The outcome of one contract call or creation.

    Written by CONTRACTCALL, CONTRACTCREATEINSTANCE, ETHEREUMTRANSACTION and any other whose record carries
    one.
    """

    function_parameters = BytesField()
    gas_limit = models.BigIntegerField()
    function_result = BytesField(null=True)
    gas_used = models.BigIntegerField(null=True)
    consensus_timestamp = NanosTimestampField(primary_key=True)
    amount = models.BigIntegerField(null=True)
    bloom = BytesField(null=True)
    call_result = BytesField(null=True)
    contract_id = models.BigIntegerField()
    created_contract_ids = ArrayField(models.BigIntegerField(), null=True)
    error_message = models.TextField(null=True)
    payer_account_id = models.BigIntegerField()
    sender_id = models.BigIntegerField(null=True)
    failed_initcode = BytesField(null=True)
    transaction_hash = BytesField(null=True)
    transaction_index = models.IntegerField(null=True)
    transaction_result = models.SmallIntegerField()
    transaction_nonce = models.IntegerField(db_default=0)
    gas_consumed = models.BigIntegerField(null=True)

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


class ContractTransaction(models.Model):
    """One contract's, or the payer's, part in one contract transaction. Written with contract_result."""

    pk = models.CompositePrimaryKey("consensus_timestamp", "entity_id")
    consensus_timestamp = models.BigIntegerField()
    entity_id = models.BigIntegerField()
    contract_ids = ArrayField(models.BigIntegerField())
    payer_account_id = models.BigIntegerField()

    class Meta:
        db_table = "contract_transaction"


class ContractTransactionHash(KeylessTable, models.Model):
    """Where to find the contract result of a 32 byte transaction or Ethereum hash.

    Written with contract_result.
    """

    pk = models.CompositePrimaryKey("hash", "consensus_timestamp")
    consensus_timestamp = models.BigIntegerField()
    hash = BytesField()
    payer_account_id = models.BigIntegerField()
    entity_id = models.BigIntegerField()
    transaction_result = models.SmallIntegerField()

    class Meta:
        db_table = "contract_transaction_hash"
        verbose_name_plural = "contract transaction hashes"
        indexes = [
            HashIndex(fields=["hash"], name="contract_transaction_hash__hash"),
        ]
