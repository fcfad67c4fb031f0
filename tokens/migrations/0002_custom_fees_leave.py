from django.db import migrations


class Migration(migrations.Migration):
    """The models of custom_fee and custom_fee_history move to `ledger`; the tables stay as they are."""

    dependencies = [("tokens", "0001_initial")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel(name="CustomFee"),
                migrations.DeleteModel(name="CustomFeeHistory"),
            ]
        )
    ]
