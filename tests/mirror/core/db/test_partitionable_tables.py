"""The tables that are partitioned on request."""

from django.apps import apps

from mirror.core.db.partitions.catalogue import partitionable_tables
from mirror.core.db.schema.tables import PartitionableTable


def test_every_model_of_a_partitionable_table_is_partitioned_and_no_other():
    models = {model._meta.db_table for model in apps.get_models() if issubclass(model, PartitionableTable)}
    assert sorted(partitionable_tables()) == sorted(models)
    assert partitionable_tables()[0] == "transaction"
