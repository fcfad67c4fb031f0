"""Non-fungible tokens."""

from django.contrib.postgres.fields import BigIntegerRangeField
from django.db import models

from mirror.db.fields import BytesField
from mirror.db.indexes import GistIndex, Index
from mirror.db.tables import KeylessTable


class NftColumns(models.Model):
    """What a version of a serial says."""

    account_id = models.BigIntegerField(null=True)
    created_timestamp = models.BigIntegerField(null=True)
    deleted = models.BooleanField(null=True, db_default=False)
    metadata = BytesField(null=True)
    serial_number = models.BigIntegerField()
    token_id = models.BigIntegerField()
    delegating_spender = models.BigIntegerField(null=True)
    spender = models.BigIntegerField(null=True)
    timestamp_range = BigIntegerRangeField()

    class Meta:
        abstract = True


class Nft(NftColumns):
    """One serial of a token now: who holds it, who may spend it.

    Written by TOKENMINT, TOKENBURN, TOKENWIPE, TOKENUPDATENFTS, CRYPTOAPPROVEALLOWANCE, CRYPTODELETEALLOWANCE
    and every transfer of it.
    """

    pk = models.CompositePrimaryKey("token_id", "serial_number")

    class Meta:
        db_table = "nft"
        indexes = [
            Index(fields=["account_id", "token_id", "serial_number"], name="nft__account_token_serialnumber"),
            Index(
                fields=["account_id", "spender", "token_id", "serial_number"],
                name="nft__allowance",
                condition=models.Q(account_id__isnull=False, spender__isnull=False),
            ),
        ]


class NftHistory(KeylessTable, NftColumns):
    """An earlier version of a serial. Written when a transaction replaces it."""

    pk = models.CompositePrimaryKey("token_id", "serial_number", "timestamp_range")

    class Meta:
        db_table = "nft_history"
        verbose_name_plural = "nft history"
        indexes = [
            GistIndex(fields=["account_id", "timestamp_range"], name="nft_history__account_timestamp_range"),
            Index(
                "token_id",
                "serial_number",
                "timestamp_range__startswith",
                name="nft_history__token_serial_lower_timestamp",
            ),
        ]
