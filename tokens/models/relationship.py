"""Accounts and the tokens they hold."""

from django.contrib.postgres.fields import BigIntegerRangeField
from django.db import models

from mirror.db.indexes import GistIndex, Index
from mirror.db.tables import KeylessTable


class TokenAccountColumns(models.Model):
    """What a version of a relationship says."""

    account_id = models.BigIntegerField()
    associated = models.BooleanField(db_default=False)
    automatic_association = models.BooleanField(null=True)
    created_timestamp = models.BigIntegerField(null=True)
    freeze_status = models.SmallIntegerField(null=True)
    kyc_status = models.SmallIntegerField(null=True)
    timestamp_range = BigIntegerRangeField()
    token_id = models.BigIntegerField()
    balance = models.BigIntegerField(db_default=0)
    balance_timestamp = models.BigIntegerField(null=True)

    class Meta:
        abstract = True


class TokenAccount(TokenAccountColumns):
    """One account's relationship with one token now: associated, balance, frozen, KYC.

    Written by TOKENASSOCIATE, TOKENDISSOCIATE, TOKENFREEZE, TOKENUNFREEZE, TOKENGRANTKYC, TOKENREVOKEKYC and
    automatic associations; token transfers move `balance`, which starts no new version. A null status is the
    token's own.
    """

    pk = models.CompositePrimaryKey("account_id", "token_id")

    class Meta:
        db_table = "token_account"
        indexes = [
            Index(fields=["token_id", "account_id"], name="token_account__token_id_account_id"),
        ]


class TokenAccountHistory(KeylessTable, TokenAccountColumns):
    """An earlier version of a relationship. Written when a transaction replaces it."""

    pk = models.CompositePrimaryKey("account_id", "token_id", "timestamp_range")

    class Meta:
        db_table = "token_account_history"
        verbose_name_plural = "token account history"
        indexes = [
            Index(
                "account_id",
                "token_id",
                "timestamp_range__startswith",
                name="token_account_history__account_token_lower_timestamp",
            ),
            GistIndex(fields=["timestamp_range"], name="token_account_history__timestamp_range"),
        ]
