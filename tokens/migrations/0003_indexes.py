from django.db import migrations, models

import mirror.core.db.schema.indexes
from mirror.core.db.schema.operations import AddIndexOrBackfill


class Migration(migrations.Migration):
    """Indexes of holders by balance, and of pending airdrops."""

    atomic = False
    dependencies = [("tokens", "0002_custom_fees_leave"), ("mirror", "0005_backfill_newest")]

    operations = [
        AddIndexOrBackfill(
            model_name="tokenaccount",
            index=mirror.core.db.schema.indexes.Index(
                fields=["token_id", "balance", "account_id"], name="token_account__token_balance_account"
            ),
            backfill="holdings_index",
        ),
        AddIndexOrBackfill(
            model_name="tokenairdrop",
            index=mirror.core.db.schema.indexes.Index(
                condition=models.Q(("state", "PENDING")),
                fields=["sender_account_id", "receiver_account_id", "token_id", "serial_number"],
                name="token_airdrop__pending_of_sender",
            ),
            backfill="sent_airdrops_index",
        ),
        AddIndexOrBackfill(
            model_name="tokenairdrop",
            index=mirror.core.db.schema.indexes.Index(
                condition=models.Q(("state", "PENDING")),
                fields=["receiver_account_id", "sender_account_id", "token_id", "serial_number"],
                name="token_airdrop__pending_of_receiver",
            ),
            backfill="received_airdrops_index",
        ),
    ]
