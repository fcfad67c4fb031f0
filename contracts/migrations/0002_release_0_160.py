from django.db import migrations, models

import mirror.core.db.schema.fields
import mirror.core.db.schema.indexes
from mirror.core.db.schema.operations import (
    AddFieldIfMissing,
    AddIndexIfEmpty,
    AlterDefault,
    RenameEnumValue,
    ReplaceField,
)


class Migration(migrations.Migration):
    """Changes of the original's schema between its releases 0.145.1 and 0.160, and a mark of rows in weibars.

    The rows that are there keep in_weibars = false, without being written; those that follow have true.
    """

    atomic = False
    # A loader of an older release would take new rows for rows in weibars: it has to have stopped.
    dependencies = [("contracts", "0001_initial"), ("ledger", "0003_release_0_160")]

    operations = [
        RenameEnumValue("hook_type", "LAMBDA", "EVM"),
        # The default of the columns is renamed with the value.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name=model,
                    name="type",
                    field=mirror.core.db.schema.fields.EnumField("hook_type", db_default="EVM"),
                )
                for model in ("hook", "hookhistory")
            ]
        ),
        AddFieldIfMissing(model_name="contractlog", name="synthetic", field=models.BooleanField(null=True)),
        AddIndexIfEmpty(
            model_name="contractlog",
            index=mirror.core.db.schema.indexes.Index(
                condition=models.Q(synthetic=True),
                fields=["-consensus_timestamp", "-index"],
                name="contract_log__synthetic_timestamp",
            ),
        ),
        AddFieldIfMissing(
            model_name="ethereumtransaction", name="authorization_list", field=models.JSONField(null=True)
        ),
        ReplaceField(model_name="ethereumtransaction", name="access_list", field=models.JSONField(null=True)),
        AddFieldIfMissing(
            model_name="ethereumtransaction",
            name="in_weibars",
            field=models.BooleanField(db_default=False),
        ),
        AlterDefault(
            model_name="ethereumtransaction",
            name="in_weibars",
            field=models.BooleanField(db_default=True),
        ),
    ]
