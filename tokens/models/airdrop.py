"""Token airdrops (HIP-904)."""

from django.db import models

from ledger.models.history import history_of
from mirror.core.db.schema import fields
from mirror.core.db.schema.enums import AirdropState
from mirror.core.db.schema.indexes import Index
from mirror.core.db.schema.tables import KeylessTable
from mirror.core.db.writing.merge import MergeRule


class TokenAirdrop(KeylessTable, models.Model):
    """One airdrop and its state: pending, claimed or cancelled.

    Airdrops of fungible tokens have serial number 0, those of serials have no amount.
    Written by TOKENAIRDROP, TOKENCANCELAIRDROP and TOKENCLAIMAIRDROP.
    """

    merge = MergeRule(key=("sender_account_id", "receiver_account_id", "token_id", "serial_number"))

    amount = fields.TokenAmountField(null=True)
    receiver_account_id = fields.EntityIdField()
    sender_account_id = fields.EntityIdField()
    serial_number = fields.NumberField()
    state = fields.EnumField("airdrop_state", choices=AirdropState, db_default=AirdropState.PENDING)
    timestamp_range = fields.ValidityField()
    token_id = fields.TokenIdField()
    pk = models.CompositePrimaryKey("sender_account_id", "receiver_account_id", "token_id", "serial_number")

    class Meta:
        db_table = "token_airdrop"
        indexes = [
            Index(
                fields=["receiver_account_id", "sender_account_id", "token_id", "serial_number"],
                name="token_airdrop__receiver_id",
            ),
            # Most airdrops have been claimed or cancelled: the few pending ones would be searched among them.
            Index(
                fields=["sender_account_id", "receiver_account_id", "token_id", "serial_number"],
                condition=models.Q(state="PENDING"),
                name="token_airdrop__pending_of_sender",
            ),
            Index(
                fields=["receiver_account_id", "sender_account_id", "token_id", "serial_number"],
                condition=models.Q(state="PENDING"),
                name="token_airdrop__pending_of_receiver",
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                "sender_account_id",
                "receiver_account_id",
                "token_id",
                "serial_number",
                name="token_airdrop__sender_id",
            ),
        ]


TokenAirdropHistory = history_of(
    TokenAirdrop,
    "An earlier state of an airdrop. Written when the next airdrop, cancel or claim replaces it.",
)
