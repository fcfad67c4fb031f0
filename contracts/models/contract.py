"""Smart contracts."""

from django.db import models

from mirror.db.fields import BytesField
from mirror.db.merge import MergeRule


class Contract(models.Model):
    """The code of a contract; the rest of a contract is in entity.

    Written by CONTRACTCREATEINSTANCE, by any transaction that creates contracts, and from bytecode sidecars.
    """

    merge = MergeRule(key=("id",), history=False)

    id = models.BigIntegerField(primary_key=True)
    file_id = models.BigIntegerField(null=True)
    initcode = BytesField(null=True)
    runtime_bytecode = BytesField(null=True)

    class Meta:
        db_table = "contract"
