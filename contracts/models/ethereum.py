"""Ethereum transactions."""

from django.db import models

from mirror.db.fields import BytesField


class EthereumTransaction(models.Model):
    """The decoded RLP of one Ethereum transaction. Written by ETHEREUMTRANSACTION."""

    access_list = BytesField(null=True)
    call_data_id = models.BigIntegerField(null=True)
    call_data = BytesField(null=True)
    chain_id = BytesField(null=True)
    consensus_timestamp = models.BigIntegerField(primary_key=True)
    data = BytesField()
    gas_limit = models.BigIntegerField()
    gas_price = BytesField(null=True)
    hash = BytesField()
    max_fee_per_gas = BytesField(null=True)
    max_gas_allowance = models.BigIntegerField()
    max_priority_fee_per_gas = BytesField(null=True)
    nonce = models.BigIntegerField()
    payer_account_id = models.BigIntegerField()
    recovery_id = models.SmallIntegerField(null=True)
    signature_r = BytesField()
    signature_s = BytesField()
    signature_v = BytesField(null=True)
    to_address = BytesField(null=True)
    type = models.SmallIntegerField()
    value = BytesField(null=True)

    class Meta:
        db_table = "ethereum_transaction"
