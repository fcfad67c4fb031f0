from django.db import migrations, models

import mirror.core.db.schema.indexes
from mirror.core.db.schema.operations import AddIndexOrBackfill

_FAILED = ~models.Q(result__in=(22, 104, 220))


class Migration(migrations.Migration):
    """Indexes of failed transactions, of what others take from an account, and of who took part by time."""

    atomic = False
    dependencies = [("ledger", "0005_schedule_index"), ("mirror", "0005_backfill_newest")]

    operations = [
        AddIndexOrBackfill(
            model_name="transaction",
            index=mirror.core.db.schema.indexes.Index(
                fields=["consensus_timestamp"], condition=_FAILED, name="transaction__failed"
            ),
            backfill="failed_index",
        ),
        AddIndexOrBackfill(
            model_name="transaction",
            index=mirror.core.db.schema.indexes.Index(
                fields=["type", "consensus_timestamp"], condition=_FAILED, name="transaction__failed_type"
            ),
            backfill="failed_type_index",
        ),
        AddIndexOrBackfill(
            model_name="cryptotransfer",
            index=mirror.core.db.schema.indexes.Index(
                fields=["entity_id", "consensus_timestamp"],
                condition=models.Q(amount__gt=0, entity_id__gt=1000),
                name="crypto_transfer__credit",
            ),
            backfill="credit_index",
        ),
        AddIndexOrBackfill(
            model_name="cryptotransfer",
            index=mirror.core.db.schema.indexes.Index(
                fields=["entity_id", "consensus_timestamp"],
                condition=models.Q(amount__lt=0) & models.Q(entity_id__ne=models.F("payer_account_id")),
                name="crypto_transfer__debit_of_others",
            ),
            backfill="debit_index",
        ),
        AddIndexOrBackfill(
            model_name="entitytransaction",
            index=mirror.core.db.schema.indexes.Index(
                fields=["consensus_timestamp"], name="entity_transaction__consensus_timestamp"
            ),
            backfill="entity_transaction_index",
        ),
    ]
