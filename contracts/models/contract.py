"""Smart contracts."""

from django.db import models

from mirror.core.db.schema import fields
from mirror.core.db.writing.merge import MergeRule


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
