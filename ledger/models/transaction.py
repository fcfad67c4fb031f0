"""Transactions, their hashes and signatures."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from mirror.core.db.schema import fields
from mirror.core.db.schema.enums import ErrataType
from mirror.core.db.schema.indexes import HashIndex, Index
from mirror.core.db.schema.tables import Compared, HashPartitions, KeylessTable, PartitionableTable
from mirror.core.values.hapi import result_codes

# Few transactions fail, so these indexes are small, and find failures among any number of others.
_FAILED = ~models.Q(result__in=sorted(result_codes.SUCCESS))


class Transaction(PartitionableTable, models.Model):
    """One transaction that reached consensus, successful or not. Written by every transaction."""

    compared = Compared(completed_column="nft_transfer", older=(("high_volume_pricing_multiplier", "0"),))

    consensus_timestamp = fields.ConsensusTimestampField(primary_key=True)
    type = fields.TransactionTypeField()
    result = fields.TransactionResultField()
    payer_account_id = fields.EntityIdField(domain="entity_id")
    valid_start_ns = fields.NanosTimestampField()
    valid_duration_seconds = fields.SecondsField(null=True)
    node_account_id = fields.EntityIdField(domain="entity_id", null=True)
    entity_id = fields.EntityIdField(domain="entity_id", null=True)
    initial_balance = fields.TinybarField(null=True, db_default=0)
    max_fee = fields.TinybarField(domain="hbar_tinybars", null=True)
    charged_tx_fee = fields.TinybarField(null=True)
    memo = fields.TextBytesField(null=True)
    transaction_hash = fields.HashField(null=True)
    transaction_bytes = fields.BytesField(null=True)
    scheduled = models.BooleanField(db_default=False)
    nonce = models.IntegerField(db_default=0)
    parent_consensus_timestamp = fields.ConsensusTimestampField(null=True)
    errata = fields.EnumField("errata_type", choices=ErrataType, null=True)
    index = models.IntegerField(null=True)
    nft_transfer = models.JSONField(null=True)
    itemized_transfer = models.JSONField(null=True)
    transaction_record_bytes = fields.BytesField(null=True)
    max_custom_fees = ArrayField(fields.MessageField("CustomFeeLimit"), null=True)
    batch_key = fields.KeyField(null=True)
    inner_transactions = fields.InnerTransactionsField(models.BigIntegerField(), null=True)
    high_volume = models.BooleanField(db_default=False)
    # In thousandths: 1000 is the plain price. Only blocks state the first one.
    congestion_pricing_multiplier = fields.NumberField(null=True)
    high_volume_pricing_multiplier = fields.NumberField(null=True)

    class Meta:
        db_table = "transaction"
        indexes = [
            Index(
                fields=["payer_account_id", "consensus_timestamp"],
                name="transaction__payer_account_id_consensus_ns",
            ),
            Index(fields=["valid_start_ns", "payer_account_id"], name="transaction__transaction_id"),
            Index(fields=["type", "consensus_timestamp"], name="transaction__type_consensus_timestamp"),
            Index(fields=["consensus_timestamp"], condition=_FAILED, name="transaction__failed"),
            Index(fields=["type", "consensus_timestamp"], condition=_FAILED, name="transaction__failed_type"),
        ]


class TransactionHash(KeylessTable, HashPartitions, models.Model):
    """The consensus timestamp of a transaction hash: its first 32 bytes, the other 16 apart.

    Written by every transaction; ETHEREUMTRANSACTION adds a second row with the Ethereum hash.
    """

    compared = Compared(found_by="substring(hash from 1 for 32)")

    pk = models.CompositePrimaryKey("hash", "consensus_timestamp")
    consensus_timestamp = fields.ConsensusTimestampField()
    hash = fields.HashField()
    payer_account_id = fields.EntityIdField(null=True)
    hash_suffix = fields.BytesField(null=True)

    class Meta:
        db_table = "transaction_hash"
        verbose_name_plural = "transaction hashes"
        indexes = [
            HashIndex(
                models.Func("hash", template="substring(%(expressions)s from 1 for 32)"),
                name="transaction_hash__hash",
            ),
        ]


SIGNATURE_TYPES = {2: "CONTRACT", 3: "ED25519", 4: "RSA_3072", 5: "ECDSA_384", 6: "ECDSA_SECP256K1"}


class TransactionSignature(KeylessTable, models.Model):
    """One signature collected by a schedule. Written by SCHEDULECREATE and SCHEDULESIGN."""

    pk = models.CompositePrimaryKey("consensus_timestamp", "public_key_prefix")
    consensus_timestamp = fields.ConsensusTimestampField()
    public_key_prefix = fields.BytesField()
    entity_id = fields.EntityIdField(null=True)
    signature = fields.BytesField()
    type = fields.named(models.SmallIntegerField(null=True), SIGNATURE_TYPES)

    class Meta:
        db_table = "transaction_signature"
        indexes = [
            Index(fields=["-entity_id", "-consensus_timestamp"], name="transaction_signature__entity_id"),
        ]
