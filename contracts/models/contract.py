"""Contracts and their storage."""

from collections.abc import Mapping
from typing import Any

from django.db import models

from mirror.core.db.schema import fields
from mirror.core.db.schema.indexes import Index
from mirror.core.db.writing.merge import Change, MergeRule


class Contract(models.Model):
    """The code of a contract; the rest of a contract is in entity.

    Written by CONTRACTCREATEINSTANCE, by any transaction that creates contracts, and from bytecode sidecars.
    """

    merge = MergeRule(key=("id",), history=False)

    id = fields.EntityIdField(primary_key=True)
    file_id = fields.EntityIdField(null=True)
    initcode = fields.BytesField(null=True)
    runtime_bytecode = fields.BytesField(null=True)

    class Meta:
        db_table = "contract"


class StateRule(MergeRule):
    """The merge rule of contract state, without the general loop over columns: no change is more frequent."""

    def fold(self, target: Change, change: Mapping[str, Any]) -> None:
        target.columns["value"] = change["value"]
        target.columns["modified_timestamp"] = change["modified_timestamp"]


class ContractState(models.Model):
    """The current value of a contract's storage slot. Written from state sidecars; slots are 32 bytes."""

    merge = StateRule(key=("contract_id", "slot"), fixed=frozenset({"created_timestamp"}), history=False)

    pk = models.CompositePrimaryKey("contract_id", "slot")
    contract_id = fields.EntityIdField()
    created_timestamp = fields.ConsensusTimestampField()
    modified_timestamp = fields.ConsensusTimestampField()
    slot = fields.WordField()
    value = fields.WordField(null=True)

    class Meta:
        db_table = "contract_state"


class ContractStateChange(models.Model):
    """One read of a slot, and write unless `value_written` is null. Written from state sidecars."""

    pk = models.CompositePrimaryKey("consensus_timestamp", "contract_id", "slot")
    consensus_timestamp = fields.ConsensusTimestampField()
    contract_id = fields.EntityIdField()
    payer_account_id = fields.EntityIdField()
    slot = fields.WordField()
    value_read = fields.WordField()
    value_written = fields.WordField(null=True)
    migration = models.BooleanField(db_default=False)

    class Meta:
        db_table = "contract_state_change"
        indexes = [
            Index(
                fields=["contract_id", "slot", "consensus_timestamp"],
                name="contract_state_change__id_slot_timestamp",
            ),
        ]
