from django.db import migrations, models

import mirror.core.db.schema.indexes
from mirror.core.db.schema.operations import AddIndexOrBackfill


class Migration(migrations.Migration):
    """An index of tokens that others take from an account."""

    atomic = False
    dependencies = [("tokens", "0004_type_index"), ("mirror", "0005_backfill_newest")]

    operations = [
        AddIndexOrBackfill(
            model_name="tokentransfer",
            index=mirror.core.db.schema.indexes.Index(
                fields=["account_id", "consensus_timestamp"],
                condition=models.Q(amount__lt=0) & models.Q(account_id__ne=models.F("payer_account_id")),
                name="token_transfer__debit_of_others",
            ),
            backfill="token_debit_index",
        ),
    ]
