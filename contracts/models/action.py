"""Contract actions."""

from django.db import models

from mirror.core.db.schema import fields
from mirror.core.db.schema.enums import EntityType
from mirror.core.db.schema.tables import PartitionableTable

OPERATIONS = dict(
    enumerate(("UNKNOWN", "CALL", "CALLCODE", "DELEGATECALL", "STATICCALL", "CREATE", "CREATE2"))
)
CALL_TYPES = dict(enumerate(("NO_ACTION", "CALL", "CREATE", "PRECOMPILE", "SYSTEM")))
RESULT_DATA_TYPES = {11: "OUTPUT", 12: "REVERT_REASON", 13: "ERROR"}


class ContractAction(PartitionableTable, models.Model):
    """One call or creation inside a contract transaction, in order of `index`.

    Written from action sidecars.
    """

    pk = models.CompositePrimaryKey("consensus_timestamp", "index")
    call_depth = models.IntegerField()
    call_type = fields.named(models.IntegerField(null=True), CALL_TYPES)
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
    result_data = fields.OutputField(null=True)
    result_data_type = fields.named(models.IntegerField(), RESULT_DATA_TYPES)
    value = fields.TinybarField()
    call_operation_type = fields.named(models.IntegerField(null=True), OPERATIONS)
    payer_account_id = fields.EntityIdField()

    class Meta:
        db_table = "contract_action"
