"""Contract actions."""

from django.db import models

from mirror.core.db.schema import fields
from mirror.core.db.schema.enums import EntityType
from mirror.core.db.schema.tables import PartitionableTable


class ContractAction(PartitionableTable, models.Model):
    """One call or creation inside a contract transaction, in order of `index`.

    Written from action sidecars.
    """

    pk = models.CompositePrimaryKey("consensus_timestamp", "index")
    call_depth = models.IntegerField()
    call_type = models.IntegerField(null=True)
    caller = fields.EntityIdField(null=True)
    caller_type = fields.EnumField(
        "entity_type", choices=EntityType, null=True, db_default=EntityType.CONTRACT
    )
    consensus_timestamp = fields.ConsensusTimestampField()
    gas = fields.NumberField()
    gas_used = fields.NumberField()
    index = models.IntegerField()
    input = fields.BytesField(null=True)
    recipient_account = fields.EntityIdField(null=True)
    recipient_address = fields.BytesField(null=True)
    recipient_contract = fields.EntityIdField(null=True)
    result_data = fields.BytesField(null=True)
    result_data_type = models.IntegerField()
    value = fields.TinybarField()
    call_operation_type = models.IntegerField(null=True)
    payer_account_id = fields.EntityIdField()

    class Meta:
        db_table = "contract_action"
