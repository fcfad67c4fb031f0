"""Contract actions."""

from django.db import models

from mirror.db.enums import EntityType
from mirror.db.fields import BytesField, EnumField


class ContractAction(models.Model):
    """One call or creation inside a contract transaction, in order of `index`.

    Written from action sidecars.
    """

    pk = models.CompositePrimaryKey("consensus_timestamp", "index")
    call_depth = models.IntegerField()
    call_type = models.IntegerField(null=True)
    caller = models.BigIntegerField(null=True)
    caller_type = EnumField("entity_type", choices=EntityType, null=True, db_default=EntityType.CONTRACT)
    consensus_timestamp = models.BigIntegerField()
    gas = models.BigIntegerField()
    gas_used = models.BigIntegerField()
    index = models.IntegerField()
    input = BytesField(null=True)
    recipient_account = models.BigIntegerField(null=True)
    recipient_address = BytesField(null=True)
    recipient_contract = models.BigIntegerField(null=True)
    result_data = BytesField(null=True)
    result_data_type = models.IntegerField()
    value = models.BigIntegerField()
    call_operation_type = models.IntegerField(null=True)
    payer_account_id = models.BigIntegerField()

    class Meta:
        db_table = "contract_action"
