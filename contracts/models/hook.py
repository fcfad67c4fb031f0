"""Hooks (HIP-1195) and their storage."""

from collections.abc import Mapping
from typing import Any

from django.db import models

from ledger.models.history import history_of
from mirror.core.db.schema import fields
from mirror.core.db.schema.enums import HookExtensionPoint, HookType
from mirror.core.db.writing.merge import Change, MergeRule


def _anew(column: str, default: str = "null") -> str:
    """Return SQL of a column that a creation replaces and a deletion keeps."""
    kept = f"coalesce(s.{column}, e.{column}, {default})"
    return f"case when s.created_timestamp is not null then s.{column} else {kept} end"


class HookRule(MergeRule):
    """The merge rule of hooks: one that is created again after its deletion takes over nothing."""

    def follow(self, previous: Change, columns: dict[str, Any], since: int) -> Change | None:
        """Return the next version; a creation in the transaction of a deletion starts 1 ns later."""
        creation = columns.get("created_timestamp") is not None
        if previous.since is not None and previous.since >= since:
            if not creation:
                return None
            since = previous.since + 1
        if not creation:
            return super().follow(previous, columns, since)
        previous.until = since
        return Change(columns, since)


class Hook(models.Model):
    """One hook of an account or contract as it is now.

    Written by CRYPTOCREATEACCOUNT, CRYPTOUPDATEACCOUNT, CONTRACTCREATEINSTANCE and CONTRACTUPDATEINSTANCE.
    """

    merge = HookRule(
        key=("owner_id", "hook_id"),
        defaults={"deleted": "false"},
        expressions={
            "admin_key": _anew("admin_key"),
            "contract_id": _anew("contract_id"),
            "extension_point": _anew("extension_point", "'ACCOUNT_ALLOWANCE_HOOK'"),
            "type": _anew("type", "'EVM'"),
        },
    )

    contract_id = fields.EntityIdField(null=True)
    created_timestamp = fields.ConsensusTimestampField(null=True)
    hook_id = fields.IdentifierField()
    owner_id = fields.EntityIdField()
    timestamp_range = fields.ValidityField(null=True)
    extension_point = fields.EnumField(
        "hook_extension_point",
        choices=HookExtensionPoint,
        db_default=HookExtensionPoint.ACCOUNT_ALLOWANCE_HOOK,
    )
    type = fields.EnumField("hook_type", choices=HookType, db_default=HookType.EVM)
    deleted = models.BooleanField(db_default=False)
    admin_key = fields.KeyField(null=True)
    pk = models.CompositePrimaryKey("owner_id", "hook_id")

    class Meta:
        db_table = "hook"


HookHistory = history_of(
    Hook,
    "An earlier version of a hook. Written when an update of its owner replaces it.",
    by_range=False,
)


class HookStorageRule(MergeRule):
    """The merge rule of hook storage: a write to a freed slot creates the slot anew."""

    def fold(self, target: Change, change: Mapping[str, Any]) -> None:
        created = target.columns["created_timestamp"]
        freed = target.columns["deleted"]
        super().fold(target, change)
        if freed:
            target.columns["restarted"] = True
        else:
            target.columns["created_timestamp"] = created


class HookStorage(models.Model):
    """The current value of a hook's slot. Written by HOOKSTORE and from state sidecars of hook runs."""

    merge = HookStorageRule(
        key=("owner_id", "hook_id", "key"),
        expressions={
            "created_timestamp": (
                "case when s.restarted or coalesce(e.deleted, true) then s.created_timestamp"
                " else e.created_timestamp end"
            )
        },
        staged_only={"restarted": "bool"},
        history=False,
        # What a write does depends on whether the slot was freed before.
        is_associative=False,
    )

    pk = models.CompositePrimaryKey("owner_id", "hook_id", "key")
    created_timestamp = fields.ConsensusTimestampField()
    hook_id = fields.IdentifierField()
    modified_timestamp = fields.ConsensusTimestampField()
    owner_id = fields.EntityIdField()
    key = fields.WordField()
    value = fields.WordField()
    deleted = models.BooleanField(db_default=False)

    class Meta:
        db_table = "hook_storage"


class HookStorageChange(models.Model):
    """One read of a hook's slot, and write unless `value_written` is null. Written with hook_storage."""

    pk = models.CompositePrimaryKey("owner_id", "hook_id", "key", "consensus_timestamp")
    consensus_timestamp = fields.ConsensusTimestampField()
    hook_id = fields.IdentifierField()
    owner_id = fields.EntityIdField()
    key = fields.WordField()
    value_read = fields.WordField()
    value_written = fields.WordField(null=True)
    deleted = models.BooleanField(db_default=False)

    class Meta:
        db_table = "hook_storage_change"
