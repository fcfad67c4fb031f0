"""Ethereum transactions."""

from django.db import models

from mirror.core.db.schema import fields
from mirror.core.db.schema.tables import PartitionableTable

_TYPES = {0: "legacy", 1: "EIP-2930", 2: "EIP-1559", 4: "EIP-7702"}


class EthereumTransaction(PartitionableTable, models.Model):
    """The decoded RLP of one Ethereum transaction. Written by ETHEREUMTRANSACTION.

    Prices and value are weibars as the RLP has them; value is signed. In a row of an older release, where
    `in_weibars` is false, they are tinybars, and the lists are null: there only `data` is exact.
    """

    call_data_id = fields.EntityIdField(null=True)
    call_data = fields.BytesField(null=True)
    chain_id = fields.AmountBytesField(null=True)
    consensus_timestamp = fields.ConsensusTimestampField(primary_key=True)
    data = fields.BytesField()
    gas_limit = fields.NumberField()
    gas_price = fields.AmountBytesField(null=True)
    hash = fields.HashField()
    max_fee_per_gas = fields.AmountBytesField(null=True)
    max_gas_allowance = fields.TinybarField()
    max_priority_fee_per_gas = fields.AmountBytesField(null=True)
    nonce = fields.NumberField()
    payer_account_id = fields.EntityIdField()
    recovery_id = models.SmallIntegerField(null=True)
    signature_r = fields.BytesField()
    signature_s = fields.BytesField()
    signature_v = fields.AmountBytesField(null=True)
    to_address = fields.BytesField(null=True)
    type = fields.named(models.SmallIntegerField(), _TYPES)
    value = fields.AmountBytesField(null=True)
    authorization_list = models.JSONField(null=True)
    access_list = models.JSONField(null=True)
    in_weibars = models.BooleanField(db_default=True)

    class Meta:
        db_table = "ethereum_transaction"
