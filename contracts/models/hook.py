"""Hooks (HIP-1195) and their storage."""

from django.contrib.postgres.fields import BigIntegerRangeField
from django.db import models

from mirror.db.enums import HookExtensionPoint, HookType
from mirror.db.fields import BytesField, EnumField
from mirror.db.tables import KeylessTable


class HookColumns(models.Model):
    """What a version of a hook says."""

    contract_id = models.BigIntegerField(null=True)
    created_timestamp = models.BigIntegerField(null=True)
    hook_id = models.BigIntegerField()
    owner_id = models.BigIntegerField()
    timestamp_range = BigIntegerRangeField(null=True)
    extension_point = EnumField(
        "hook_extension_point",
        choices=HookExtensionPoint,
        db_default=HookExtensionPoint.ACCOUNT_ALLOWANCE_HOOK,
    )
    type = EnumField("hook_type", choices=HookType, db_default=HookType.LAMBDA)
    deleted = models.BooleanField(db_default=False)
    admin_key = BytesField(null=True)

    class Meta:
        abstract = True


class Hook(HookColumns):
    """One hook of an account or contract as it is now.

    Written by CRYPTOCREATEACCOUNT, CRYPTOUPDATEACCOUNT, CONTRACTCREATEINSTANCE and CONTRACTUPDATEINSTANCE.
    """

    pk = models.CompositePrimaryKey("owner_id", "hook_id")

    class Meta:
        db_table = "hook"


class HookHistory(KeylessTable, HookColumns):
    """An earlier version of a hook. Written when an update of its owner replaces it."""

    pk = models.CompositePrimaryKey("owner_id", "hook_id", "timestamp_range")

    class Meta:
        db_table = "hook_history"
        verbose_name_plural = "hook history"


class HookStorage(models.Model):
    """The value of a hook's storage slot now.

    Written by LAMBDASSTORE and from state sidecars of hook runs.
    """

    pk = models.CompositePrimaryKey("owner_id", "hook_id", "key")
    created_timestamp = models.BigIntegerField()
    hook_id = models.BigIntegerField()
    modified_timestamp = models.BigIntegerField()
    owner_id = models.BigIntegerField()
    key = BytesField()
    value = BytesField()
    deleted = models.BooleanField(db_default=False)

    class Meta:
        db_table = "hook_storage"


class HookStorageChange(models.Model):
    """One hook storage slot read, and written unless `value_written` is null. Written with hook_storage."""

    pk = models.CompositePrimaryKey("owner_id", "hook_id", "key", "consensus_timestamp")
    consensus_timestamp = models.BigIntegerField()
    hook_id = models.BigIntegerField()
    owner_id = models.BigIntegerField()
    key = BytesField()
    value_read = BytesField()
    value_written = BytesField(null=True)
    deleted = models.BooleanField(db_default=False)

    class Meta:
        db_table = "hook_storage_change"
